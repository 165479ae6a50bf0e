import { expect, expectAccessible, freshLease, isLive, row, signedOut, test, type Page } from './baton';

test.use({ file: import.meta.filename });

const PAGES: [name: string, path: string, settled: (page: Page) => Promise<void>][] = [
  // What the test made comes first, among all that the others left.
  ['the list', '/?sort=changed', isLive],
  ['a lease', '/leases/axe.lease', isLive],
  ['the history', '/handovers', isLive],
  ['an entry', '/handovers/1', (page) => expect(page.locator('h1')).toBeVisible()],
  ['a page that is not there', '/no-such-page', (page) => expect(page.locator('h1')).toBeVisible()],
];

// The pages that tests ask for in vain, and the WebAssembly that they block.
test.use({ tolerated: [/Failed to (load resource.*(404|ERR_FAILED)|fetch)/] });

/** What is on the page once its WebAssembly runs, and what stands there without it. */
const WAYS: [way: string, blocked: boolean][] = [
  ['hydrated', false],
  ['WebAssembly blocked', true],
];

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [1280, 320]) {
    test.describe(`${colorScheme}, ${width} px wide`, () => {
      test.use({ colorScheme, viewport: { width, height: 720 } });

      for (const [[name, path, settled], [way, blocked]] of PAGES.flatMap((page) => WAYS.map((way) => [page, way] as const))) {
        test(`${name}, ${way}`, async ({ page, server }) => {
          const held = await server.holder.acquire(freshLease('axe'), 'worker-1');
          await server.holder.release(await server.holder.acquire(freshLease('axe'), 'worker-2'));
          await server.holder.acquire(freshLease('axe'), 'worker-3', { ttl_ms: 1_000 });
          const operator = await server.operator();
          await server.holder.acquire('axe.lease', 'worker-1', { payload: { a: 1 } }).catch(() => null);
          await operator.forceRelease(await server.holder.get('axe.lease'), 'wedged');
          await operator.pause('axe.lease', 'freeze');
          await operator.operate('axe.lease', 'unpause', { reason: 'thaw' });
          await server.holder.acquire('axe.lease', 'worker-2', { payload: { a: 1 } });
          if (blocked) await page.route(/\.wasm/, (route) => route.abort());
          await page.goto(path);
          await (blocked ? expect(page.locator('h1')).toBeVisible() : settled(page));
          if (name === 'the list') await expect(row(page, held.lease)).toBeVisible();
          await expectAccessible(page);
        });
      }

      test.describe('signed out', () => {
        test.use(signedOut);

        test('sign-in', async ({ page }) => {
          await page.goto('/sign-in');
          await expectAccessible(page);
        });
      });
    });
  }
}

test('the list can be reached and signed out of by keyboard', async ({ page }) => {
  await page.goto('/');
  await isLive(page);
  const button = page.locator('form[action="/sign-out"] button');
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab');
    if (await button.evaluate((element) => element === document.activeElement)) return;
  }
  throw new Error('Tab does not reach the sign-out button');
});
