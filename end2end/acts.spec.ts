// The pages that ask before something is done to a lease. They have no script,
// so each test holds with JavaScript and without.

import { expect, expectAccessible, freshLease, handOver, test, type Page } from './baton';
import { signedInAs } from './people';
import type { Server } from './server';

test.use({ file: import.meta.filename });

const button = (page: Page) => page.locator('.dialog form button[type=submit]');
const harmless = (page: Page) => page.locator('.dialog footer .primary');

async function open(page: Page, lease: string, act: string): Promise<void> {
  await page.goto(`/leases/${lease}/${act}`);
  await expect(page.locator(`[data-act="${act}"]`)).toBeVisible();
}

/** Sends the page's form and waits until it leads to the lease. */
async function send(page: Page, lease: string): Promise<void> {
  await button(page).click();
  await page.waitForURL(`**/leases/${lease}?after=*`);
}

async function held(server: Server, more: object = {}) {
  return server.holder.acquire(freshLease('act'), 'replica-b / 7f9d', more);
}

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    // Chromium reports the answer 422 to a form by itself.
    test.use({ javaScriptEnabled, tolerated: [/Failed to load resource.*422/] });

    test('the dialog says what will happen, and the focus is on the harmless choice', async ({ page, server }) => {
      const { lease, generation } = await held(server);
      await open(page, lease, 'force-release');
      await expect(page).toHaveTitle(`Force release ${lease} · Baton`);
      const facts = page.locator('[data-part="facts"]');
      await expect(facts).toContainText(/renewed \d\.\d s ago, so it is probably alive/);
      await expect(facts).toContainText(`the generation is ${generation + 1}`);
      await expect(facts).toContainText(/at its next renewal, within 1\d\.\d s/);
      await expect(page.locator('[data-part="as-of"]')).toHaveText(/As of \d\d:\d\d:\d\d UTC/);
      await expect(harmless(page)).toBeFocused();
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/leases/${lease}`);
      expect((await server.holder.get(lease)).generation).toBe(generation);
    });

    test('force release keeps the lease for a successor', async ({ page, server }) => {
      const old = await held(server);
      await open(page, old.lease, 'force-release');
      await page.getByLabel('Why?').fill('wedged in discovery');
      await page.getByLabel('Incident').fill('https://incidents.example/INC-4711');
      await page.getByLabel('Only this holder:').check();
      await page.locator('input[name=successor]').fill('replica-c');
      await send(page, old.lease);
      await expect(server.holder.renew(old)).rejects.toThrow(/409.*lost/);
      await expect(server.holder.acquire(old.lease, 'replica-a')).rejects.toThrow(/409.*reserved/);
      await server.holder.acquire(old.lease, 'replica-c');
      expect(await server.holder.newest(old.lease)).toMatchObject({ event: 'granted', holder: 'replica-c' });
    });

    test('a reason is required, and nothing that was typed is lost', async ({ page, server }) => {
      const { lease, generation } = await held(server);
      await open(page, lease, 'force-release');
      await page.locator('textarea').evaluate((field: HTMLTextAreaElement) => field.removeAttribute('required'));
      await page.getByLabel('Incident').fill('"><b>INC</b>');
      await page.getByLabel('Nobody').check();
      await page.getByLabel('For how long').selectOption('300000');
      await button(page).click();
      await expect(page.getByRole('alert')).toContainText('Nothing was done');
      await expect(page.locator('textarea')).toBeFocused();
      await expect(page.locator('#reason-wrong')).toContainText('must not be blank');
      await expect(page.getByLabel('Incident')).toHaveValue('"><b>INC</b>');
      await expect(page.getByLabel('Nobody')).toBeChecked();
      await expect(page.getByLabel('For how long')).toHaveValue('300000');
      expect((await server.holder.get(lease)).generation).toBe(generation);
      await page.getByLabel('Why?').fill('now with a reason');
      await send(page, lease);
      expect(await server.holder.newest(lease)).toMatchObject({ event: 'forced', incident: '"><b>INC</b>' });
    });

    test('a protected lease wants its name typed', async ({ page, server }) => {
      const { lease } = await held(server);
      await (await server.admin()).protect(lease, 'payroll');
      await open(page, lease, 'force-release');
      await page.getByLabel('Why?').fill('it must go');
      await page.getByLabel('Type the lease’s name').fill('something else');
      await button(page).click();
      await expect(page.locator('#typed_name-wrong')).toContainText(lease);
      await page.getByLabel('Type the lease’s name').fill(lease);
      await send(page, lease);
      expect((await server.holder.get(lease)).state).toBe('free');
    });

    test('step-down and back, pause and back, a bar and back', async ({ page, server }) => {
      const { lease } = await held(server);
      const why = async (reason: string) => page.getByLabel('Why?').fill(reason);
      await open(page, lease, 'step-down');
      await why('deploy');
      await page.getByLabel('How long it has').selectOption('600000');
      await send(page, lease);
      await expect(server.holder.newest(lease)).resolves.toMatchObject({ event: 'step_down', reason: 'deploy' });
      for (const [act, event] of [
        ['cancel-step-down', 'step_down_cancelled'],
        ['pause', 'paused'],
        ['unpause', 'unpaused'],
      ]) {
        await open(page, lease, act);
        await why(`because of ${act}`);
        await send(page, lease);
        await expect(server.holder.newest(lease)).resolves.toMatchObject({ event, reason: `because of ${act}` });
        await open(page, lease, act);
        await expect(page.locator('[data-part="pointless"]'), 'twice makes no sense').toBeVisible();
      }
      await open(page, lease, 'force-release');
      await why('machine is going');
      await page.getByLabel('Nobody').check();
      await send(page, lease);
      await expect(server.holder.acquire(lease, 'replica-a')).rejects.toThrow(/409.*barred/);
      await open(page, lease, 'lift');
      await expect(page.locator('[data-part="facts"]')).toContainText('machine is going');
      await why('it is back');
      await send(page, lease);
      await server.holder.acquire(lease, 'replica-a');
    });
  });
}

test('two operators force the same lease: one does, the other sees what happened', async ({ browser, server }) => {
  const { lease } = await held(server);
  const [ana, ben] = [await signedInAs(browser, server, 'operator'), await signedInAs(browser, server, 'operator')];
  for (const [page, reason] of [[ana, 'ana was here'], [ben, 'ben was here']] as const) {
    await open(page, lease, 'force-release');
    await page.getByLabel('Why?').fill(reason);
  }
  await Promise.all([ana, ben].map((page) => button(page).click()));
  const done = (page: Page) => page.url().includes('?after=');
  await expect.poll(() => [ana, ben].filter(done).length).toBe(1);
  const [winner, loser] = done(ana) ? ['ana was here', ben] : ['ben was here', ana];
  await expect((loser as Page).locator('[data-part="moved"]')).toContainText('Nothing was done');
  await expect((loser as Page).locator('[data-part="now"]')).toContainText('held by nobody');
  await expect((loser as Page).locator('[data-part="entry"]')).toContainText(winner as string);
  expect((await server.holder.get(lease)).generation, 'once').toBe(2);
  await ana.context().close();
  await ben.context().close();
});

test.describe('a lease that moved meanwhile', () => {
  test.use({ tolerated: [/Failed to load resource.*4\d\d/] });

  test('is left alone, and the page says who has it and what moved it', async ({ page, server }) => {
    const first = await held(server);
    await open(page, first.lease, 'force-release');
    await page.getByLabel('Why?').fill('too late');
    const second = await handOver(server.holder, first, 'replica-c');
    await button(page).click();
    await expect(page.locator('[data-part="now"]')).toContainText(`It is at ${second.generation} now, held by replica-c`);
    await expect(page.locator('[data-part="entry"]')).toContainText(/released|granted/);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Look at it again' }).click();
    await expect(page.getByLabel('Why?')).toHaveValue('too late');
    await expect(page.locator('[data-part="seen"]')).toContainText('replica-c');
    expect((await server.holder.get(first.lease)).holder).toBe('replica-c');
  });

  test('by one’s own hand, whose answer was lost, says so', async ({ page, server }) => {
    const { lease } = await held(server);
    await open(page, lease, 'force-release');
    await page.getByLabel('Why?').fill('lost on the way');
    const form = page.url();
    // The request arrives and the answer does not.
    await page.route('**/force-release', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await route.fetch({ maxRedirects: 0 });
      await route.abort();
    });
    await button(page).click();
    await expect.poll(async () => (await server.holder.get(lease)).state).toBe('free');
    await page.unroute('**/force-release');
    await page.goBack();
    if (page.url() !== form) await page.goto(form);
    // As the browser still has the form: the old generation, the same words.
    await page.setContent(`<form method="post" action="${form}"><input name="expected_generation" value="1"><input name="reason" value="lost on the way"><button></button></form>`);
    await page.locator('button').click();
    await expect(page.locator('[data-part="own"]')).toContainText('You did this already');
    await expect(page.getByRole('link', { name: 'Follow the handover' })).toHaveAttribute('href', /after=\d+/);
    expect((await server.holder.get(lease)).generation).toBe(2);
  });
});

test('a viewer sees why not, and whom it takes', async ({ browser, server }) => {
  const { lease } = await held(server);
  const page = await signedInAs(browser, server, 'viewer');
  await open(page, lease, 'force-release');
  await expect(page.locator('[data-part="denied"]')).toContainText('this takes the role operator');
  await expect(button(page)).toHaveCount(0);
  await expectAccessible(page);
  await page.context().close();
});

test('forcing by keyboard alone', async ({ page, server }) => {
  const { lease } = await held(server);
  await open(page, lease, 'force-release');
  await expect(harmless(page)).toBeFocused();
  const back = async (to: string) => {
    for (let presses = 0; presses < 20; presses++) {
      await page.keyboard.press('Shift+Tab');
      if (await page.locator(to).evaluate((element) => element === document.activeElement)) return;
    }
    throw new Error(`Shift+Tab does not reach ${to}`);
  };
  await back('#incident');
  await page.keyboard.type('INC-4711');
  await back('#reason');
  await page.keyboard.type('by keyboard alone');
  const forth = async () => {
    for (let presses = 0; presses < 20; presses++) {
      await page.keyboard.press('Tab');
      if (await button(page).evaluate((element) => element === document.activeElement)) return;
    }
    throw new Error('Tab does not reach the button');
  };
  await forth();
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/leases/${lease}?after=*`);
  expect(await server.holder.newest(lease)).toMatchObject({ event: 'forced', reason: 'by keyboard alone', incident: 'INC-4711' });
});

