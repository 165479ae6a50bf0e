// What every browser test starts from: a running server, a signed-in page, and
// a console that must stay silent.

import AxeBuilder from '@axe-core/playwright';
import { expect, test as base, type BrowserContextOptions, type Locator, type Page } from '@playwright/test';
import { Server, type Api, type Lease } from './server';

export { expect, type Page } from '@playwright/test';

type Options = {
  /** Console messages that a test expects, since it breaks something. */
  tolerated: RegExp[];
};

type Shared = {
  /** The file of the tests: each has a server of its own, so that no list is longer than its own tests make it. */
  file: string;
  server: Server;
  session: BrowserContextOptions['storageState'];
};

export const test = base.extend<Options & { silence: void }, Shared>({
  file: ['', { scope: 'worker', option: true }],

  server: [
    async ({ file: _ }, use) => {
      const server = await Server.start();
      await use(server);
      await server.stop();
    },
    { scope: 'worker' },
  ],

  // One sign-in serves all tests that are not about signing in.
  session: [
    async ({ browser, server }, use) => {
      const page = await browser.newPage({ baseURL: server.url });
      await signIn(page, server);
      const session = await page.context().storageState();
      await page.close();
      await use(session);
    },
    { scope: 'worker' },
  ],

  baseURL: ({ server }, use) => use(server.url),
  storageState: ({ session }, use) => use(session),

  tolerated: [[], { option: true }],

  // Breaches of the content security policy are console errors, too.
  silence: [
    async ({ context, tolerated }, use) => {
      const heard: string[] = [];
      context.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) heard.push(`${message.type()}: ${message.text()}`);
      });
      context.on('weberror', (error) => heard.push(`uncaught: ${error.error().stack || error.error()}`));
      context.on('dialog', (dialog) => {
        heard.push(`dialog: ${dialog.message()}`);
        dialog.dismiss();
      });
      await use();
      const unexpected = heard.filter((line) => !tolerated.some((pattern) => pattern.test(line)));
      expect(unexpected, 'the console stays silent').toEqual([]);
    },
    { auto: true },
  ],
});

/** For `test.use`: nobody is signed in. */
export const signedOut = { storageState: { cookies: [], origins: [] } };

export async function submitSignIn(page: Page, password: string): Promise<void> {
  await page.locator('input[name=name]').fill('admin');
  await page.locator('input[name=password]').fill(password);
  await page.locator('form[action="/sign-in"] button[type=submit]').click();
}

export async function signIn(page: Page, server: Server): Promise<void> {
  await page.goto('/sign-in');
  await submitSignIn(page, server.password);
  await expect(page).toHaveURL(`${server.url}/`);
}

/** Opens the list and waits until WebAssembly has taken over and the stream is live. */
export async function openLive(page: Page): Promise<void> {
  await page.goto('/');
  await isLive(page);
}

export async function isLive(page: Page): Promise<void> {
  await expect(page.locator('html')).toHaveAttribute('data-hydrated', 'true');
  await expect(live(page)).toHaveText(/Live \d\d:\d\d:\d\d UTC/);
}

export function live(page: Page): Locator {
  return page.locator('[data-part="live"]');
}

export function row(page: Page, lease: string): Locator {
  return page.locator(`[data-lease="${lease}"]`);
}

export type Part = 'state' | 'holder' | 'generation' | 'remaining';

export function part(page: Page, lease: string, name: Part): Locator {
  return row(page, lease).locator(`[data-part="${name}"]`);
}

/** The countdown as milliseconds: `6.2 s`, `1 m 20 s` or `2 h 05 m`. */
export function milliseconds(text: string): number {
  const unit_ms: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };
  const found = [...text.matchAll(/(\d+(?:\.\d+)?)\s*([dhms])\b/g)];
  expect(found.length, `'${text}' is a duration`).toBeGreaterThan(0);
  return found.reduce((sum, [, amount, unit]) => sum + Number(amount) * unit_ms[unit], 0);
}

let leases = 0;

/** A lease name that no other test uses. */
export function freshLease(what: string): string {
  return `${what}.${process.pid}-${++leases}`;
}

/** Release and acquire: the lease is `to`'s. */
export async function handOver(api: Api, from: Lease, to: string): Promise<Lease> {
  await api.release(from);
  return api.acquire(from.lease, to);
}

/** Chooses how pages are shown, on the page that the bar leads to, and comes back. */
export async function choose(page: Page, ...words: string[]): Promise<void> {
  const from = page.url();
  await page.getByRole('link', { name: 'Display' }).click();
  for (const word of words) await page.getByLabel(word, { exact: true }).check();
  await page.getByRole('button', { name: 'Keep this' }).click();
  await expect.poll(() => decodeURIComponent(page.url())).toBe(decodeURIComponent(from));
}

/** All of axe's rules, and nothing that sticks out of the window. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map(({ target, failureSummary }) => ({ target, failureSummary })) }));
  expect(found, 'what axe found').toEqual([]);
  const overflow_px = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(overflow_px, 'no scrolling sideways').toBeLessThanOrEqual(0);
}
