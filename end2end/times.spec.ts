// Moments, as their reader chose to have them written, and exactly in any case.

import { choose, expect, freshLease, handOver, isLive, live, row, test, type Locator, type Page } from './baton';

test.use({ file: import.meta.filename });

const EXACT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const UTC = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/;

/** Every moment that the page shows says exactly when it is, and reads as it should where that is a date and a time. */
async function expectTimes(page: Page, shown: RegExp): Promise<void> {
  const times = await page.locator('main time:visible').all();
  expect(times.length).toBeGreaterThan(0);
  for (const time of times) {
    const exact = await time.getAttribute('datetime');
    expect(exact).toMatch(EXACT);
    expect(await time.getAttribute('title')).toBe(exact);
  }
  const full = page.locator('main time[data-form="full"]:visible');
  for (const text of await full.allInnerTexts()) expect(text).toMatch(shown);
}

/** The moment that an element's text means, in milliseconds, where it is so many minutes ahead of UTC. */
async function meant(time: Locator, ahead_min: number): Promise<void> {
  const [, date, clock] = (await time.innerText()).match(/^(\S+) (\S+) UTC/)!;
  const exact = Date.parse((await time.getAttribute('datetime'))!);
  const off_ms = exact + ahead_min * 60_000 - Date.parse(`${date}T${clock}Z`);
  expect(off_ms).toBeGreaterThanOrEqual(0);
  expect(off_ms, await time.innerText()).toBeLessThan(1_000);
}

test('as long as nothing is chosen they are in UTC, and exact to whoever points at them', async ({ page, server }) => {
  const grant = await handOver(server.holder, await server.holder.acquire(freshLease('utc'), 'replica-a'), 'replica-b');
  for (const path of ['/handovers', `/leases/${grant.lease}`]) {
    await page.goto(path);
    await isLive(page);
    await expectTimes(page, UTC);
  }
  await page.goto('/');
  await isLive(page);
  await expect(row(page, grant.lease).locator('time')).toHaveText(/^\d+ s ago$/);
  await expect(row(page, grant.lease).locator('time')).toHaveAttribute('title', EXACT);
  await expect(live(page).locator('time')).toHaveAttribute('title', EXACT);
});

for (const [timezoneId, ahead_min, zone] of [
  ['Asia/Kolkata', 330, 'UTC+5:30'],
  ['America/Bogota', -300, 'UTC−5'],
] as const) {
  test.describe(`in ${timezoneId}`, () => {
    test.use({ timezoneId });

    test('local times are the browser’s, on every live page and as things happen', async ({ page, server }) => {
      const first = await server.holder.acquire(freshLease('local'), 'replica-a');
      const local = new RegExp(` ${zone.replace('+', '\\+')}$`);
      await page.goto(`/handovers?lease=${first.lease}`);
      await choose(page, 'This browser’s local time');
      await expect(live(page)).toHaveText(new RegExp(`Live \\d\\d:\\d\\d:\\d\\d ${zone.replace('+', '\\+')}`));
      await expect(page.locator('td.when time')).toHaveText(local);
      await expectTimes(page, local);
      await meant(page.locator('td.when time'), ahead_min);

      await page.locator('td.when a').click();
      await expect(page.locator('.log-entry time').first()).toHaveText(/^\S+Z \(.* UTC\S+\)$/);
      await page.goto(`/leases/${first.lease}`);
      await expect(page.locator('html')).toHaveAttribute('data-hydrated', 'true');
      await expect(page.locator('.entries time')).toHaveText(local);
      await expectTimes(page, local);
      await handOver(server.holder, first, 'replica-b');
      await expect(page.locator('.entries time')).toHaveText([local, local, local], { timeout: 2_000 });
      await meant(page.locator('.entries time').first(), ahead_min);
      await expect(page.locator('[data-fact="Holds it since"] time')).toHaveText(local);
      await expect(page.locator('[data-fact="Who may take it"] time')).toHaveText(local);

      const operator = await server.operator();
      await operator.pause(first.lease, 'freeze');
      await page.goto(`/?search=${first.lease}`);
      await isLive(page);
      await operator.operate(first.lease, 'step-down', { expected_generation: 3, reason: 'drain', deadline_ms: 600_000 });
      await expect(row(page, first.lease).locator('.says time')).toHaveText(local);

      // Where there is no script, they are in UTC and say so.
      await page.goto('/access');
      await expectTimes(page, UTC);
    });
  });
}

test('how long ago is counted on, and the clock stays a clock', async ({ page, server }) => {
  const operator = await server.operator();
  const grant = await server.holder.acquire(freshLease('ago'), 'replica-a');
  await operator.pause(grant.lease, 'freeze');
  await page.goto(`/handovers?lease=${grant.lease}`);
  await choose(page, 'How long ago');
  await expectTimes(page, /^\d+ s ago$/);
  const newest = page.locator('td.when time').first();
  const before = await newest.innerText();
  await expect(newest).not.toHaveText(before);
  await expect(newest).toHaveText(/^\d+ s ago$/);
  await isLive(page);

  await page.goto(`/leases/${grant.lease}`);
  await isLive(page);
  await expectTimes(page, /^\d+ s ago$/);
  await expect(page.locator('.limits time')).toHaveText(/^\d+ s ago$/);
  await expect(page.locator('[data-fact="Expires at"] time')).toHaveText(/^in \d+ s$/);
  await page.locator('.entries td.when a').first().click();
  await expect(page.locator('.log-entry time').first()).toHaveText(/^\S+Z \(\d+ s ago\)$/);
  await page.goto('/access');
  await expectTimes(page, / ago$/);
});

test('paused, no moment moves on either', async ({ page, server }) => {
  const { lease } = await server.holder.acquire(freshLease('still'), 'replica-a');
  await page.goto(`/leases/${lease}`);
  await choose(page, 'How long ago');
  await isLive(page);
  await page.getByRole('button', { name: 'Pause updates' }).click();
  await expect(live(page)).toHaveText(/Paused at/);
  const entry = page.locator('.entries time').first();
  await page.waitForTimeout(1_500); // the second that had begun
  const shown = await entry.innerText();
  await page.waitForTimeout(2_500);
  await expect(entry).toHaveText(shown);
});

test('a marked moment in what somebody wrote is text', async ({ page, server }) => {
  const operator = await server.operator();
  const forged = '\u0002f2020-01-01T00:00:00.000000Z';
  const { lease } = await server.holder.acquire(freshLease('forged'), 'replica-a', { principal: forged, status: forged });
  await operator.pause(lease, forged);
  for (const path of [`/?search=${lease}`, `/leases/${lease}`]) {
    await page.goto(path);
    await isLive(page);
    await expect(page.locator('main')).toContainText('f2020-01-01T00:00:00.000000Z');
    await expect(page.locator('time[datetime^="2020"]')).toHaveCount(0);
  }
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false, timezoneId: 'Asia/Kolkata' });

  test('local times stand in UTC and say so; how long ago is true for when the page says', async ({ page, server }) => {
    const { lease } = await server.holder.acquire(freshLease('plain'), 'replica-a');
    await page.goto(`/handovers?lease=${lease}`);
    await choose(page, 'This browser’s local time');
    await expectTimes(page, UTC);
    await choose(page, 'How long ago');
    await expectTimes(page, /^\d+ s ago$/);
    await expect(live(page)).toHaveText(/As of \d\d:\d\d:\d\d UTC/);
  });
});
