import { expect, freshLease, handOver, isLive, live, milliseconds, openLive, part, row, test, type Page } from './baton';
import type { Api } from './server';

test.use({ file: import.meta.filename });

/** The countdown shown and the one that the database has, asked at the same moment. */
async function expectRightCountdown(page: Page, api: Api, lease: string): Promise<void> {
  const sent = performance.now();
  const [{ remaining_ms }, shown] = await Promise.all([api.get(lease), part(page, lease, 'remaining').innerText()]);
  const slack_ms = 400 + (performance.now() - sent);
  expect(Math.abs(milliseconds(shown) - remaining_ms), `shown ${shown}, is ${remaining_ms} ms`).toBeLessThan(slack_ms);
}

/** Sets the browser's date `skew_ms` off; `window.skew_ms` can be changed later. */
async function skewDate(page: Page, skew_ms: number): Promise<void> {
  await page.addInitScript((skew_ms) => {
    Object.assign(window, { skew_ms });
    const RealDate = Date;
    const now = () => RealDate.now() + (window as unknown as { skew_ms: number }).skew_ms;
    window.Date = new Proxy(RealDate, {
      construct: (date, args) => Reflect.construct(date, args.length ? args : [now()]),
      get: (date, key) => (key === 'now' ? now : Reflect.get(date, key)),
    });
  }, skew_ms);
}

for (const skew_h of [0, 1, -1]) {
  test(`the countdown is right with the browser's clock ${skew_h} h off`, async ({ page, server }) => {
    await skewDate(page, skew_h * 3_600_000);
    // Below a minute, so that the page shows tenths.
    const { lease } = await server.holder.acquire(freshLease('countdown'), 'worker-1', { ttl_ms: 59_000 });

    await openLive(page);
    await expectRightCountdown(page, server.holder, lease);
    await page.waitForTimeout(2_500);
    await expectRightCountdown(page, server.holder, lease);

    const [shown] = (await live(page).innerText()).match(/\d\d:\d\d:\d\d/)!;
    const { now } = await server.holder.get(lease);
    const off_s = (Date.parse(now) - Date.parse(`${now.slice(0, 11)}${shown}Z`)) / 1000;
    expect(Math.abs(off_s) % 86_400, `the page says ${shown}, the database ${now}`).toBeLessThan(2.5);
  });
}

test("a jump of the browser's clock does not move the countdown", async ({ page, server }) => {
  await skewDate(page, 0);
  const { lease } = await server.holder.acquire(freshLease('jump'), 'worker-1', { ttl_ms: 50_000 });
  await openLive(page);
  await page.evaluate(() => Object.assign(window, { skew_ms: 3_600_000 }));
  // Stale at most until the next `time` event, and those come every 5 s.
  await page.waitForTimeout(6_000);
  await isLive(page);
  await expectRightCountdown(page, server.holder, lease);
});

test('the countdown follows renewals, and reads well at any length', async ({ page, server }) => {
  const grant = await server.holder.acquire(freshLease('lengths'), 'worker-1', { ttl_ms: 9_000 });
  const remaining = part(page, grant.lease, 'remaining');
  await openLive(page);
  await expect(remaining).toContainText(/^\s*[0-8]\.\d s/);
  await server.holder.renew(grant, { ttl_ms: 90_000 });
  await expect(remaining).toContainText(/1 m [0-2]\d s/);
  await server.holder.renew(grant, { ttl_ms: 7_500_000 });
  await expect(remaining).toContainText(/2 h 0\d m/);
  await server.holder.release(grant);
  await expect(remaining).toContainText('—');
});

test('a takeover shows within a second, without a reload', async ({ page, server }) => {
  const first = await server.holder.acquire(freshLease('takeover'), 'replica-a');
  await openLive(page);
  await expect(part(page, first.lease, 'holder')).toContainText('replica-a');
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));

  const second = await handOver(server.holder, first, 'replica-b');
  await expect(part(page, first.lease, 'holder')).toContainText('replica-b', { timeout: 1_000 });
  await expect(part(page, first.lease, 'generation')).toHaveText(String(second.generation));
  expect(await page.evaluate(() => 'sameDocument' in window)).toBe(true);
});

test('a lapse shows when it happens, and the takeover after it', async ({ page, server }) => {
  const first = await server.holder.acquire(freshLease('lapse'), 'replica-a', { ttl_ms: 3_000 });
  await openLive(page);
  await expect(part(page, first.lease, 'state')).toContainText(/lapsed/i, { timeout: 4_500 });
  await expect(part(page, first.lease, 'holder'), 'still to be renewed by it').toContainText('replica-a');
  await expect(page.locator('link[rel=icon]'), 'the tab tells it, too').toHaveAttribute('href', '/favicon-alert.svg');

  await server.holder.acquire(first.lease, 'replica-b');
  await expect(part(page, first.lease, 'holder')).toContainText('replica-b', { timeout: 1_000 });
  await expect(part(page, first.lease, 'state')).toContainText(/held/i);
});

test('a forced release shows within a second', async ({ page, server }) => {
  const operator = await server.operator();
  const grant = await server.holder.acquire(freshLease('forced'), 'replica-a');
  await openLive(page);
  await operator.forceRelease(grant, 'replica-a hangs');
  await expect(part(page, grant.lease, 'state')).toContainText(/free/i, { timeout: 1_000 });
  await expect(part(page, grant.lease, 'holder')).not.toContainText('replica-a');
});

