import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { applyRules } from '../../src/rules/versions.ts';
import { signInLink } from '../../src/server/auth.ts';
import { launchBrowser } from '../browser.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { createRulesWorld } from '../rules/rules-world.ts';
import { conditionTimeoutMs } from '../timeouts.ts';
import { until, adminToken as worldToken } from '../world.ts';
import { adminToken, fill, openReceiver, settingsFor } from './receiver.ts';
import { dayOf, fourWeeks, listPaths, recordPaths, rulesSaying, strangersWrote } from './seed.ts';

/* All that only a browser tells: widths, scripts, focus, and forms without JavaScript. */

const facts = await factsDatabase();
await fill(facts.db);
await strangersWrote(facts.db);
await fourWeeks(facts);
const world = await openReceiver(settingsFor(facts.url));
const browser = await launchBrowser();
afterAll(async () => {
  await browser.close();
  await world[Symbol.asyncDispose]();
  await facts[Symbol.asyncDispose]();
});

/** A page of somebody who has signed in, and what the console of the browser was told. */
async function open(path: string, options: BrowserContextOptions & { width?: number } = {}) {
  const { width = 1280, ...others } = options;
  const context = await browser.newContext({ viewport: { width, height: 900 }, ...others });
  onTestFinished(() => context.close());
  const tab = await context.newPage();
  const said: string[] = [];
  tab.on('console', (message) => said.push(message.text()));
  tab.on('pageerror', (error) => said.push(error.message));
  await tab.goto(signInLink(world.receiver.url, adminToken));
  await tab.goto(`${world.receiver.url}${path}`);
  return { tab, said };
}
const widthOf = (tab: Page) => tab.evaluate('document.documentElement.scrollWidth');

describe('the page of the status', () => {
  test.each([1280, 360])('fits a window of %i pixels, and no policy stops what it needs', async (width) => {
    const { tab, said } = await open('/', { width });
    expect(await widthOf(tab)).toBe(width);
    expect(await tab.locator('.kinds .card').count()).toBe(6);
    expect(await tab.evaluate('getComputedStyle(document.querySelector(".kinds")).display')).toBe('grid');
    expect(said).toEqual([]);
  });

  test('shows what is new by itself, keeping its place and its frame', async () => {
    const { tab, said } = await open('/');
    await tab.evaluate('document.querySelector("header").dataset.kept = "yes"; scrollTo(0, 200)');
    const before = await tab.title();
    expect(before).toContain('Transcripts aren’t read');
    await facts.query('delete from ops.parked_kinds');
    await expect.poll(() => tab.title()).not.toBe(before);
    expect(await tab.locator('h1').textContent()).not.toContain('Transcripts aren’t read');
    expect(await tab.evaluate('[document.querySelector("header").dataset.kept, scrollY]')).toEqual(['yes', 200]);
    expect(said).toEqual([]);
  });

  test('shows by itself what changed', async () => {
    const { tab } = await open('/');
    await facts.query(`update ops.send_control set is_paused = true, pause_reason = 'for a test'`);
    await expect.poll(() => tab.getByText('for a test').count()).toBeGreaterThan(0);
    await facts.query('update ops.send_control set is_paused = false, pause_reason = null');
  });

  test('asks for itself without JavaScript too', async () => {
    const { tab } = await open('/', { javaScriptEnabled: false });
    expect(await tab.locator('noscript meta[http-equiv=refresh]').count()).toBe(1);
    await tab.waitForEvent('framenavigated', { timeout: conditionTimeoutMs });
  });
});

test('a sign-in link leads to the page, with no code in its address, and an unknown address to a way back', async () => {
  const tab = await browser.newPage();
  onTestFinished(() => tab.close());
  await tab.goto(signInLink(world.receiver.url, adminToken));
  expect(tab.url()).toBe(`${world.receiver.url}/`);
  expect(await tab.evaluate('document.cookie + document.referrer')).toBe('');
  const lost = await tab.goto(`${world.receiver.url}/nothing-here`);
  expect(lost?.status()).toBe(404);
  expect(await tab.locator('main').textContent()).toContain('There is no page at this address.');
  await tab.getByText('Status').click();
  expect(tab.url()).toBe(`${world.receiver.url}/`);
});

