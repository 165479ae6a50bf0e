// The README's two pictures, made by `make screenshots` along with the others.

import { expect, isLive, signIn, test } from './baton';
import { Server, type Api } from './server';

test.use({ file: import.meta.filename });

/** An ordinary night: most hold what they hold, and one lease goes to and fro. */
async function night({ holder }: Server, operator: Api): Promise<void> {
  const held: [lease: string, holder: string, ttl_ms: number, status?: string][] = [
    ['backup.nightly', 'db-2.internal', 7_200_000, 'wal 41 of 96'],
    ['billing.close-month', 'worker-eu-1', 90_000, 'ledger 3 of 12'],
    ['channels.mail', 'gateway-1', 45_000, '212 open conversations'],
    ['channels.slack', 'gateway-2', 45_000],
    ['deploy.production', 'ci-runner-114', 600_000, 'release 2026.48 to eu-west'],
    ['discovery.leader', 'replica-c', 15_000],
    ['search.reindex', 'indexer-3', 300_000, 'shard 7 of 16'],
    ['sessions.4411', 'gateway-1', 30_000],
  ];
  for (const [lease, who, ttl_ms, status] of held) await holder.acquire(lease, who, { ttl_ms, status });
  await holder.release(await holder.acquire('reports.weekly', 'worker-us-2'));
  await operator.pause('deploy.staging', 'freeze for the migration');
  await holder.acquire('channels.sms', 'gateway-3', { ttl_ms: 1_000, status: 'sweep stalled at 1823 of 9000' });
  for (let turn = 0; turn < 4; turn++) {
    const grant = await holder.acquire('fleet.manager', `replica-${'ab'[turn % 2]}`, { ttl_ms: 40_000 });
    await new Promise((resolve) => setTimeout(resolve, 900));
    if (turn < 3) await operator.forceRelease(grant, 'wedged in discovery');
  }
}

test('pictures for the README', async ({ browser }) => {
  const server = await Server.start();
  const operator = await server.operator();
  await night(server, operator);
  const desktop = await browser.newPage({ baseURL: server.url, colorScheme: 'light', viewport: { width: 1280, height: 760 } });
  await signIn(desktop, server);
  await isLive(desktop);
  await expect(desktop.locator('[data-lease="channels.sms"]')).toContainText('apsed');
  await desktop.screenshot({ path: 'pictures/leases.png' });

  const phone = await browser.newPage({
    baseURL: server.url,
    colorScheme: 'dark',
    viewport: { width: 390, height: 844 },
    deviceScaleFactor: 1.5,
    storageState: await desktop.context().storageState(),
  });
  await phone.goto('/leases/fleet.manager/force-release');
  await phone.getByLabel('Why?').fill('Wedged in discovery again: renews, but does nothing');
  await phone.screenshot({ path: 'pictures/force-release.png', fullPage: true });
  await server.stop();
});
