import { expect, expectAccessible, freshLease, handOver, isLive, live, signedOut, test, type Page } from './baton';

test.use({ file: import.meta.filename });

function fact(page: Page, term: string) {
  return page.locator(`[data-fact="${term}"] dd`);
}

async function open(page: Page, lease: string, query = ''): Promise<void> {
  await page.goto(`/leases/${lease}${query}`);
  await isLive(page);
}

test('from the list to the page of a lease, with all its facts', async ({ page, server }) => {
  const more = { principal: 'user:ana', status: { step: 3, of: 12 }, payload: { table: 'orders' }, grace_ms: 5_000 };
  const { lease } = await server.holder.acquire(freshLease('facts'), 'worker-1', more);
  await page.goto(`/?search=${lease}`);
  await page.getByRole('link', { name: lease }).click();
  await expect(page).toHaveURL(`${server.url}/leases/${lease}`);
  await isLive(page);
  await expect(page.locator('h1')).toHaveText(lease);
  await expect(page).toHaveTitle(`${lease} · Baton`);
  await expect(fact(page, 'Holder')).toHaveText('worker-1');
  await expect(fact(page, 'Generation')).toHaveText('1');
  await expect(fact(page, 'Time to live')).toHaveText('1 m, grace 5 s');
  await expect(fact(page, 'Attempt')).toHaveText('0');
  await expect(fact(page, 'On behalf of, it says')).toHaveText('user:ana');
  await expect(fact(page, 'The holder says')).toHaveText('of: 12 · step: 3');
  await expect(fact(page, 'Who may take it')).toContainText('Nobody while its holder renews');
  await page.getByText('Payload', { exact: false }).first().click();
  await expect(page.locator('.payload code')).toHaveText('{"table":"orders"}');
});

test('it counts down, and a takeover shows within a second with its entries', async ({ page, server }) => {
  const operator = await server.operator();
  const first = await server.holder.acquire(freshLease('live'), 'replica-a', { ttl_ms: 30_000 });
  await open(page, first.lease);
  const remaining = page.locator('[data-part="remaining"]');
  const before = await remaining.innerText();
  await expect(remaining).not.toHaveText(before);

  await operator.forceRelease(first, 'wedged in discovery');
  await expect(page.locator('[data-part="state"]')).toHaveText('Free', { timeout: 1_000 });
  await expect(page.locator('.entries tbody tr').first()).toContainText('wedged in discovery');

  const second = await server.holder.acquire(first.lease, 'replica-b');
  await expect(fact(page, 'Holder')).toHaveText('replica-b', { timeout: 1_000 });
  await expect(fact(page, 'Generation')).toHaveText(String(second.generation));
  await expect(page.locator('.entries tbody tr').first()).toContainText('replica-b');
  await expect(page.locator('.entries tbody tr')).toHaveCount(3);
  // The picture has both, the newest first, and a mark.
  await expect(page.locator('.timeline text.lane')).toHaveText(['replica-b', 'replica-a']);
  await expect(page.locator('.timeline .forced')).toHaveCount(1);
});

test('what limits it stands there with reasons, and only incidents of the web are links', async ({ page, server }) => {
  const operator = await server.operator();
  const { lease, generation } = await server.holder.acquire(freshLease('limits'), 'replica-a');
  await open(page, lease);
  await operator.operate(lease, 'step-down', {
    expected_generation: generation,
    reason: 'drain',
    deadline_ms: 600_000,
    incident: 'javascript:window.harmed=1',
  });
  const limits = page.locator('.limits');
  await expect(limits).toContainText('Asked to step down by');
  await expect(limits).toContainText('javascript:window.harmed=1');
  await expect(page.locator('main a[href^="javascript" i]')).toHaveCount(0);
  await operator.operate(lease, 'cancel-step-down', { reason: 'drained' });
  await expect(limits).toBeHidden();

  await operator.operate(lease, 'pause', { reason: 'freeze', incident: 'https://x.example/INC-1' });
  await expect(limits).toContainText('Paused');
  await expect(limits).toContainText('freeze');
  await expect(limits.getByRole('link', { name: 'https://x.example/INC-1' })).toHaveAttribute('rel', /noreferrer/);
  await expect(fact(page, 'Who may take it')).toHaveText('Nobody, until it is resumed.');
});

