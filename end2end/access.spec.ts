// The access log's page: who did what, for admins.

import { expect, expectAccessible, test } from './baton';

test.use({ file: import.meta.filename });

const rows = 'table.access tbody tr';

test('an admin sees what was done, and finds it by filters', async ({ page }) => {
  await page.goto('/');
  await page.getByRole('link', { name: 'Access log' }).click();
  await expect(page.locator('h1')).toHaveText('Access log');
  await expect(page.locator(rows).filter({ hasText: 'user created' })).toContainText('admin');
  await expectAccessible(page);

  await page.getByLabel('What').selectOption('signed_in');
  await page.getByLabel('Who').fill('user:admin');
  await page.getByRole('button', { name: 'Show' }).click();
  await expect(page).toHaveURL(/event=signed_in/);
  await expect(page.getByLabel('Who')).toHaveValue('user:admin');
  for (const text of await page.locator(rows).allInnerTexts()) expect(text).toContain('signed in');

  // The export has the same filter, and leaves an entry itself.
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export' }).click();
  expect((await download).suggestedFilename()).toMatch(/^baton-access-\d+\.jsonl$/);
  await page.goto('/access?event=exported');
  await expect(page.locator(rows).first()).toContainText('event');

  await page.goto('/access?subject=nobody-of-this-name');
  await expect(page.locator('[data-part="empty"]')).toBeVisible();
  await page.getByRole('link', { name: 'Clear' }).click();
  await expect(page.locator(rows).first()).toBeVisible();
});

test.describe('with a filter that cannot be', () => {
  test.use({ tolerated: [/Failed to load resource.*422/] });

  test('it says which and keeps what was typed', async ({ page }) => {
    await page.goto('/access?actor=somebody');
    await expect(page.locator('#actor-wrong')).toContainText('user:NAME');
    await expect(page.getByLabel('Who')).toHaveValue('somebody');
    await expect(page.locator('[data-part="problem"]')).toBeVisible();
    await expectAccessible(page);
  });
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(`${colorScheme}, 320 px wide`, () => {
    test.use({ colorScheme, viewport: { width: 320, height: 720 } });

    test('the access log is accessible', async ({ page }) => {
      await page.goto('/access');
      await expect(page.locator(rows).first()).toBeVisible();
      await expectAccessible(page);
    });
  });
}
