// How the dashboard does under load, made by `make bench-dashboard`. It prints
// figures and asserts only what must hold on any machine.

import { request, Agent } from 'node:http';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, isLive, signIn, test } from './baton';
import { Server } from './server';

const SIZES = (process.env.BATON_BENCH_LEASES ?? '10000,100000').split(',').map(Number);
const VIEWERS = Number(process.env.BATON_BENCH_VIEWERS ?? 1_000);
const FILTERS = 10;
const WATCH_S = 10;
const TTL_MS = 60_000;

/** Also one whose test failed must not take a processor from the next. */
let running: Server | undefined;
test.afterEach(async () => running?.stop());

type Held = { lease: string; holder: string; generation: number };

/** Acquires so many leases, some at a time; what is held is in `held` at once. */
async function acquire(server: Server, count: number, held: Held[]): Promise<void> {
  let next = 0;
  const one = async () => {
    while (next < count) {
      const number = next++;
      const lease = `team-${number % 97}.job-${number}`;
      held.push(await server.holder.acquire(lease, `host-${number % 1000}.example / ${number}`, { ttl_ms: TTL_MS, status: `step ${number % 12} of 12` }));
    }
  };
  await Promise.all(Array.from({ length: 64 }, one));
}

/** Renews each of them every so often, in calls of so many, until stopped. None
 * lapses, or what is measured is another thing. */
function renewing(server: Server, held: Held[], every_ms: number, batch: number): { stop: () => Promise<void>; renewed: () => number } {
  let on = true;
  let renewed = 0;
  const loop = (async () => {
    while (on) {
      const began = performance.now();
      for (let from = 0; from < held.length && on; from += batch) {
        const renewals = held.slice(from, from + batch).map(({ lease, holder, generation }) => ({ lease, holder, generation }));
        await server.holder.call('POST', 'renewals', { renewals });
        renewed += renewals.length;
        // Evenly over the time, as many processes would.
        await sleep(Math.max(0, began + every_ms * Math.min(1, (from + batch) / held.length) - performance.now()));
      }
      if (held.length === 0) await sleep(10);
    }
  })();
  return {
    stop: async () => {
      on = false;
      await loop;
    },
    renewed: () => renewed,
  };
}

/** Waits until the server has verified the log that acquiring has written, as it
 * has where leases have been held for a while. */
