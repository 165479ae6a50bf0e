// People who are signed in: each has a browser context of its own.

import { randomBytes } from 'node:crypto';
import type { Browser, BrowserContextOptions, Page } from '@playwright/test';
import { expect } from './baton';
import type { Server } from './server';

/** A page on which a new user of this role is signed in. */
export async function signedInAs(browser: Browser, server: Server, role: string, options: BrowserContextOptions = {}): Promise<Page> {
  const name = `${role}-${randomBytes(4).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  await server.user(name, role, password);
  const context = await browser.newContext({ baseURL: server.url, ...options });
  const page = await context.newPage();
  await page.goto('/sign-in');
  await page.locator('input[name=name]').fill(name);
  await page.locator('input[name=password]').fill(password);
  await page.locator('form[action="/sign-in"] button[type=submit]').click();
  await expect(page).toHaveURL(`${server.url}/`);
  return page;
}