test('a new lease gets its row', async ({ page, server }) => {
  await openLive(page);
  const lease = freshLease('new');
  await server.holder.acquire(lease, 'worker-1');
  await expect(part(page, lease, 'holder')).toContainText('worker-1', { timeout: 1_000 });
});

const HOSTILE = [
  '</script><script>window.harmed = 1</script>',
  '<img src=x onerror="window.harmed = 2">',
  '"\'><svg onload=window.harmed=3>',
  'javascript:window.harmed=4//{{7*7}}${7*7}<!--',
];

test('hostile text is text', async ({ page, server }) => {
  const leases = [];
  for (const text of HOSTILE) {
    const more = { principal: text, status: { [text]: text }, payload: text };
    leases.push((await server.holder.acquire(freshLease('hostile'), text, more)).lease);
  }
  const expectText = async () => {
    for (const [index, lease] of leases.entries()) {
      await expect(part(page, lease, 'holder')).toContainText(HOSTILE[index]);
      await expect(row(page, lease).locator('script, img, [onload], [onerror]')).toHaveCount(0);
    }
    expect(await page.evaluate(() => 'harmed' in window)).toBe(false);
  };
  await openLive(page); // as the server rendered it
  await expectText();

  for (const [index, lease] of leases.entries()) {
    await handOver(server.holder, await server.holder.get(lease), `again ${HOSTILE[index]}`);
    await expect(part(page, lease, 'holder')).toContainText('again');
  }
  await expectText(); // as it came by the stream
});

test('a holder name of the greatest length leaves the page in shape', async ({ page, server }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  const { lease } = await server.holder.acquire(freshLease('long'), 'W'.repeat(255));
  await openLive(page);
  await expect(row(page, lease)).toBeVisible();
  const overflow_px = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(overflow_px).toBeLessThanOrEqual(0);
});

test('seven tabs load, and all stay live', async ({ context, server }) => {
  // Over HTTP/1.1 a browser opens six connections to a host: seven open
  // streams of seven tabs would leave none to load anything with.
  const grant = await server.holder.acquire(freshLease('tabs'), 'replica-a');
  const pages: Page[] = [];
  for (let count = 0; count < 7; count++) {
    pages.push(await context.newPage());
    await openLive(pages[count]);
    await expect(row(pages[count], grant.lease)).toBeVisible();
  }
  await handOver(server.holder, grant, 'replica-b');
  for (const page of pages) {
    await expect(part(page, grant.lease, 'holder')).toContainText('replica-b', { timeout: 3_000 });
  }
  await pages[0].reload();
  await isLive(pages[0]);
});

test('the last handover of each lease, also when it happens', async ({ page, server }) => {
  const operator = await server.operator();
  const grant = await server.holder.acquire(freshLease('last'), 'replica-a');
  await page.goto(`/?search=${grant.lease}`);
  await isLive(page);
  const last = row(page, grant.lease).locator('td.last');
  await expect(last).toHaveText(/First granted \d+ s ago/);
  await operator.forceRelease(grant, 'wedged');
  await expect(last).toHaveText(/Forced by token operator-\w+ \d+ s ago/, { timeout: 1_000 });
  await expect(last.locator('bdi')).toHaveAttribute('title', 'wedged');
});

test('paused, the page stands still and says so; then it catches up', async ({ page, server }) => {
  const grant = await server.holder.acquire(freshLease('paused'), 'replica-a', { ttl_ms: 50_000 });
  await openLive(page);
  await page.getByRole('button', { name: 'Pause updates' }).click();
  await expect(live(page)).toHaveText(/Paused at/);
  const shown = await part(page, grant.lease, 'remaining').innerText();
  await handOver(server.holder, grant, 'replica-b');
  await page.waitForTimeout(4_000); // longer than a hiccup may last
  await expect(part(page, grant.lease, 'remaining')).toHaveText(shown);
  await expect(part(page, grant.lease, 'holder')).toContainText('replica-a');
  await expect(page.getByRole('alert')).toBeHidden();
  await page.getByRole('button', { name: 'Go on' }).click();
  await isLive(page);
  await expect(part(page, grant.lease, 'holder')).toContainText('replica-b');
});

// As after a laptop's sleep, which may be made longer: BATON_ASLEEP_MS=600000.
const ASLEEP_MS = Number(process.env.BATON_ASLEEP_MS ?? 8_000);

test('after its timers were frozen, the page claims nothing that is not so', async ({ page, server }) => {
  test.setTimeout(ASLEEP_MS + 30_000);
  const grant = await server.holder.acquire(freshLease('frozen'), 'replica-a', { ttl_ms: 600_000 });
  await openLive(page);
  const client = await page.context().newCDPSession(page);
  await client.send('Page.setWebLifecycleState', { state: 'frozen' });
  await handOver(server.holder, grant, 'replica-b');
  await new Promise((resolve) => setTimeout(resolve, ASLEEP_MS));
  await client.send('Page.setWebLifecycleState', { state: 'active' });
  // Live means that it knows.
  await isLive(page);
  await expect(part(page, grant.lease, 'holder')).toContainText('replica-b', { timeout: 1_000 });
});
