// The whole incident, from the flapping lease on the list to the entry in the
// history: with a mouse, without JavaScript, and by keyboard alone.

import { expect, expectAccessible, freshLease, isLive, row, test, type Page } from './baton';
import type { Lease, Server } from './server';

test.use({ file: import.meta.filename });

const REASON = 'Wedged in discovery, renews but makes no progress';
const INCIDENT = 'https://incidents.example/INC-4711';

/** A lease that changed hands again and again, at last `replica-b`'s. */
async function flapping(server: Server): Promise<Lease> {
  const lease = freshLease('fleet');
  let grant = await server.holder.acquire(lease, 'replica-a');
  for (const holder of ['replica-b', 'replica-a', 'replica-b']) {
    await server.holder.release(grant);
    grant = await server.holder.acquire(lease, holder);
  }
  return grant;
}

/** `replica-c` stands in line, as a second process does. */
function inLine(server: Server, { lease }: Lease): Promise<Lease> {
  return server.holder.acquire(lease, 'replica-c', { wait_ms: 30_000, ttl_ms: 30_000 });
}

/** What must be true afterwards, whoever looks. */
async function expectHandedOver(server: Server, old: Lease, next: Promise<Lease>, forced_ms: number): Promise<void> {
  const granted = await next;
  expect(Date.now() - forced_ms, 'the successor has it within a second').toBeLessThan(1_000);
  expect(granted.generation).toBeGreaterThan(old.generation + 1);
  await expect(server.holder.renew(old), 'the deposed holder is refused').rejects.toThrow(/409.*"lost"/);
  await expect(server.holder.acquire(old.lease, old.holder!)).rejects.toThrow(/409.*"held"/);
}

/** The moment at which the browser sends the form. */
function sending(page: Page): Promise<number> {
  return page.waitForRequest((request) => request.method() === 'POST' && request.url().includes('force-release')).then(() => Date.now());
}

async function expectOnTopOfHistory(page: Page, { lease }: Lease): Promise<void> {
  const entries = page.locator('.entries tbody tr');
  await expect(entries.nth(0)).toContainText('replica-c');
  await expect(entries.nth(1)).toContainText(lease);
  await expect(entries.nth(1)).toContainText(REASON);
  await expect(entries.nth(1).locator('a.incident')).toHaveAttribute('href', INCIDENT);
}

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('a flapping lease is seen, forced for a successor, and its history says why', async ({ page, server }) => {
      const old = await flapping(server);
      const next = inLine(server, old);
      await page.goto('/');
      if (javaScriptEnabled) await isLive(page);
      await expect(row(page, old.lease)).toContainText(/flapping/i);
      await row(page, old.lease).getByRole('link', { name: old.lease }).click();
      await expect(page.locator('h1')).toHaveText(old.lease);
      await page.getByRole('link', { name: 'Force release' }).click();
      await expect(page.locator('[data-part="seen"]')).toContainText('replica-b');
      await page.getByLabel('Why?').fill(REASON);
      await page.getByLabel('Incident').fill(INCIDENT);
      await page.getByLabel('Only this holder:').check();
      await page.locator('input[name=successor]').fill('replica-c');
      const sent = sending(page);
      await page.getByRole('button', { name: 'Force release' }).click();
      await expectHandedOver(server, old, next, await sent);

      await expect(page).toHaveURL(/\?after=\d+$/);
      if (!javaScriptEnabled) await page.reload();
      await expect(page.locator('[data-part="followed"]')).toContainText('replica-c has it since');
      if (javaScriptEnabled) await expectAccessible(page);
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Handovers' }).click();
      await expectOnTopOfHistory(page, old);
    });
  });
}

/** Presses a key until `there` has the focus. */
async function press(page: Page, key: string, there: string): Promise<void> {
  for (let presses = 0; presses < 150; presses++) {
    await page.keyboard.press(key);
    const at = page.locator(there);
    if ((await at.count()) && (await at.first().evaluate((element) => element === document.activeElement))) return;
  }
  throw new Error(`${key} does not lead to ${there}`);
}

test('the whole incident by keyboard alone', async ({ page, server }) => {
  const old = await flapping(server);
  const next = inLine(server, old);
  await page.goto('/');
  await isLive(page);
  await press(page, 'Tab', 'input[name=search]');
  await page.keyboard.type(old.lease);
  await page.keyboard.press('Enter');
  await page.waitForURL(/search=/);
  await isLive(page);
  await press(page, 'Tab', `[data-lease="${old.lease}"] a`);
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/leases/${old.lease}`);
  await isLive(page);
  await press(page, 'Tab', 'a[href$="/force-release"]');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/force-release');

  // The focus is on the harmless choice, and goes back to the form.
  await expect(page.locator('.dialog footer .primary')).toBeFocused();
  await press(page, 'Shift+Tab', 'input[name=successor]');
  await page.keyboard.type('replica-c');
  await press(page, 'Shift+Tab', 'input[name=then]:checked');
  for (let presses = 0; presses < 3; presses++) await page.keyboard.press('ArrowDown');
  await expect(page.getByLabel('Only this holder:')).toBeChecked();
  await press(page, 'Shift+Tab', '#incident');
  await page.keyboard.type(INCIDENT);
  await press(page, 'Shift+Tab', '#reason');
  await page.keyboard.type(REASON);
  await press(page, 'Tab', '.dialog form button[type=submit]');
  const sent = sending(page);
  await page.keyboard.press('Enter');
  await expectHandedOver(server, old, next, await sent);

  await expect(page.locator('[data-part="followed"]')).toContainText('replica-c has it since');
  await isLive(page);
  await press(page, 'Shift+Tab', 'nav a[href="/handovers"]');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/handovers');
  await expectOnTopOfHistory(page, old);
});
