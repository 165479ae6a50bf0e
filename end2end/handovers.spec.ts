import { expect, freshLease, handOver, isLive, signedOut, test } from './baton';

test.use({ file: import.meta.filename });

const rows = '.entries tbody tr';

test('the history, newest first, with what the filter asks for', async ({ page, server }) => {
  const operator = await server.operator();
  const first = await server.holder.acquire(freshLease('history'), 'replica-a');
  await operator.operate(first.lease, 'force-release', {
    expected_generation: first.generation,
    reason: 'wedged <b>hard</b>',
    incident: 'https://x.example/INC-7',
  });
  await server.holder.acquire(first.lease, 'replica-b');

  await page.goto('/');
  await page.getByRole('link', { name: 'Handovers' }).first().click();
  await isLive(page);
  await expect(page.locator(rows).nth(0)).toContainText('replica-b');
  await expect(page.locator(rows).nth(1)).toContainText('wedged <b>hard</b>');
  await expect(page.locator(rows).nth(1).getByRole('link', { name: 'INC-7' })).toHaveAttribute('href', 'https://x.example/INC-7');

  await page.getByText('Filter', { exact: true }).click();
  await page.locator('input[name=lease]').fill(first.lease);
  await page.locator('select[name=event]').selectOption('forced');
  await page.locator('.filter button[type=submit]').click();
  await expect(page).toHaveURL(/lease=history.*event=forced/);
  await expect(page.locator(rows)).toHaveCount(1);
  // The server verifies the chain as it grows.
  await expect(async () => {
    await page.reload();
    await expect(page.locator('.verified')).toContainText('verified up to entry');
  }).toPass();
  const report = await page.getByRole('link', { name: 'Report' }).getAttribute('href');
  expect(await (await page.request.get(report!)).text()).toContain('## Timeline');
  const csv = await page.getByRole('link', { name: 'CSV' }).getAttribute('href');
  expect(csv).toBe(`/api/v1/handovers/export?format=csv&lease=${first.lease}&event=forced`);
  expect((await page.request.get(csv!)).status()).toBe(200);

  await page.locator(`${rows} td.when a`).click();
  await expect(page.locator('h1')).toContainText('Entry');
  await expect(page.locator('.log-entry')).toContainText('wedged <b>hard</b>');
  await expect(page.locator('.log-entry')).toContainText(/[0-9a-f]{64}/);
  await page.getByRole('link', { name: 'The entry after' }).click();
  await expect(page.locator('.log-entry')).toContainText('replica-b');
});

test('new entries are announced and not pushed', async ({ page, server }) => {
  const { lease } = await server.holder.acquire(freshLease('news'), 'replica-a');
  await page.goto(`/handovers?lease=${lease}`);
  await isLive(page);
  await expect(page.locator('.news a')).toBeHidden();
  await server.holder.acquire(freshLease('other'), 'replica-a');
  await handOver(server.holder, await server.holder.get(lease), 'replica-b');
  await expect(page.locator('.news a')).toHaveText('2 new — show');
  await expect(page).toHaveTitle('2 new: Handovers · Baton');
  await expect(page.locator(rows)).toHaveCount(1);
  await page.locator('.news a').click();
  await expect(page.locator(rows)).toHaveCount(3);
});

test('older entries are on pages of their own', async ({ page, server }) => {
  let grant = await server.holder.acquire(freshLease('pages'), 'worker-0');
  for (let turn = 1; turn <= 60; turn++) grant = await handOver(server.holder, grant, `worker-${turn}`);
  await page.goto(`/handovers?lease=${grant.lease}`);
  await expect(page.locator(rows)).toHaveCount(100);
  await page.getByRole('link', { name: 'Older' }).click();
  await expect(page.locator(rows)).toHaveCount(21);
  await expect(page.locator(rows).last()).toContainText('worker-0');
  await expect(page.getByRole('link', { name: 'Older' })).toHaveCount(0);
  await page.getByRole('link', { name: 'Newest' }).click();
  await expect(page.locator(rows).first()).toContainText('worker-60');
});

test.describe('what cannot be', () => {
  test.use({ tolerated: [/Failed to load resource.*(404|422)/] });

  test('is said, and what was typed stays', async ({ page, server }) => {
    const answer = await page.goto('/handovers?lease=a%20b&actor=ana&holder=x');
    expect(answer!.status()).toBe(422);
    await expect(page.getByRole('alert')).toContainText('a lease name is made of');
    await expect(page.getByRole('alert')).toContainText('user:NAME');
    await expect(page.locator('input[name=lease]')).toHaveValue('a b');
    await expect(page.locator('input[name=holder]')).toHaveValue('x');
    await expect(page.locator('main')).toContainText('Nothing matches');
    // What is understood selects the rest, and what is new is counted.
    await server.holder.acquire(freshLease('understood'), 'worker-understood');
    await page.goto('/handovers?from=nonsense&holder=worker-understood');
    await expect(page.getByRole('alert')).toContainText('From (UTC): `nonsense` is not a time such as');
    await expect(page.locator('.entries tbody tr')).toHaveCount(1);
    await isLive(page);
    await server.holder.acquire(freshLease('understood'), 'worker-understood');
    await page.getByRole('link', { name: '1 new' }).click();
    await expect(page.locator('.entries tbody tr')).toHaveCount(2);
    await expect(page.getByRole('alert')).toHaveCount(0);
    expect((await page.goto('/handovers/999999999'))!.status()).toBe(404);
    await expect(page.locator('h1')).toContainText('There is no entry 999999999');
    expect((await page.goto('/handovers/x'))!.status()).toBe(404);
  });
});

test('nothing that matches is not an error', async ({ page }) => {
  await page.goto('/handovers?holder=nobody-ever');
  await expect(page.locator('main')).toContainText('Nothing matches');
});

test.describe('signed out', () => {
  test.use(signedOut);

  test('it leads to the sign-in page', async ({ page }) => {
    await page.goto('/handovers?event=forced');
    await expect(page).toHaveURL(/\/sign-in\?next=%2Fhandovers%3Fevent%3Dforced/);
    await page.goto('/handovers/1');
    await expect(page).toHaveURL(/\/sign-in\?next=%2Fhandovers%2F1/);
  });
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('it is whole', async ({ page, server }) => {
    const { lease } = await server.holder.acquire(freshLease('plain'), 'replica-a');
    await page.goto('/handovers');
    await page.getByText('Filter', { exact: true }).click();
    await page.locator('input[name=lease]').fill(lease);
    await page.locator('.filter button[type=submit]').click();
    await expect(page.locator(rows)).toHaveCount(1);
  });
});