describe('lists and records', () => {
  test.each([1280, 390])('all fit a window of %i pixels, and no policy stops them', async (width) => {
    const { tab, said } = await open('/', { width, colorScheme: width < 500 ? 'dark' : 'light' });
    for (const path of [...listPaths, ...recordPaths]) {
      await tab.goto(`${world.receiver.url}${path}`);
      expect(await widthOf(tab), path).toBe(width);
      // A telephone shows rows as cards, which nobody scrolls sideways.
      const beyond =
        "[...document.querySelectorAll('.rows')].filter((each) => each.scrollWidth > each.clientWidth).length";
      if (width < 500) expect(await tab.evaluate(beyond), path).toBe(0);
      expect(await tab.locator('h1').count(), path).toBe(1);
    }
    expect(said).toEqual([]);
  });

  test('a question opens and closes by the keyboard', async () => {
    const { tab } = await open('/sends');
    const question = tab.locator('details.ask').first();
    await tab.locator('details.ask summary').first().focus();
    await tab.keyboard.press('Enter');
    expect(await question.getAttribute('open')).not.toBeNull();
    await tab.keyboard.press('Enter');
    expect(await question.getAttribute('open')).toBeNull();
  });

  test('an action asks, acts and says so', async () => {
    const { tab } = await open('/sends', { width: 390 });
    await tab.locator('details.ask summary').first().click();
    await tab.getByLabel('Your name').first().fill('Lea');
    await tab.getByRole('button', { name: 'Pause all texts' }).click();
    await tab.waitForURL(/done=sends/);
    expect(await tab.getByRole('status').filter({ hasText: 'All texts are paused.' }).count()).toBe(1);
    await facts.query('update ops.send_control set is_paused = false, pause_reason = null');
  });
});

test('on a telephone three taps lead from a number to why no rule answered', async () => {
  const { tab } = await open('/', { width: 390, hasTouch: true, isMobile: true });
  const number = (
    await facts.query(`select min(number) as number from warehouse.sms_messages where body like '%lamp%'`)
  )[0]?.number;
  await tab.getByRole('searchbox').tap();
  // A part of it, so that there is something to choose.
  await tab.keyboard.type(String(number).slice(0, 8));
  await tab.keyboard.press('Enter');
  await tab.getByRole('link', { name: String(number) }).tap();
  expect(await tab.locator('h1').innerText()).toContain(`Texts with ${number}`);
  await tab.getByRole('link', { name: 'why' }).first().tap();
  expect(await tab.locator('h1').innerText()).toMatch(/^No rule/);
  expect(await tab.locator('main').innerText()).toContain('Where is my lamp?');
  expect(await widthOf(tab)).toBe(390);
});

describe('the reports', () => {
  const paths = ['/reports?days=30', '/reports/calls', '/reports/busiest-hours', '/reports/calls-one-by-one'];

  test.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('fit a window of %i pixels without JavaScript, and no policy stops them', async (width, colorScheme) => {
    const { tab, said } = await open('/', { width, colorScheme, javaScriptEnabled: false });
    for (const path of paths) {
      await tab.goto(`${world.receiver.url}${path}`);
      expect(await widthOf(tab), path).toBe(width);
      for (const picture of await tab.locator('main svg:visible').all()) {
        expect((await picture.boundingBox())?.width, path).toBeGreaterThan(width / 5);
      }
    }
    expect(said).toEqual([]);
  });

  test('lead from a bar to the calls of its day, and the URL holds the whole choice', async () => {
    const { tab } = await open('/reports/calls?days=30', { javaScriptEnabled: false });
    await tab.getByLabel('From', { exact: true }).fill(dayOf(20));
    await tab.getByLabel('To', { exact: true }).fill(dayOf(2));
    await tab.getByLabel('Number', { exact: true }).selectOption('15559990001');
    await Promise.all([tab.waitForURL(/from=/), tab.getByRole('button', { name: 'Show' }).click()]);
    const choice = { from: dayOf(20), to: dayOf(2), number: '15559990001' };
    expect(Object.fromEntries(new URL(tab.url()).searchParams)).toMatchObject(choice);
    await tab.locator('.wide svg a:visible').first().click();
    await tab.waitForURL(/calls-one-by-one/);
    const { searchParams } = new URL(tab.url());
    expect(searchParams.get('number')).toBe('15559990001');
    expect(searchParams.get('to')).toBe(searchParams.get('from'));
  });
});