async function verified(server: Server): Promise<void> {
  const left = async () => {
    const said = await server.holder.call<{ head_seq: number; verified_seq: number }>('GET', 'verification');
    return said.head_seq - said.verified_seq;
  };
  await expect.poll(left, { timeout: 600_000 }).toBe(0);
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function say(what: string, value: number, unit: string, goal = ''): void {
  console.log(`  ${what.padEnd(58)} ${value.toFixed(value < 10 ? 1 : 0).padStart(9)} ${unit}${goal && `   (goal: ${goal})`}`);
}

for (const size of SIZES) {
  test(`the page of ${size} leases`, async ({ browser }) => {
    test.setTimeout(900_000);
    const server = (running = await Server.start());
    const held: Held[] = [];
    const few = size <= 10_000;
    const renewals = renewing(server, held, few ? 3_000 : TTL_MS / 3, few ? 100 : 1_000);
    await acquire(server, size, held);
    await verified(server);
    const [began, before] = [performance.now(), renewals.renewed()];
    const page = await browser.newPage({ baseURL: server.url });
    await signIn(page, server);
    await isLive(page);
    console.log(`${size} leases, renewed ${few ? 'every 3 s' : 'in batches, every third of their ttl'}:`);

    const paints: number[] = [];
    for (let visit = 0; visit < 9; visit++) {
      await page.goto('/');
      await isLive(page);
      const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
      expect(paint).toBeGreaterThan(0);
      paints.push(paint!);
    }
    say('first paint of /, median of 9', median(paints), 'ms', '300');
    const rows = await page.locator('tr').count();
    say('rows in the document', rows, '', 'under 500');
    expect(rows).toBeLessThan(500);

    const client = await page.context().newCDPSession(page);
    await client.send('Network.enable');
    let streams = new Set<string>();
    let bytes = 0;
    client.on('Network.requestWillBeSent', ({ requestId, request: { url } }) => {
      if (url.includes('/api/v1/events')) streams.add(requestId);
    });
    client.on('Network.dataReceived', ({ requestId, encodedDataLength, dataLength }) => {
      if (streams.has(requestId)) bytes += encodedDataLength || dataLength;
    });
    await page.goto('/');
    await isLive(page);
    bytes = 0;
    await sleep(WATCH_S * 1_000);
    say('stream, per viewer and second', bytes / WATCH_S / 1_000, 'kB', 'under 50');

    for (const [what, query] of [
      ['all', ''],
      ['a search that finds few', '?search=job-4711'],
      ['a search that finds nothing', '?search=nothing-like-it'],
      ['held, expires next', '?state=held&sort=expires'],
      ['lapsed', '?state=lapsed'],
      ['changed hands last', '?sort=changed'],
    ]) {
      const took: number[] = [];
      for (let turn = 0; turn < 9; turn++) {
        const sent = performance.now();
        const answer = await page.request.get(`/${query}`, { headers: { accept: 'text/html' } });
        expect(answer.status()).toBe(200);
        await answer.body();
        took.push(performance.now() - sent);
      }
      say(`answer to a filter: ${what}`, median(took), 'ms', 'under 100');
    }
    say('renewals meanwhile', (renewals.renewed() - before) / ((performance.now() - began) / 1_000), 'per s');
    expect(await page.locator('main').innerText()).toMatch(/\b0\s+lapsed/);
    await renewals.stop();
    await page.close();
  });
}

/** Opens streams, so many for each filter. */
async function watch(server: Server, token: string, each: number): Promise<() => void> {
  const agent = new Agent({ keepAlive: false, maxSockets: Infinity });
  const open: (() => void)[] = [];
  for (let filter = 0; filter < FILTERS; filter++) {
    await Promise.all(
      Array.from({ length: each }, () => {
        return new Promise<void>((resolve, reject) => {
          const url = `${server.url}/api/v1/events?prefix=team-${filter}.&sort=attention&limit=100`;
          const asked = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (answer) => {
            answer.once('data', () => resolve());
            answer.resume();
            answer.on('error', () => {}); // it is cut off at the end
          });
          asked.on('error', reject);
          open.push(() => asked.removeAllListeners('error').on('error', () => {}).destroy());
          asked.end();
        });
      }),
    );
  }
  return () => open.forEach((close) => close());
}

function memory_kB(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)![1]);
}

test(`${VIEWERS} viewers on ${FILTERS} filters`, async () => {
  test.setTimeout(900_000);
  // Each statement is one line of the log.
  process.env.BATON_LOG = 'warn,sqlx::query=debug';
  const server = (running = await Server.start());
  delete process.env.BATON_LOG;
  const held: Held[] = [];
  const renewals = renewing(server, held, 3_000, 100);
  await acquire(server, SIZES[0], held);
  await verified(server);
  const token = await server.token('viewer');
  await sleep(1_500); // until the server knows the token
  const reads: number[] = [];
  const memory: number[] = [];
  for (const each of [1, Math.ceil(VIEWERS / FILTERS)]) {
    const close = await watch(server, token, each);
    await sleep(2_000);
    const before = server.lines(/summary="select /);
    await sleep(WATCH_S * 1_000);
    reads.push((server.lines(/summary="select /) - before) / WATCH_S);
    memory.push(memory_kB(server.pid));
    close();
    await sleep(1_000);
  }
  await renewals.stop();
  console.log(`${held.length} leases, renewed every 3 s, in one case with one viewer for each of ${FILTERS} filters:`);
  say('database reads per second, one viewer a filter', reads[0], '');
  say(`database reads per second, ${VIEWERS} viewers`, reads[1], '', 'the same');
  say('server memory for each further viewer', (memory[1] - memory[0]) / (VIEWERS - FILTERS), 'kB');
  expect(reads[1]).toBeLessThan(reads[0] * 1.5 + 5);
});
