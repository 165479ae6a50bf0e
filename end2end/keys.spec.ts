// Single keys: what they do, when they do nothing, and how they are turned off.

import { choose, expect, expectAccessible, freshLease, isLive, test, type Page } from './baton';
import type { Server } from './server';

test.use({ file: import.meta.filename });

const list = (page: Page) => page.locator('dialog#keys');

/** Three leases, the only ones that this search shows, by name. */
async function three(server: Server, what: string): Promise<string[]> {
  const names = [];
  for (const n of [1, 2, 3]) names.push((await server.holder.acquire(`${freshLease(what)}.${n}`, 'worker')).lease);
  return names;
}

test('through the list and into a lease, without a mouse', async ({ page, server }) => {
  const names = await three(server, 'rows');
  await page.goto('/?search=rows.&sort=name');
  await isLive(page);
  const link = (name: string) => page.getByRole('link', { name });
  await page.keyboard.press('ArrowDown');
  await expect(link(names[0])).toBeFocused();
  await page.keyboard.press('j');
  await page.keyboard.press('ArrowDown');
  await expect(link(names[2])).toBeFocused();
  await page.keyboard.press('j'); // there is none after it
  await expect(link(names[2])).toBeFocused();
  await page.keyboard.press('k');
  await page.keyboard.press('ArrowUp');
  await expect(link(names[0])).toBeFocused();
  await page.keyboard.press('ArrowUp');
  await expect(link(names[0])).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${server.url}/leases/${names[0]}`);
  await isLive(page);

  // Here arrows scroll, unless a row is gone to.
  await page.keyboard.press('ArrowDown');
  await expect(page.locator('body')).toBeFocused();
  await page.keyboard.press('j');
  await expect(page.locator('.entries td.when a').first()).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.locator('h1')).toContainText('Entry');
});

test('a row that moves keeps its place under the keys', async ({ page, server }) => {
  const names = await three(server, 'moves');
  const operator = await server.operator();
  await page.goto('/?search=moves.');
  await isLive(page);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await expect(page.getByRole('link', { name: names[1] })).toBeFocused();
  // What asks for attention comes first.
  await operator.operate(names[1], 'step-down', { expected_generation: 1, reason: 'drain', deadline_ms: 600_000 });
  await expect(page.locator('a[data-row]').first()).toHaveText(names[1]);
  await page.keyboard.press('j');
  await expect(page.getByRole('link', { name: names[0] })).toBeFocused();
});

test('to the search field, where keys are letters', async ({ page, server }) => {
  const [name] = await three(server, 'typed');
  await page.goto('/');
  await isLive(page);
  await page.keyboard.press('/');
  const field = page.getByRole('searchbox');
  await expect(field).toBeFocused();
  await expect(field).toHaveValue('');
  await page.keyboard.type(`?jk/${name}`);
  await expect(field).toHaveValue(`?jk/${name}`);
  await expect(list(page)).toBeHidden();
  await page.keyboard.press('ArrowDown');
  await expect(field).toBeFocused();

  await page.goto('/handovers');
  await isLive(page);
  await page.keyboard.press('/');
  await expect(page.locator('.filter input[name=lease]')).toBeFocused();
});

test('with Ctrl, Alt or Meta they are the browser’s', async ({ page, server }) => {
  await three(server, 'with');
  await page.goto('/');
  await isLive(page);
  for (const modifier of ['Control', 'Alt', 'Meta']) {
    for (const key of ['j', 'ArrowDown', '/', '?']) {
      const [taken] = await page.evaluate(
        ([key, modifier]) => {
          const init = { key, bubbles: true, cancelable: true, [`${modifier === 'Control' ? 'ctrl' : modifier.toLowerCase()}Key`]: true };
          return [!document.body.dispatchEvent(new KeyboardEvent('keydown', init))];
        },
        [key, modifier],
      );
      expect(taken, `${modifier}+${key}`).toBe(false);
    }
  }
  await expect(page.locator('body')).toBeFocused();
  await expect(list(page)).toBeHidden();
});

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [1280, 320]) {
    test.describe(`${colorScheme}, ${width} px wide`, () => {
      test.use({ colorScheme, viewport: { width, height: 720 } });

      for (const path of ['/', '/handovers', '/leases/keys.lease']) {
        test(`the list of keys on ${path}`, async ({ page, server }) => {
          await server.holder.acquire('keys.lease', 'worker').catch(() => null);
          await page.goto(path);
          await isLive(page);
          await expect(list(page)).toBeHidden();
          await page.keyboard.press('?');
          await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible();
          await expectAccessible(page);
          await page.keyboard.press('j');
          await expect(list(page).getByRole('button', { name: 'Close' })).toBeFocused();
          await page.keyboard.press('Escape');
          await expect(list(page)).toBeHidden();
          await page.keyboard.press('?');
          await list(page).getByRole('button', { name: 'Close' }).press('Enter');
          await expect(list(page)).toBeHidden();
          await expect(page).toHaveURL(new RegExp(`${path}$`));
        });
      }
    });
  }
}

test('they can be turned off, and the list says where', async ({ page, server }) => {
  await three(server, 'off');
  await page.goto('/?search=off.');
  await isLive(page);
  await page.keyboard.press('?');
  await list(page).getByRole('link', { name: 'Display' }).click();
  await page.getByLabel('Off', { exact: true }).check();
  await page.getByRole('button', { name: 'Keep this' }).click();
  await expect(page).toHaveURL(/\/\?search=off\.$/);
  await isLive(page);
  await expect(list(page)).toHaveCount(0);
  for (const key of ['?', '/', 'j', 'ArrowDown']) await page.keyboard.press(key);
  await expect(page.locator('body')).toBeFocused();
  await choose(page, 'On');
  await isLive(page);
  await page.keyboard.press('j');
  await expect(page.locator('a[data-row]').first()).toBeFocused();
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('nothing of it shows', async ({ page }) => {
    await page.goto('/');
    await expect(list(page)).toBeHidden();
  });
});
