// People and tokens: who may be here, and what they may do.

import { expect, expectAccessible, freshLease, signedOut, test, type Page } from './baton';
import { signedInAs } from './people';

test.use({ file: import.meta.filename });

async function signInWith(page: Page, name: string, password: string): Promise<void> {
  await page.goto('/sign-in');
  await page.locator('input[name=name]').fill(name);
  await page.locator('input[name=password]').fill(password);
  await page.locator('form[action="/sign-in"] button[type=submit]').click();
}

let people = 0;
const fresh = (what: string) => `${what}-${process.pid}-${++people}`;

/** Makes a user on the page, and gives the password that it shows. */
async function makeUser(page: Page, name: string, role: string): Promise<string> {
  await page.goto('/users');
  await page.getByRole('link', { name: 'Add a user' }).click();
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Role').selectOption(role);
  await page.getByRole('button', { name: 'Add a user' }).click();
  return page.locator('[data-part="secret"]').innerText();
}

const row = (page: Page, name: string) => page.locator(`tr[data-name="${name}"]`);

test.describe('with 4xx answers', () => {
  test.use({ tolerated: [/Failed to load resource.*4\d\d/] });

  test('a user is made, signs in, is changed, and is disabled', async ({ page, browser, server }) => {
    const name = fresh('ana');
    const password = await makeUser(page, name, 'viewer');
    await expectAccessible(page);
    await page.getByRole('link', { name: 'I have it' }).click();
    await expect(row(page, name)).toContainText('viewer');
    await expect(row(page, name)).toContainText('never');

    const context = await browser.newContext({ baseURL: server.url, ...signedOut });
    const hers = await context.newPage();
    await signInWith(hers, name, password);
    await expect(hers).toHaveURL(`${server.url}/`);
    expect((await hers.goto('/users'))!.status(), 'users are for admins').toBe(403);
    await expect(hers.locator('[data-part="problem"]')).toContainText('this takes the role admin');

    await row(page, name).getByRole('link').click();
    await page.getByLabel('Role').selectOption('admin');
    await page.getByRole('button', { name: 'Change the role' }).click();
    await expect(page.locator('[data-part="done"]')).toContainText('role was changed');
    expect((await hers.goto('/users'))!.status(), 'it counts at once').toBe(200);

    await row(page, name).getByRole('link').click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await expect(page.locator('[data-part="done"]')).toContainText('sessions');
    await hers.goto('/users');
    await expect(hers).toHaveURL(/\/sign-in\?next=%2Fusers/);
    await signInWith(hers, name, password);
    await expect(hers).toHaveURL(`${server.url}/`);

    await row(page, name).getByRole('link').click();
    await page.getByRole('button', { name: 'Disable' }).click();
    await expect(row(page, name)).toContainText('disabled');
    await hers.goto('/');
    await expect(hers).toHaveURL(/\/sign-in/);
    await signInWith(hers, name, password);
    await expect(hers.getByRole('alert')).toBeVisible();
    await context.close();
  });

  test('names are used once, and the last admin stays one', async ({ page }) => {
    const name = fresh('ben');
    await makeUser(page, name, 'viewer');
    await page.goto('/users/new');
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Add a user' }).click();
    await expect(page.locator('#name-wrong')).toContainText('is taken');
    await page.goto('/users/edit?name=admin');
    await page.getByRole('button', { name: 'Disable' }).click();
    await expect(page.getByRole('alert')).toContainText('the last admin');
    await expectAccessible(page);
  });

  test('one’s own password is changed, and other sessions end', async ({ page, browser, server }) => {
    const name = fresh('cleo');
    const password = await makeUser(page, name, 'operator');
    const [here, there] = [await browser.newContext({ baseURL: server.url, ...signedOut }), await browser.newContext({ baseURL: server.url, ...signedOut })];
    const [one, other] = [await here.newPage(), await there.newPage()];
    for (const each of [one, other]) {
      await signInWith(each, name, password);
      await expect(each).toHaveURL(`${server.url}/`);
    }
    await one.getByRole('link', { name }).click();
    await expect(one).toHaveURL(/\/password/);
    const change = async (now: string, next: string, again: string) => {
      await one.getByLabel('Password now').fill(now);
      await one.getByLabel('New password', { exact: false }).first().fill(next);
      await one.getByLabel('New password again').fill(again);
      await one.getByRole('button', { name: 'Change it' }).click();
    };
    await change('not it', 'a better password', 'a better password');
    await expect(one.locator('#password-wrong')).toContainText('is not your password');
    await expect(one.getByLabel('Password now'), 'never sent back').toHaveValue('');
    await change(password, 'a better password', 'another one');
    await expect(one.locator('#again-wrong')).toBeVisible();
    await change(password, 'short', 'short');
    await expect(one.locator('#new_password-wrong')).toBeVisible();
    await expectAccessible(one);
    await change(password, 'a better password', 'a better password');
    await expect(one.locator('[data-part="done"]')).toBeVisible();
    await one.goto('/');
    await expect(one).toHaveURL(`${server.url}/`);
    await other.goto('/');
    await expect(other).toHaveURL(/\/sign-in/);
    await here.close();
    await there.close();
  });
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('a token is made, shown once, used, rotated and revoked', async ({ page, server }) => {
    const name = fresh('ci');
    const prefix = `${freshLease('deploy')}.`;
    await page.goto('/tokens/new');
    await page.getByLabel('Name').first().fill(name);
    await page.getByLabel('Only leases').fill(`${prefix}\nother.`);
    await page.getByLabel('Works for').selectOption('2592000');
    await page.getByRole('button', { name: 'Create a token' }).click();
    const secret = await page.locator('[data-part="secret"]').innerText();
    expect(secret).toMatch(/^baton_[\w-]{22,}$/);
    await page.goto('/tokens');
    expect(await page.content()).not.toContain(secret);
    await expect(row(page, name)).toContainText(prefix);
    await expect(row(page, name)).toContainText('until');

    const status = async (token: string, lease: string) => {
      const response = await fetch(`${server.url}/api/v1/leases/${lease}/acquire`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ holder: 'h', ttl_ms: 60_000 }),
      });
      return response.status;
    };
    await expect.poll(() => status(secret, `${prefix}a`)).toBe(200);
    expect(await status(secret, freshLease('elsewhere'))).toBe(403);

    await row(page, name).getByRole('link').click();
    await page.getByRole('button', { name: 'Rotate' }).click();
    const second = await page.locator('[data-part="secret"]').innerText();
    await expect.poll(() => status(secret, `${prefix}b`)).toBe(401);
    expect(await status(second, `${prefix}c`)).toBe(200);

    await page.goto(`/tokens/edit?name=${name}`);
    await page.getByRole('button', { name: 'Revoke' }).click();
    await expect(row(page, name)).toContainText('revoked');
    await expect.poll(() => status(second, `${prefix}d`)).toBe(401);
  });

  test('lines to paste carry this server’s address', async ({ page, server }) => {
    await page.goto('/');
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Connect' }).click();
    await expect(page.locator('pre').filter({ hasText: 'BATON_URL' })).toContainText(server.url);
    await expect(page.locator('pre').filter({ hasText: 'Client::new' })).toContainText(server.url);
    await expect(page.locator('pre').filter({ hasText: 'curl' })).toContainText(`${server.url}/api/v1/leases/first.lease/acquire`);
    await expect(page.locator('pre').filter({ hasText: 'baton run' })).toBeVisible();
  });
});

