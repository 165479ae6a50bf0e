// How pages are shown: theme, times and keys, chosen on a page of their own.

import { choose, expect, expectAccessible, isLive, signedOut, test, type Page } from './baton';

test.use({ file: import.meta.filename });

/** How bright the page's ground is, from 0 to 255. */
async function brightness(page: Page): Promise<number> {
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [red, green, blue] = ground.match(/\d+/g)!.map(Number);
  return (red + green + blue) / 3;
}

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    for (const [system, other] of [
      ['light', 'dark'],
      ['dark', 'light'],
    ] as const) {
      test.describe(`where the system is ${system}`, () => {
        test.use({ colorScheme: system });

        test(`${other} can be chosen, is remembered, and can be undone`, async ({ page }) => {
          const isDark = async (dark: boolean) => {
            const is = await brightness(page);
            expect(is > 128, `brightness ${is}`).toBe(!dark);
            const scheme = await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
            if (dark) expect(scheme).toContain('dark');
          };
          await page.goto('/handovers?event=forced');
          await isDark(system === 'dark');
          await choose(page, other === 'dark' ? 'Dark' : 'Light');
          await isDark(other === 'dark');
          await page.goto('/connect');
          await isDark(other === 'dark');
          await page.getByRole('link', { name: 'Display' }).click();
          await expect(page.getByLabel(other === 'dark' ? 'Dark' : 'Light', { exact: true })).toBeChecked();
          await page.goto('/');
          await choose(page, 'As the system has it');
          await isDark(system === 'dark');
        });
      });
    }
  });
}

test.describe('signed out', () => {
  test.use(signedOut);

  test('it is there as well, and leads back', async ({ page, context }) => {
    await page.goto('/sign-in?next=%2Fhandovers');
    await choose(page, 'Dark', 'How long ago', 'Off');
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
    const kept = (await context.cookies()).map(({ name, value, sameSite }) => [name, value, sameSite]);
    expect(kept.sort()).toEqual([
      ['keys', 'off', 'Lax'],
      ['theme', 'dark', 'Lax'],
      ['times', 'ago', 'Lax'],
    ]);
  });
});

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [1280, 320]) {
    test.describe(`${colorScheme}, ${width} px wide`, () => {
      test.use({ colorScheme, viewport: { width, height: 720 } });

      test('the page is accessible', async ({ page }) => {
        await page.goto('/display');
        await expectAccessible(page);
      });
    });
  }
}

test('by keyboard alone', async ({ page }) => {
  await page.goto('/');
  await isLive(page);
  const to = page.getByRole('link', { name: 'Display' });
  for (let presses = 0; presses < 60 && !(await to.evaluate((link) => link === document.activeElement)); presses++) {
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('Enter');
  await expect(page.locator('h1')).toHaveText('Display');
  await page.getByLabel('As the system has it').focus();
  await page.keyboard.press('ArrowDown');
  await expect(page.getByLabel('Light', { exact: true })).toBeChecked();
  await page.keyboard.press('Enter');
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'light');
});
