// A whole machine that must go: acting on all that a search shows.

import { expect, expectAccessible, freshLease, test, type Page } from './baton';
import { signedInAs } from './people';

test.use({ file: import.meta.filename });

const outcome = (page: Page, lease: string) => page.locator(`[data-lease="${lease}"]`);
const doIt = (page: Page) => page.getByRole('button', { name: /Do it/ });

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled, tolerated: [/Failed to load resource.*4\d\d/] });

    test('everything that one machine holds is forced, each by its own generation', async ({ page, server }) => {
      const machine = freshLease('machine');
      const kept = await server.holder.acquire(freshLease('many'), 'another machine');
      const grants = [];
      for (let count = 0; count < 4; count++) grants.push(await server.holder.acquire(freshLease('many'), machine));
      const [moved, guarded, unticked, plain] = grants;
      await (await server.admin()).protect(guarded.lease, 'payroll');

      await page.goto(`/act?holder=${encodeURIComponent(machine)}`);
      await expect(page.locator('tbody tr')).toHaveCount(4);
      // Axe itself is a script.
      if (javaScriptEnabled) await expectAccessible(page);
      await page.getByLabel(unticked.lease).uncheck();
      await page.getByLabel('Force release').check();
      await page.getByLabel('If forced: then').selectOption('holder');
      await server.holder.release(moved);
      await page.getByLabel('Why?').fill(' ');
      await doIt(page).click();
      await expect(page.getByRole('alert'), 'a reason is required').toBeVisible();
      await expect(page.getByLabel(unticked.lease), 'the choice is kept').not.toBeChecked();

      await page.getByLabel('Why?').fill('the machine is on fire');
      await page.getByLabel('Incident').fill('INC-9');
      await doIt(page).click();
      await expect(page.locator('[data-part="outcome"]')).toContainText('1 are done, 1 are not');
      await expect(outcome(page, plain.lease)).toContainText(`Free, at generation ${plain.generation + 1}`);
      await expect(outcome(page, guarded.lease)).toContainText('an admin protected it');
      if (javaScriptEnabled) await expectAccessible(page);

      expect(await server.holder.newest(plain.lease)).toMatchObject({ event: 'forced', reason: 'the machine is on fire', incident: 'INC-9' });
      await expect(server.holder.acquire(plain.lease, machine)).rejects.toThrow(/409.*barred/);
      for (const spared of [guarded, unticked, kept]) expect((await server.holder.get(spared.lease)).state).toBe('held');
    });

    test('a lease that moved meanwhile is left alone, and the page says why', async ({ page, server }) => {
      const machine = freshLease('machine');
      const first = await server.holder.acquire(freshLease('many'), machine);
      await page.goto(`/act?holder=${machine}`);
      await server.holder.release(first);
      await server.holder.acquire(first.lease, 'somebody else');
      await page.getByLabel('Force release').check();
      await page.getByLabel('Why?').fill('too late');
      await doIt(page).click();
      // The search shows it no more, so it is not even in the form that came back.
      await expect(outcome(page, first.lease)).toContainText('held by somebody else');
      expect((await server.holder.get(first.lease)).holder).toBe('somebody else');
    });

    test('all are paused, and all are resumed', async ({ page, server }) => {
      const prefix = `${freshLease('fleet')}.`;
      for (const name of ['a', 'b']) await server.holder.acquire(prefix + name, 'h');
      for (const [what, event] of [['Pause', 'paused'], ['Resume', 'unpaused']]) {
        await page.goto(`/act?prefix=${prefix}`);
        await page.getByLabel(new RegExp(`^${what}`)).check();
        await page.getByLabel('Why?').fill('freeze');
        await doIt(page).click();
        await expect(page.locator('[data-part="outcome"]')).toContainText('All 2 are done');
        expect(await server.holder.newest(`${prefix}a`)).toMatchObject({ event });
      }
    });
  });
}

test('nothing is hidden when more match than are shown', async ({ page, server }) => {
  test.setTimeout(90_000);
  const prefix = `${freshLease('crowd')}.`;
  const names = Array.from({ length: 130 }, (_, index) => `${prefix}${String(index).padStart(3, '0')}`);
  for (let at = 0; at < names.length; at += 26) {
    await Promise.all(names.slice(at, at + 26).map((name) => server.holder.acquire(name, 'h')));
  }
  await page.goto(`/act?prefix=${prefix}`);
  await expect(page.locator('tbody tr')).toHaveCount(100);
  await expect(page.locator('[data-part="more"]')).toContainText('30 more match');
  await page.getByRole('link', { name: 'The next ones' }).click();
  await expect(page.locator('tbody tr')).toHaveCount(30);
});

test('without a filter nothing is offered', async ({ page }) => {
  await page.goto('/act');
  await expect(page.locator('[data-part="no-filter"]')).toBeVisible();
  await expect(doIt(page)).toHaveCount(0);
  await expectAccessible(page);
});

test('a viewer sees why not', async ({ browser, server }) => {
  const { lease } = await server.holder.acquire(freshLease('many'), 'h');
  const page = await signedInAs(browser, server, 'viewer');
  await page.goto(`/act?search=${lease}`);
  await expect(page.locator('[data-part="denied"]')).toContainText('this takes the role operator');
  await expect(doIt(page)).toHaveCount(0);
  await page.context().close();
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(`${colorScheme}, 320 px wide`, () => {
    test.use({ colorScheme, viewport: { width: 320, height: 720 } });

    test('is accessible, with hostile names', async ({ page, server }) => {
      const holder = `"'><svg onload=window.harmed=1>${freshLease('x')}${'W'.repeat(190)}`;
      await server.holder.acquire(freshLease('many').padEnd(200, 'x'), holder);
      await page.goto(`/act?holder=${encodeURIComponent(holder)}`);
      await expect(page.locator('tbody tr')).toHaveCount(1);
      await expect(page.locator('tbody')).toContainText(holder);
      await expectAccessible(page);
    });
  });
}