describe('a support lead changes the rules on a page', async () => {
  const line = '16465550100';
  const world = await createRulesWorld(rulesSaying('Words of the file'), 'live', 'postgres');
  const { sandbox, value, receiver, context } = world;
  afterAll(() => world.close());
  const inForce = () => value(`select max(version) from ops.rule_versions`);
  const textInForce = () => value('select body from ops.rule_versions order by version desc limit 1');
  let written = 0;
  async function replyToHello(): Promise<unknown> {
    written += 1;
    const number = String(12125558000 + written);
    await sandbox.emit.sms({ line, number, text: 'hello' });
    const settled = 'select body from ops.sends where number = $1 and settled_at is not null';
    await until(async () => (await value(settled, number)) !== undefined);
    return value(settled, number);
  }
  async function openRules(width: number, path: string): Promise<Page> {
    const tab = await browser.newPage({ viewport: { width, height: 900 }, javaScriptEnabled: width > 400 });
    onTestFinished(() => tab.close());
    await tab.goto(signInLink(receiver.url, worldToken));
    await tab.goto(`${receiver.url}${path}`);
    return tab;
  }
  const press = (tab: Page, name: string) => tab.getByRole('button', { name, exact: true }).click();
  const main = (tab: Page) => tab.locator('main').innerText();

  test('they are edited, checked, mended, simulated, applied and rolled back, without JavaScript', async () => {
    const words = 'Words of the lead';
    const before = await textInForce();
    await replyToHello();
    const tab = await openRules(390, '/rules');
    const fits = async () => expect(await widthOf(tab)).toBe(390);
    await tab.getByRole('link', { name: 'Edit the rules' }).click();
    const text = tab.getByLabel('The rules, as YAML');
    expect(await text.inputValue()).toBe(before);
    await fits();

    await text.fill(rulesSaying(words).replace('message.plain', 'message.plan'));
    await press(tab, 'Check');
    expect(await main(tab)).toMatch(/1 error, so this cannot be applied\s+Line 5\s+if: message\.plan/);
    expect(await text.inputValue()).toContain('message.plan.');
    await fits();

    await text.fill(rulesSaying(words));
    await press(tab, 'Check');
    expect(await main(tab)).toContain('These rules can be used: 1 rule.');
    await press(tab, 'Simulate');
    expect(tab.url()).toContain('#outcome');
    const row = await tab.locator('.rows tr', { hasText: 'hello' }).innerText();
    expect(row).toMatch(/hello\s+on message_received, tried \d+ times?\s+(\d+)\s+\1\s+\$\d/);
    await fits();
    await press(tab, 'Difference');
    expect(await tab.locator('.added').innerText()).toMatch(new RegExp(`\\+\\s+do: .*${words}`));
    await fits();

    await tab.getByLabel('Your name').fill('Cleo');
    await tab.getByLabel('Why').fill('friendlier');
    await press(tab, 'Apply');
    expect(await main(tab)).toMatch(/These rules are in force.*by Cleo: friendlier/s);
    expect(await replyToHello()).toBe(words);

    await tab.getByRole('link', { name: 'Versions', exact: true }).click();
    expect(await tab.locator('tbody tr').first().innerText()).toMatch(/in force\s+Cleo\s+1\s+friendlier/);
    await fits();
    await tab.getByRole('link', { name: String(Number(await inForce()) - 1), exact: true }).click();
    expect(await tab.locator('main pre').innerText()).toBe(before);
    await tab.getByText('Roll back …').click();
    await fits();
    await tab.getByLabel('Your name').fill('Dora');
    await tab.getByLabel('Why').fill('too friendly');
    await tab.getByRole('button', { name: /Roll back to version/ }).click();
    expect(await main(tab)).toMatch(/The earlier text is in force again.*by Dora: too friendly/s);
    expect(await textInForce()).toBe(before);
    expect(await replyToHello()).toBe(/reply: (.*) \}/.exec(String(before))?.[1]);
  });

  test('a version that came into force meanwhile is told, and leaving with text that is not applied asks', async () => {
    const tab = await openRules(1280, '/rules/edit');
    const mine = rulesSaying('Mine', '# a "quoted" <b>word</b> \u200e & more\n');
    await tab.getByLabel('The rules, as YAML').fill(mine);
    await tab.getByLabel('Your name').fill('Cleo');
    await tab.getByLabel('Why').fill('mine');
    await applyRules(context.database.db, rulesSaying('Theirs'), { file: 'theirs', by: 'Ben', why: 'theirs' });
    await press(tab, 'Apply');
    expect(await tab.getByRole('alert').innerText()).toMatch(/since you opened this page, applied .* by Ben: theirs\./);
    expect(await tab.locator('.removed').innerText()).toContain('Theirs');
    expect(await widthOf(tab)).toBe(1280);
    expect(await textInForce()).toBe(rulesSaying('Theirs'));
    expect(await tab.getByLabel('The rules, as YAML').inputValue()).toBe(mine);
    const asked = tab.waitForEvent('dialog').then(async (question) => {
      await question.dismiss();
      return question.type();
    });
    await tab.getByRole('link', { name: 'Texts' }).click();
    expect(await asked).toBe('beforeunload');
    expect(await tab.getByLabel('The rules, as YAML').inputValue()).toBe(mine);
    await press(tab, `Apply over version ${await inForce()}`);
    expect(await textInForce()).toBe(mine);
  });
});
