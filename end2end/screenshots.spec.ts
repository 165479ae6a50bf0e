// Pictures of every state for people to look at, made by `make screenshots`.

import { expect, isLive, signIn, submitSignIn, test } from './baton';
import { signedInAs } from './people';
import { Server } from './server';

test.use({ file: import.meta.filename });

async function fill(server: Server): Promise<void> {
  const { holder } = server;
  const operator = await server.operator();
  await holder.acquire('deploy.production', 'ci-runner-114', { ttl_ms: 90_000, status: 'release 2026.48 to eu-west' });
  await holder.acquire('billing.close-month', 'worker-eu-1 / 02aa', { ttl_ms: 8_000, status: 'ledger 3 of 12' });
  await holder.acquire('backup.nightly', 'db-2.internal / 4f1e', { ttl_ms: 7_200_000, principal: 'user:ana' });
  await holder.acquire('a.lease:with-a.very_long.name@that.goes-on'.padEnd(120, '.x'), 'W'.repeat(120), { ttl_ms: 600_000 });
  await holder.acquire('channels.slack', 'gateway-2 / 8c41', { ttl_ms: 1_000, status: 'sweep stalled at 1823/9000' });
  await holder.release(await holder.acquire('reports.nightly', 'worker-7'));
  await operator.pause('deploy.staging', 'freeze for migration');
  for (let turn = 0; turn < 4; turn++) {
    const grant = await holder.acquire('fleet.manager', `replica-${'ab'[turn % 2]} / 7f9d`, { ttl_ms: 40_000 });
    if (turn < 3) await operator.forceRelease(grant, 'stuck');
  }
}

for (const colorScheme of ['light', 'dark'] as const) {
  for (const [device, viewport] of [
    ['desktop', { width: 1280, height: 800 }],
    ['phone', { width: 390, height: 844 }],
  ] as const) {
    test(`${device}, ${colorScheme}`, async ({ browser }) => {
      const server = await Server.start();
      const page = await browser.newPage({ baseURL: server.url, colorScheme, viewport });
      const shoot = (state: string) =>
        page.screenshot({ path: `screenshots/${state}-${device}-${colorScheme}.png`, fullPage: true });

      await page.goto('/display');
      await shoot('display-signed-out');
      await page.goto('/sign-in');
      await shoot('sign-in');
      await submitSignIn(page, 'not the password');
      await expect(page.getByRole('alert')).toBeVisible();
      await shoot('sign-in-refused');
      await signIn(page, server);
      await isLive(page);
      await shoot('empty');
      await fill(server);
      await page.waitForTimeout(2_500); // a lease lapses meanwhile
      await shoot('full');
      await page.keyboard.press('?');
      await shoot('keys');
      await page.keyboard.press('Escape');
      await page.goto('/leases/fleet.manager');
      await isLive(page);
      await page.getByText('The same as a table').click();
      await shoot('lease');
      await page.goto('/leases/deploy.staging');
      await isLive(page);
      await shoot('lease-paused');
      await page.goto('/leases/deploy.production');
      await isLive(page);
      await shoot('lease-held');
      await page.goto('/leases/no.such-lease');
      await shoot('lease-unknown');
      await page.goto('/handovers');
      await isLive(page);
      await shoot('handovers');
      if (device === 'desktop') {
        await page.emulateMedia({ media: 'print' });
        await page.setViewportSize({ width: 703, height: 1010 });
        await shoot('handovers-paper');
        await page.goto('/leases/fleet.manager');
        await isLive(page);
        await shoot('lease-paper');
        await page.emulateMedia({ media: 'screen', colorScheme });
        await page.setViewportSize(viewport);
      }
      await page.goto('/handovers?event=forced&lease=a%20b');
      await shoot('handovers-wrong');
      await page.goto('/handovers/8');
      await shoot('handover');
      await page.goto('/leases/fleet.manager');
      await isLive(page);
      await server.kill();
      await expect(page.getByRole('alert')).toBeVisible();
      await shoot('lease-stale');
      await server.start();
      await page.goto('/');
      await isLive(page);
      await server.kill();
      await expect(page.getByRole('alert')).toBeVisible();
      await shoot('stale');

      await page.close();
      await server.stop();
    });
  }
}

