// Pictures of every state for people to look at, made by `make screenshots`.

import { expect, isLive, signIn, submitSignIn, test } from './baton';
import { Server } from './server';

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
      await server.kill();
      await expect(page.getByRole('alert')).toBeVisible();
      await shoot('stale');

      await page.close();
      await server.stop();
    });
  }
}