const HOSTILE = ['</textarea></title><script>window.harmed = 1</script>', '"\'><svg onload=window.harmed=2>', '\u202Eright to left\u202C', '🦊'.repeat(255), 'null', 'W'.repeat(255)];

test('hostile holders, reasons and incidents are text, and the page stays in shape', async ({ page, server }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  const operator = await server.operator();
  for (const text of HOSTILE) {
    const grant = await server.holder.acquire(freshLease('hostile'), text, { principal: text, status: text });
    await operator.pause(grant.lease, text);
    for (const act of ['force-release', 'step-down', 'unpause']) {
      const query = new URLSearchParams({ reason: text, incident: text, successor: text, then: text, for_ms: text });
      await page.goto(`/leases/${grant.lease}/${act}?${query}`);
      await expect(page.locator('[data-part="seen"]')).toContainText(text);
      await expect(page.locator('textarea')).toHaveValue(text);
      await expect(page.locator('main script, main svg, main img')).toHaveCount(0);
      const overflow_px = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(overflow_px, `${act} ${text}`).toBeLessThanOrEqual(0);
    }
  }
  expect(await page.evaluate(() => 'harmed' in window)).toBe(false);
});

test.describe('what the history says', () => {
  test.use({ tolerated: [/Failed to load resource.*409/] });

  test('a javascript: incident is never a link', async ({ page, server }) => {
    for (const [incident, links] of [['javascript:window.harmed=1', 0], ['https://incidents.example/1', 1]] as const) {
      const first = await held(server);
      await open(page, first.lease, 'force-release');
      await page.getByLabel('Why?').fill('too late');
      await (await server.operator()).operate(first.lease, 'force-release', { expected_generation: first.generation, reason: 'first', incident });
      await button(page).click();
      await expect(page.locator('[data-part="entry"]')).toContainText(incident);
      await expect(page.locator('[data-part="entry"] a')).toHaveCount(links);
    }
  });
});

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [1280, 320]) {
    test.describe(`${colorScheme}, ${width} px wide`, () => {
      test.use({ colorScheme, viewport: { width, height: 720 }, tolerated: [/Failed to load resource.*4\d\d/] });

      test('every dialog, and every state of one, is accessible', async ({ page, server }) => {
        const operator = await server.operator();
        const { lease } = await held(server);
        const paused = freshLease('act');
        await operator.pause(paused, 'freeze');
        for (const act of ['force-release', 'step-down', 'pause', 'protect', 'cancel-step-down', 'lift']) {
          await open(page, lease, act);
          await expectAccessible(page);
        }
        await open(page, paused, 'unpause');
        await expectAccessible(page);
        await open(page, lease, 'force-release');
        await page.getByLabel('Why?').fill(' ');
        await button(page).click();
        await expect(page.getByRole('alert')).toBeVisible();
        await expectAccessible(page);
        await page.goto(`/leases/${freshLease('none')}/force-release`);
        await expect(page.locator('[data-part="pointless"]')).toBeVisible();
        await expectAccessible(page);
      });
    });
  }
}
