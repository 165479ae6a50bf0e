// On paper: what was seen and when, and nothing that can only be pressed.

import { choose, expect, freshLease, handOver, isLive, live, test, type Locator, type Page } from './baton';
import type { Lease, Server } from './server';

test.use({ file: import.meta.filename });

// A4 less its margins, in CSS pixels: narrower than many a phone's page.
const A4 = { width: 703, height: 1010 };

async function print(page: Page): Promise<void> {
  await page.setViewportSize(A4);
  await page.emulateMedia({ media: 'print' });
}

/** A lease with a history, its last holder of a name as long as names can be. */
async function story(server: Server, what: string): Promise<Lease> {
  const operator = await server.operator();
  const first = await server.holder.acquire(freshLease(what), 'replica-a');
  await operator.forceRelease(first, 'wedged in discovery');
  return server.holder.acquire(first.lease, 'W'.repeat(255));
}

/** Black on white, as wide as the paper, without anything to press, and with nothing cut off. */
async function expectPaper(page: Page): Promise<void> {
  for (const gone of ['button', '.button', 'nav', 'input', 'select', '.pages', '.filter', '.bar']) {
    await expect(page.locator(gone).filter({ visible: true }), gone).toHaveCount(0);
  }
  const seen = await page.evaluate(() => {
    const style = (selector: string) => getComputedStyle(document.querySelector(selector)!);
    const main = document.querySelector('main')!.getBoundingClientRect();
    return {
      ground: style('body').backgroundColor,
      ink: style('main').color,
      links: [...new Set([...document.querySelectorAll('main a')].map((link) => getComputedStyle(link).textDecorationLine))],
      wide: main.width - innerWidth,
      over: document.documentElement.scrollWidth - innerWidth,
      cut: [...document.querySelectorAll('main table *:not(.unseen)')]
        .filter((element) => element.clientWidth && getComputedStyle(element).overflowX !== 'visible')
        .filter((element) => element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight)
        .map((element) => element.className),
    };
  });
  expect(seen).toMatchObject({ ground: 'rgb(255, 255, 255)', ink: 'rgb(0, 0, 0)', cut: [] });
  expect(seen.links.filter((line) => line !== 'none')).toEqual([]);
  expect(Math.abs(seen.wide)).toBeLessThanOrEqual(17); // a scroll bar, which paper has not
  expect(seen.over).toBeLessThanOrEqual(0);
}

async function isTable(table: Locator): Promise<void> {
  const displays = await table.evaluate((table) =>
    ['', 'thead', 'tbody tr', 'tbody td'].map((part) => getComputedStyle(part ? table.querySelector(part)! : table).display),
  );
  expect(displays).toEqual(['table', 'table-header-group', 'table-row', 'table-cell']);
}

for (const theme of ['Light', 'Dark']) {
  test(`the history, in the theme ${theme}`, async ({ page, server }) => {
    const { lease } = await story(server, 'paper');
    await page.goto(`/handovers?lease=${lease}&from=2020-01-01T00:00`);
    await choose(page, theme);
    await isLive(page);
    await expect(page.locator('.paper')).toBeHidden();
    await print(page);
    await expect(page.locator('.paper')).toContainText(`Lease: ${lease}. From (UTC): 2020-01-01T00:00. As of`);
    await expect(page.locator('.paper')).toHaveText(/As of \d\d:\d\d:\d\d UTC/);
    await expect(live(page), 'which is not when the entries are from').toBeHidden();
    await isTable(page.locator('.entries'));
    await expect(page.locator('.entries')).toContainText('wedged in discovery');
    await expectPaper(page);
  });
}

test('all of the history says that it is all, or a part', async ({ page, server }) => {
  let grant = await server.holder.acquire(freshLease('parts'), 'worker-0');
  await page.goto('/handovers');
  await print(page);
  await expect(page.locator('.paper')).toContainText('Shown: all handovers');
  await expect(page.locator('.paper')).not.toContainText('one page of several');
  for (let turn = 1; turn <= 55; turn++) grant = await handOver(server.holder, grant, `worker-${turn}`);
  await page.goto(`/handovers?lease=${grant.lease}`);
  await expect(page.locator('.paper')).toContainText('Entries: one page of several');
});

test('one entry', async ({ page, server }) => {
  await story(server, 'entry');
  await page.goto('/handovers');
  await page.locator('.entries td.when a').first().click();
  await print(page);
  await expect(page.locator('[data-part="as-of"]')).toContainText('As of');
  await expect(page.locator('.log-entry')).toContainText('W'.repeat(255));
  await expectPaper(page);
});

test('a lease, with its picture, its tenures and its handovers', async ({ page, server }) => {
  const { lease } = await story(server, 'lease');
  await page.goto(`/leases/${lease}?last=1h`);
  await isLive(page);
  await print(page);
  await expect(page.locator('.paper')).toContainText('Time shown: the last 1 h');
  await expect(live(page)).toBeVisible();
  const before = await live(page).locator('[data-form]').evaluate((time) => getComputedStyle(time, '::before').content);
  expect(before).toBe('"As of "');
  await expect(page.locator('.timeline')).toBeVisible();
  await isTable(page.locator('.tenures'));
  await expect(page.locator('.tenures')).toBeVisible();
  await isTable(page.locator('.entries'));
  await expectPaper(page);
});

test('the list of leases', async ({ page, server }) => {
  const { lease } = await story(server, 'list');
  await page.goto(`/?search=${lease}`);
  await isLive(page);
  await print(page);
  await isTable(page.locator('[data-island="list"] table'));
  await expect(page.locator('[data-island="list"]')).toContainText('W'.repeat(255));
  await expectPaper(page);
});

test('how long ago has the exact time beside it', async ({ page, server }) => {
  const { lease } = await story(server, 'ago');
  await page.goto(`/handovers?lease=${lease}`);
  await choose(page, 'How long ago');
  await print(page);
  const time = page.locator('.entries time').first();
  const after = await time.evaluate((time) => getComputedStyle(time, '::after').content);
  expect(after).toContain((await time.getAttribute('datetime'))!);
});

test('what is in view can be had as a file, from the history and from a lease', async ({ page, server }) => {
  const { lease } = await story(server, 'file');
  const other = await story(server, 'other');
  for (const [path, filter] of [
    [`/handovers?lease=${lease}&event=forced`, `&lease=${lease}&event=forced`],
    [`/leases/${lease}`, `&lease=${lease}`],
    [`/leases/${lease}?from=2020-01-01T00:00&to=2040-01-01T00:00`, `&lease=${lease}&from=2020-01-01T00%3A00%3A00.000000Z&to=2040-01-01T00%3A00%3A00.000000Z`],
  ]) {
    await page.goto(path);
    for (const [name, format] of [
      ['CSV', 'csv'],
      ['JSON Lines', 'jsonl'],
      ['Report (Markdown)', 'md'],
    ]) {
      const link = page.locator('.exports').getByRole('link', { name });
      await expect(link).toHaveAttribute('href', `/api/v1/handovers/export?format=${format}${filter}`);
      const text = await (await page.request.get((await link.getAttribute('href'))!)).text();
      expect(text).toContain('wedged in discovery');
      expect(text).toContain(lease);
      expect(text).not.toContain(other.lease);
    }
  }
  await page.goto(`/leases/${lease}?last=5m`);
  await expect(page.locator('.exports a').last()).toHaveAttribute('href', /format=md&lease=file[^&]*&from=\d{4}-\d\d-\d\dT[^&]*Z$/);
});
