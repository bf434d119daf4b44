import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { query } from '../../src/db/database.ts';
import { signInLink } from '../../src/server/sign-in.ts';
import { launchBrowser } from '../browser.ts';
import { adminToken, fill, migrated, openReceiver, settingsFor, type TestReceiver } from '../ops/receiver.ts';
import { databaseForTest } from '../stores/databases.ts';
import { conditionTimeoutMs } from '../timeouts.ts';

const databaseUrl = await databaseForTest(migrated);

describe('the page in a browser', () => {
  let world: TestReceiver;
  let browser: Browser;

  beforeAll(async () => {
    world = await openReceiver(settingsFor(databaseUrl));
    await fill(world.context.database.db);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await world[Symbol.asyncDispose]();
  });

  async function open(
    width: number,
    options: { javaScriptEnabled?: boolean } = {},
  ): Promise<{ page: Page; said: string[] }> {
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      ...options,
    });
    const page = await context.newPage();
    const said: string[] = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(error.message));
    await page.goto(signInLink(world.receiver.url, adminToken));
    return { page, said };
  }

  test.each([1280, 360])('fits a window of %i pixels, and no policy stops what it needs', async (width) => {
    const { page, said } = await open(width);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    expect(await page.locator('.stream').count()).toBe(6);
    expect(await page.evaluate('getComputedStyle(document.querySelector(".streams")).display')).toBe('grid');
    expect(said).toEqual([]);
    await page.context().close();
  });

  test('shows what is new by itself, keeping its place and its frame', async () => {
    const { page, said } = await open(1280);
    await page.evaluate('document.querySelector("header").dataset.kept = "yes"; scrollTo(0, 200)');
    const before = await page.title();
    const { db } = world.context.database;
    await query(db, `update ops.sync_targets set clean_version = dirty_version where kind = 'call'`, []);
    await query(db, 'delete from ops.streams', []);
    const after = '1 read of texts failed.';
    await expect.poll(() => page.title()).toBe(`${after} · Trunkline`);
    expect(before).toContain('Transcripts are not read');
    expect(await page.locator('h1').textContent()).toBe(after);
    expect(await page.evaluate('[document.querySelector("header").dataset.kept, scrollY]')).toEqual(['yes', 200]);
    expect(said).toEqual([]);
    await page.context().close();
  });

  test('asks for itself without JavaScript too', async () => {
    const { page } = await open(1280, { javaScriptEnabled: false });
    expect(await page.locator('noscript meta[http-equiv=refresh]').count()).toBe(1);
    await page.waitForEvent('framenavigated', { timeout: conditionTimeoutMs });
    await page.context().close();
  });
});
