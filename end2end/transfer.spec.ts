import { expect, freshLease, isLive, test } from './baton';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

test.use({ file: import.meta.filename });

// What a first visit may cost, whatever it was before.
const BUDGET = 300_000;

// What it cost when somebody last looked: a change that makes it grow by more
// than a twentieth has to say so, by writing the new number there.
const RECORDED = join(import.meta.dirname, 'transfer.txt');

test('a first visit fits the budget, and grows by no more than a twentieth unnoticed', async ({ page, server }) => {
  for (let count = 0; count < 20; count++) await server.holder.acquire(freshLease('transfer'), `worker-${count}`);
  const client = await page.context().newCDPSession(page);
  await client.send('Network.enable');
  const urls = new Map<string, string>();
  const bytes = new Map<string, number>();
  const encodings = new Map<string, string>();
  client.on('Network.responseReceived', ({ requestId, response }) => {
    urls.set(requestId, new URL(response.url).pathname);
    encodings.set(new URL(response.url).pathname, response.headers['content-encoding'] ?? response.headers['Content-Encoding'] ?? 'none');
  });
  client.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const path = urls.get(requestId);
    if (path) bytes.set(path, encodedDataLength);
  });

  await page.goto('/');
  await isLive(page);
  await expect.poll(() => bytes.has('/pkg/baton_bg.wasm')).toBe(true);

  const parts = [...bytes].map(([path, count]) => `${path} ${count} (${encodings.get(path)})`);
  const sum = [...bytes.values()].reduce((sum, count) => sum + count, 0);
  console.log(`a first visit transfers ${sum} bytes: ${parts.join(', ')}`);
  for (const path of ['/', '/pkg/baton.css', '/pkg/baton.js', '/pkg/baton_bg.wasm']) {
    expect(encodings.get(path), path).toBe('br');
  }
  const recorded = Number(readFileSync(RECORDED, 'utf8'));
  expect(recorded).toBeGreaterThan(0);
  expect(sum, `${RECORDED} says ${recorded}: write ${sum} there if that growth is worth it`).toBeLessThanOrEqual(recorded * 1.05);
  expect(sum, parts.join(', ')).toBeLessThanOrEqual(BUDGET);
});
