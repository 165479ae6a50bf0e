import { expect, freshLease, handOver, isLive, live, openLive, part, test } from './baton';

test.use({ file: import.meta.filename });

// What Chromium reports of a server that is gone.
test.use({ tolerated: [/ERR_(CONNECTION_(REFUSED|RESET|CLOSED)|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)|Failed to fetch/] });

test('says when it is cut off, and comes back by itself', async ({ page, server }) => {
  const grant = await server.holder.acquire(freshLease('cut'), 'replica-a', { ttl_ms: 600_000 });
  await openLive(page);
  await expect(page.getByRole('alert')).toBeHidden();

  await server.kill();
  await expect(page.getByRole('alert')).toBeVisible();
  await expect(live(page), 'what is shown is not live').not.toHaveText(/Live/);
  await expect(part(page, grant.lease, 'holder'), 'what was known stays readable').toContainText('replica-a');

  await server.start();
  const second = await handOver(server.holder, grant, 'replica-b');
  await expect(page.getByRole('alert')).toBeHidden({ timeout: 20_000 });
  await isLive(page);
  await expect(part(page, grant.lease, 'holder')).toContainText('replica-b');
  await expect(part(page, grant.lease, 'generation')).toHaveText(String(second.generation));
});