test('after a forced release it follows the handover', async ({ page, server }) => {
  const operator = await server.operator();
  const first = await server.holder.acquire(freshLease('follow'), 'replica-a');
  await operator.forceRelease(first, 'wedged');
  const seq = (await operator.newest(first.lease)).seq;
  await open(page, first.lease, `?after=${seq}`);
  const followed = page.locator('[data-part="followed"]');
  await expect(followed).toContainText('replica-a was deposed');
  await expect(followed).toContainText('Waiting for the next holder');
  const second = await server.holder.acquire(first.lease, 'replica-b');
  await expect(followed).toContainText(`replica-b has it since`, { timeout: 1_000 });
  await expect(followed).toContainText(`generation ${second.generation}`);
});

test('the picture shows the time that the address asks for', async ({ page, server }) => {
  let grant = await server.holder.acquire(freshLease('zoom'), 'replica-a', { ttl_ms: 1_000 });
  await open(page, grant.lease);
  await expect(page.locator('.timeline .lapse')).toHaveCount(1, { timeout: 5_000 });
  grant = await server.holder.acquire(grant.lease, 'replica-b');
  await expect(page.locator('.timeline .open')).toHaveCount(1);
  const width = () => page.locator('.timeline .open rect').getAttribute('width');
  const before = await width();
  await expect.poll(width, { message: 'the open tenure grows' }).not.toBe(before);

  await page.getByText('The same as a table').click();
  await expect(page.locator('.tenures tbody tr')).toHaveCount(2);
  await expect(page.locator('.tenures tbody tr').nth(1)).toContainText('lapsed, then taken over');

  await page.getByRole('navigation', { name: 'Time shown' }).getByRole('link', { name: '1 h' }).click();
  await expect(page).toHaveURL(/last=1h/);
  await isLive(page);
  await expect(page.locator('.timeline rect')).toHaveCount(2);
  await page.goto(`/leases/${grant.lease}?from=2020-01-01T00:00&to=2020-01-02T00:00`);
  await isLive(page);
  await expect(page.locator('.timeline rect')).toHaveCount(0);
  await expect(page.locator('main')).toContainText('Nothing happened in this time');
});

test('a raised floor ends what was held', async ({ page, server }) => {
  const first = await server.holder.acquire(freshLease('raised'), 'replica-a', { ttl_ms: 600_000 });
  await server.raiseFloor('restored last night’s backup');
  await open(page, first.lease);
  const tenures = page.locator('.tenures tbody tr');
  await page.getByText('The same as a table').click();
  await expect(tenures).toHaveCount(1);
  await expect(tenures.first()).toContainText('ended as every generation was raised');
  await expect(page.locator('.timeline .open')).toHaveCount(0);
  await server.holder.acquire(first.lease, 'replica-b');
  await expect(tenures).toHaveCount(2);
  const rows = page.locator('.entries tbody tr');
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(1)).toContainText('Floor raised');
  await expect(rows.nth(1)).toContainText('all + 2^32');
  // What was heard is what is read.
  await page.reload();
  await isLive(page);
  await page.getByText('The same as a table').click();
  await expect(tenures).toHaveCount(2);
  await expect(tenures.nth(1)).toContainText('ended as every generation was raised');
});

test('a time that cannot be understood is named, and the rest is shown', async ({ page, server }) => {
  const { lease } = await server.holder.acquire(freshLease('misread'), 'replica-a');
  await open(page, lease, '?from=b&to=a');
  const alert = page.getByRole('alert').filter({ hasText: 'cannot be understood' });
  await expect(alert).toContainText('`b` is not a time such as');
  await expect(alert).toContainText('`a` is not a time such as');
  await expect(page.locator('.timeline rect')).toHaveCount(1);
  await expectAccessible(page);
  await page.goto(`/?state=loose&search=${lease}`);
  await expect(page.locator('[data-part="left-out"]')).toContainText('`loose` is none of attention, held, lapsed, free');
  await expect(page.getByRole('link', { name: lease })).toBeVisible();
});

test('hostile text is text here, too', async ({ page, server }) => {
  const operator = await server.operator();
  const text = '</script><script>window.harmed = 1</script><img src=x onerror="window.harmed = 2">\u202e🦊';
  const more = { principal: text, status: { [text]: text }, payload: text };
  const grant = await server.holder.acquire(freshLease('hostile'), text, more);
  await operator.forceRelease(grant, text);
  await server.holder.acquire(grant.lease, '🦊'.repeat(255), more);
  await page.setViewportSize({ width: 320, height: 640 });
  await open(page, grant.lease);
  await expect(page.locator('.entries')).toContainText(text);
  await handOver(server.holder, await server.holder.get(grant.lease), `again ${text}`);
  await expect(fact(page, 'Holder')).toContainText('again');
  await expect(page.locator('main script, main img')).toHaveCount(0);
  expect(await page.evaluate(() => 'harmed' in window)).toBe(false);
  const overflow_px = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(overflow_px).toBeLessThanOrEqual(0);
});

