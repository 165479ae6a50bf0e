import { expect, freshLease, isLive, part, row, signedOut, signIn, submitSignIn, test } from './baton';

test.use({ file: import.meta.filename });

test.use(signedOut);

test('whoever is not signed in is sent to sign in', async ({ page }) => {
  await page.goto('/');
  await expect(page).toHaveURL(/\/sign-in/);
  await expect(page.locator('input[name=password]')).toHaveAttribute('type', 'password');
});

test.describe('with a wrong password', () => {
  // Chromium reports the answer's 4xx by itself.
  test.use({ tolerated: [/Failed to load resource.*40\d/] });

  test('an error, then the right one', async ({ page, server }) => {
    await page.goto('/sign-in');
    await submitSignIn(page, 'not the password');
    await expect(page.getByRole('alert')).toBeVisible();
    await expect(page.locator('input[name=password]'), 'a password is never sent back').toHaveValue('');

    await submitSignIn(page, server.password);
    await expect(page).toHaveURL(`${server.url}/`);
    await isLive(page);
  });

  test.describe('and no JavaScript', () => {
    test.use({ javaScriptEnabled: false });

    test('the same error', async ({ page }) => {
      await page.goto('/sign-in');
      await submitSignIn(page, 'not the password');
      await expect(page.getByRole('alert')).toBeVisible();
    });
  });
});

test('the session cookie is out of reach of scripts', async ({ page, server }) => {
  await signIn(page, server);
  const cookies = await page.context().cookies();
  expect(cookies.length).toBeGreaterThan(0);
  for (const cookie of cookies) {
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: expect.stringMatching(/Lax|Strict/) });
  }
});

test('signing out ends the session', async ({ page, server }) => {
  await signIn(page, server);
  const kept = await page.context().cookies();
  await page.locator('form[action="/sign-out"] button').click();
  await expect(page).toHaveURL(/\/sign-in/);

  await page.context().addCookies(kept);
  await page.goto('/');
  await expect(page, 'the old cookie is worth nothing').toHaveURL(/\/sign-in/);
});

// The page is whole without scripts, and without WebAssembly alone.
for (const [without, prepare] of [
  ['JavaScript', { javaScriptEnabled: false }],
  ['WebAssembly', { tolerated: [/\.wasm|Failed to (load|fetch)|ERR_FAILED/] }],
] as const) {
  test.describe(`without ${without}`, () => {
    test.use({ ...prepare });

    test.beforeEach(async ({ page }) => {
      if (without === 'WebAssembly') await page.route(/\.wasm/, (route) => route.abort());
    });

    test('signing in, the list, signing out', async ({ page, server }) => {
      const held = await server.holder.acquire(freshLease('plain'), 'worker-1');
      const gone = await server.holder.acquire(freshLease('plain'), 'worker-2');
      await server.holder.release(gone);

      await signIn(page, server);
      await expect(part(page, held.lease, 'state')).toContainText(/held/i);
      await expect(part(page, held.lease, 'holder')).toContainText('worker-1');
      await expect(part(page, held.lease, 'generation')).toHaveText('1');
      await expect(part(page, held.lease, 'remaining')).toContainText(/\d/);
      await expect(part(page, gone.lease, 'state')).toContainText(/free/i);
      await expect(part(page, gone.lease, 'remaining')).toContainText('—');

      await page.reload();
      await expect(row(page, held.lease)).toBeVisible();

      await page.locator('form[action="/sign-out"] button').click();
      await expect(page).toHaveURL(/\/sign-in/);
    });
  });
}
