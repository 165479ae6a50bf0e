import { execFileSync } from 'node:child_process';
import { defineConfig } from '@playwright/test';

// The system's Chromium: Playwright is never to download one of its own.
function chromium(): string {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const found = execFileSync('sh', ['-c', `${names.map((name) => `command -v ${name}`).join(' || ')}; true`]);
  const path = found.toString().trim();
  if (!path) throw new Error(`none of ${names.join(', ')} is installed: run 'make tools'`);
  return path;
}

export default defineConfig({
  testDir: '.',
  testMatch: process.env.BATON_BENCH ? '*.bench.ts' : '*.spec.ts',
  testIgnore: process.env.BATON_SCREENSHOTS ? [] : ['pictures.spec.ts', 'screenshots.spec.ts'],
  // One at a time: some tests assert that a change shows within a second, and
  // should not fail because their neighbours keep both cores busy.
  workers: 1,
  retries: 0,
  forbidOnly: !!process.env.CI,
  timeout: 45_000,
  expect: { timeout: 10_000 },
  reporter: 'list',
  use: {
    // A recording takes pictures of the page, and time from what is measured.
    trace: process.env.BATON_BENCH ? 'off' : 'retain-on-failure',
    launchOptions: {
      executablePath: chromium(),
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
});