test('the way to every page, for whom it is', async ({ page, browser, server }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto('/connect');
  for (const name of ['Users', 'Tokens', 'Connect', 'Leases']) {
    const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name });
    await link.click();
    await expect(link).toHaveAttribute('aria-current', 'page');
  }
  const viewer = await signedInAs(browser, server, 'viewer');
  await viewer.goto('/connect');
  const links = viewer.getByRole('navigation', { name: 'Main' }).getByRole('link');
  await expect(links.filter({ hasText: 'Users' })).toHaveCount(0);
  await viewer.context().close();
});

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [1280, 320]) {
    test.describe(`${colorScheme}, ${width} px wide`, () => {
      test.use({ colorScheme, viewport: { width, height: 720 } });

      test('every page is accessible, with hostile names', async ({ page, server }) => {
        const name = `<b>"'${fresh('W'.repeat(40))}`;
        await server.user(name, 'viewer', 'a long password');
        for (const path of ['/users', '/users/new', `/users/edit?name=${encodeURIComponent(name)}`, '/tokens', '/tokens/new', '/tokens/edit?name=holder', '/password', '/connect']) {
          await page.goto(path);
          await expect(page.locator('h1')).toBeVisible();
          await expect(page.locator('main b', { hasText: 'W' })).toHaveCount(0);
          await expectAccessible(page);
        }
      });
    });
  }
}