test('a name that turns the direction of writing turns only itself', async ({ page, server }) => {
  const operator = await server.operator();
  const { lease, generation } = await server.holder.acquire(freshLease('turned'), 'replica-a');
  const name = '\u202eabc';
  await operator.operate(lease, 'force-release', {
    expected_generation: generation,
    reason: 'wedged',
    successor: name,
    reserve_ms: 600_000,
  });
  await open(page, lease);
  for (const sentence of [page.locator('.limits li p').first(), fact(page, 'Who may take it')]) {
    await expect(sentence).toContainText(`${name} until`);
    const places = await sentence.evaluate((element, word) => {
      const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      while (nodes.nextNode()) {
        const at = nodes.currentNode.textContent!.indexOf(word);
        if (at < 0) continue;
        return [...word].map((_, i) => {
          const letter = document.createRange();
          letter.setStart(nodes.currentNode, at + i);
          letter.setEnd(nodes.currentNode, at + i + 1);
          return letter.getBoundingClientRect().left;
        });
      }
      throw new Error(`no ${word}`);
    }, 'until');
    expect(places).toEqual([...places].sort((a, b) => a - b));
  }
});

test.describe('a lease that there is not', () => {
  test.use({ tolerated: [/Failed to load resource.*404/] });

  test('is a page of its own that keeps the name', async ({ page }) => {
    const answer = await page.goto('/leases/no.such-lease');
    expect(answer!.status()).toBe(404);
    await expect(page.locator('h1')).toHaveText('No lease is called no.such-lease');
    await expect(page.getByRole('link', { name: 'Search for it' })).toHaveAttribute('href', '/?search=no.such-lease');
    await expectAccessible(page);
    expect((await page.goto('/leases/%3Cb%3E'))!.status()).toBe(404);
    await expect(page.locator('h1')).toContainText('<b>');
  });
});

test.describe('signed out', () => {
  test.use(signedOut);

  test('it leads to the sign-in page, and says nothing', async ({ page, server }) => {
    const { lease } = await server.holder.acquire(freshLease('secret'), 'worker-1');
    await page.goto(`/leases/${lease}`);
    await expect(page).toHaveURL(new RegExp(`/sign-in\\?next=%2Fleases%2F${lease}`));
  });
});

test.describe('cut off', () => {
  test.use({ tolerated: [/ERR_(CONNECTION_(REFUSED|RESET|CLOSED)|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)|Failed to fetch/] });

  test('it says so, and misses nothing', async ({ page, server }) => {
    const grant = await server.holder.acquire(freshLease('cut'), 'replica-a', { ttl_ms: 600_000 });
    await open(page, grant.lease);
    await server.kill();
    await expect(page.getByRole('alert')).toBeVisible();
    await expect(live(page)).not.toHaveText(/Live/);
    await server.start();
    await handOver(server.holder, grant, 'replica-b');
    await expect(page.getByRole('alert')).toBeHidden({ timeout: 20_000 });
    await expect(fact(page, 'Holder')).toHaveText('replica-b');
    await expect(page.locator('.entries tbody tr')).toHaveCount(3);
  });
});

for (const without of ['JavaScript', 'WebAssembly'] as const) {
  test.describe(`without ${without}`, () => {
    test.use(without === 'JavaScript' ? { javaScriptEnabled: false } : { tolerated: [/\.wasm|Failed to (load|fetch)|ERR_FAILED/] });

    test('it is whole', async ({ page, server }) => {
      if (without === 'WebAssembly') await page.route(/\.wasm/, (route) => route.abort());
      const { lease } = await handOver(server.holder, await server.holder.acquire(freshLease('plain'), 'replica-a'), 'replica-b');
      await page.goto(`/leases/${lease}`);
      await expect(fact(page, 'Holder')).toHaveText('replica-b');
      await expect(page.locator('.timeline text.lane')).toHaveText(['replica-b', 'replica-a']);
      await expect(page.locator('.entries tbody tr')).toHaveCount(3);
    });
  });
}