for (const colorScheme of ['light', 'dark'] as const) {
  for (const [device, viewport] of [
    ['desktop', { width: 1280, height: 800 }],
    ['phone', { width: 390, height: 844 }],
  ] as const) {
    test(`pages that ask, ${device}, ${colorScheme}`, async ({ browser }) => {
      test.setTimeout(120_000);
      const server = await Server.start();
      const page = await browser.newPage({ baseURL: server.url, colorScheme, viewport });
      await signIn(page, server);
      await fill(server);
      await server.holder.acquire('payroll.close', 'worker-eu-1 / 02aa', { ttl_ms: 30_000 });
      await (await server.admin()).protect('payroll.close', 'payroll');
      const shoot = async (state: string, path?: string) => {
        if (path) await page.goto(path);
        await page.screenshot({ path: `screenshots/${state}-${device}-${colorScheme}.png`, fullPage: true });
      };
      const force = '/leases/fleet.manager/force-release?reason=Wedged in discovery, renews but makes no progress&incident=INC-4711';
      await shoot('force-release', force);
      await server.holder.release(await server.holder.get('fleet.manager'));
      await server.holder.acquire('fleet.manager', 'replica-c / 55e2', { ttl_ms: 40_000 });
      await page.locator('.dialog form button[type=submit]').click();
      await expect(page.locator('[data-part="moved"]')).toBeVisible();
      await shoot('force-release-moved');
      await shoot('force-release-protected', '/leases/payroll.close/force-release');
      await page.getByLabel('Why?').fill(' ');
      await page.getByLabel('Type the lease’s name').fill('payroll');
      await page.locator('.dialog form button[type=submit]').click();
      await expect(page.getByRole('alert')).toBeVisible();
      await shoot('force-release-wrong');
      await shoot('step-down', '/leases/payroll.close/step-down');
      await shoot('pause', '/leases/payroll.close/pause');
      await shoot('unpause', '/leases/deploy.staging/unpause');
      await shoot('no-such-lease', '/leases/no.such.lease/force-release');
      await shoot('many', '/act?search=a');
      await shoot('many-no-filter', '/act');
      await page.goto('/act?prefix=b');
      await page.getByLabel('Why?').fill('db-2 must go');
      await page.getByRole('button', { name: /Do it/ }).click();
      await expect(page.locator('[data-part="outcome"]')).toBeVisible();
      await shoot('many-outcome');
      await server.user('ana', 'operator', 'a long password');
      await server.user('ben.of.the.night.shift', 'viewer', 'a long password');
      for (const path of ['/users', '/users/new', '/users/edit?name=ana', '/tokens', '/tokens/new', '/tokens/edit?name=holder', '/password', '/connect', '/display', '/access']) {
        await shoot(path.slice(1).split('?')[0].replace('/', '-'), path);
      }
      await page.goto('/tokens/new');
      await page.getByLabel('Name').first().fill('ci');
      await page.getByRole('button', { name: 'Create a token' }).click();
      await expect(page.locator('[data-part="secret"]')).toBeVisible();
      await shoot('token-made');
      expect((await page.goto('/users/edit?name=nobody'))!.status()).toBe(404);
      await shoot('not-found');
      const viewer = await signedInAs(browser, server, 'viewer', { colorScheme, viewport });
      for (const [state, path] of [
        ['viewer-lease', '/leases/payroll.close'],
        ['viewer-refused', '/leases/payroll.close/force-release'],
      ]) {
        await viewer.goto(path);
        await viewer.screenshot({ path: `screenshots/${state}-${device}-${colorScheme}.png`, fullPage: true });
      }
      await viewer.close();
      await page.close();
      await server.stop();
    });
  }
}
