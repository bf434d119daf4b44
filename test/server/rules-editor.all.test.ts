import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyRules } from '../../src/rules/versions.ts';
import { signInLink } from '../../src/server/sign-in.ts';
import { launchBrowser } from '../browser.ts';
import { createRulesWorld } from '../rules/rules-world.ts';
import { adminToken, until } from '../world.ts';

/* A support lead changes the rules on a page. */

const line = '16465550100';
const rulesSaying = (words: string, more = '') => `# Our rules
rules:
  - name: hello
    on: message_received
    if: message.plain.startsWith("hello")
    do: [{ reply: ${words} }]
    limits: { quiet_hours: none }
${more}`;

const world = await createRulesWorld(rulesSaying('Words of the file'), 'live', 'postgres');
const { sandbox, value, query, receiver, context } = world;
afterAll(() => world.close());

const inForce = () => value(`select max(version) from ops.rule_versions`);
const textInForce = () => value('select body from ops.rule_versions order by version desc limit 1');
let written = 0;
const replyToHello = async () => {
  written += 1;
  const number = String(12125558000 + written);
  await sandbox.emit.sms({ line, number, text: 'hello' });
  const settled = 'select body from ops.sends where number = $1 and settled_at is not null';
  await until(async () => (await value(settled, number)) !== undefined);
  return value(settled, number);
};
/** Another lead applies rules meanwhile. */
const applyMeanwhile = (text: string, by: string, why: string) =>
  applyRules(context.database.db, text, { file: 'theirs', by, why });

describe('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  async function open(width: number, path: string): Promise<Page> {
    const tab = await browser.newPage({ viewport: { width, height: 900 }, javaScriptEnabled: width > 400 });
    await tab.goto(signInLink(receiver.url, adminToken));
    await tab.goto(`${receiver.url}${path}`);
    return tab;
  }
  const press = (tab: Page, name: string) => tab.getByRole('button', { name, exact: true }).click();
  const main = (tab: Page) => tab.locator('main').innerText();

  test('rules are edited, checked, mended, simulated, applied and rolled back, without JavaScript', async () => {
    const width = 390;
    const words = 'Words of the lead';
    const before = await textInForce();
    await replyToHello();
    const tab = await open(width, '/rules');
    await tab.getByRole('link', { name: 'Edit the rules' }).click();
    const text = tab.getByLabel('The rules, as YAML');
    expect(await text.inputValue()).toBe(before);
    const fits = async () => expect(await tab.evaluate('document.documentElement.scrollWidth')).toBe(width);
    await fits();

    await text.fill(rulesSaying(words).replace('message.plain', 'message.plan'));
    await press(tab, 'Check');
    expect(await main(tab)).toMatch(/1 error, so this cannot be applied\s+Line 5\s+if: message\.plan/);
    expect(await tab.locator('#line-5').getAttribute('class')).toBe('problem');
    expect(await text.inputValue()).toContain('message.plan.');
    await fits();

    await text.fill(rulesSaying(words));
    await press(tab, 'Check');
    expect(await main(tab)).toContain('These rules can be used: 1 rule.');
    await press(tab, 'Simulate');
    expect(tab.url()).toContain('#outcome');
    const row = await tab.locator('.simulation tr', { hasText: 'hello' }).innerText();
    expect(row).toMatch(/hello\s+on message_received, tried \d+ times?\s+(\d+)\s+\1\s+\$\d/);
    await fits();
    await press(tab, 'Difference');
    expect(await tab.locator('.added').innerText()).toMatch(new RegExp(`6\\s+\\+\\s+do: .*${words}`));
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
    expect(await tab.locator('.source pre').innerText()).toBe(before);
    await tab.getByText('Roll back …').click();
    await fits();
    await tab.getByLabel('Your name').fill('Dora');
    await tab.getByLabel('Why').fill('too friendly');
    await tab.getByRole('button', { name: /Roll back to version/ }).click();
    expect(await main(tab)).toMatch(/The earlier text is in force again.*by Dora: too friendly/s);
    expect(await textInForce()).toBe(before);
    expect(await replyToHello()).toBe(/reply: (.*) \}/.exec(String(before))?.[1]);
    await tab.close();
  });

  test('a version that came into force meanwhile is shown, and nothing typed is lost', async () => {
    const tab = await open(1280, '/rules/edit');
    const mine = rulesSaying('Mine', '# a "quoted" <b>word</b> \u200e & more\n');
    await tab.getByLabel('The rules, as YAML').fill(mine);
    await tab.getByLabel('Your name').fill('Cleo');
    await tab.getByLabel('Why').fill('mine');
    await applyMeanwhile(rulesSaying('Theirs'), 'Ben', 'theirs');
    await press(tab, 'Apply');
    expect(await tab.getByRole('alert').innerText()).toMatch(
      /came into force since you opened this page, applied .* by Ben: theirs\. .*\+\s+do: \[\{ reply: Theirs/s,
    );
    expect(await tab.evaluate('document.documentElement.scrollWidth')).toBe(1280);
    expect(await textInForce()).toBe(rulesSaying('Theirs'));
    expect(await tab.getByLabel('The rules, as YAML').inputValue()).toBe(mine);
    await press(tab, `Apply over version ${await inForce()}`);
    expect(await textInForce()).toBe(mine);
    await tab.close();
  });

  test('the page does not refresh itself', async () => {
    const tab = await open(1280, '/rules/edit');
    expect(await tab.locator('script').count()).toBe(0);
    await tab.close();
  });
});

describe('by HTTP', () => {
  const own = { authorization: `Basic ${btoa(`pat:${adminToken}`)}`, 'sec-fetch-site': 'same-origin' };
  const post = (path: string, form: Record<string, string>, headers: Record<string, string> = own) =>
    fetch(`${receiver.url}${path}`, { method: 'POST', redirect: 'manual', headers, body: new URLSearchParams(form) });
  const applying = async (text: string, more: Record<string, string> = {}) =>
    post('/rules/edit', { text, do: 'apply', based_on: String(await inForce()), why: 'a test', ...more });

  /** Refused: the answer has this status and says this, and has the text as typed; the rules in force stay. */
  async function refused(answer: Promise<Response>, status: number, says: RegExp, text?: string) {
    const before = await inForce();
    const page = await (await answer).text();
    expect((await answer).status).toBe(status);
    expect(page).toMatch(says);
    if (text !== undefined) expect(page).toContain(`\n${text}</textarea>`);
    expect(await inForce()).toBe(before);
  }

  test.each([
    ['of another site', { ...own, 'sec-fetch-site': 'cross-site' }, 403],
    ['without a sign-in', { 'sec-fetch-site': 'same-origin' }, 401],
    ['with a wrong token', { ...own, authorization: 'Bearer wrong' }, 401],
  ])('a change %s is refused', async (_, headers, status) => {
    const form = { text: 'rules: []', do: 'apply', why: 'x', who: 'x', based_on: String(await inForce()) };
    for (const path of ['/rules/edit', '/rules/history/1/roll-back']) {
      await refused(post(path, form, headers), status, /./);
    }
  });

  test('a change needs a reason, an author and the version that it is based on', async () => {
    const text = rulesSaying('Without a reason');
    await refused(applying(text, { why: ' ' }), 400, /Nothing was changed: say why\./, text.replaceAll('"', '&quot;'));
    await refused(applying(text, { based_on: '' }), 400, /the form is not complete/);
    await refused(applying(text, { based_on: String(Number(await inForce()) - 1) }), 409, /came into force since you/);
    const asProgram = { authorization: `Bearer ${adminToken}` };
    await refused(post('/rules/edit', { text, do: 'apply', why: 'x' }, asProgram), 400, /say who you are/);
    const based_on = String(await inForce());
    await refused(post('/rules/history/1/roll-back', { based_on }), 400, /say why/);
    await refused(post('/rules/history/1/roll-back', { why: 'x', based_on: '1' }), 409, /came into force meanwhile/);
    await refused(
      post('/rules/history/99/roll-back', { why: 'x', based_on: String(await inForce()) }),
      409,
      /no version 99/,
    );
    await refused(
      post('/rules/history/x/roll-back', { why: 'x', based_on: String(await inForce()) }),
      404,
      /whole number/,
    );
  });

  test.each([
    ['broken YAML', 'rules: [', /1 error, .*not valid YAML/s],
    ['an unknown key', 'rules: []\nruels: []\n', /1 error, .*ruels/s],
    ['an alias to nothing', 'rules: *nowhere', /1 error, .*alias/s],
    ['markup', 'rules: [{ name: </textarea><script>alert(1)</script> }]', /error/],
  ])('%s is never applied', async (_, text, says) => {
    const escaped = text.replace(/[<>]/g, (sign) => (sign === '<' ? '&lt;' : '&gt;'));
    await refused(applying(text), 422, says, escaped);
    for (const button of ['check', 'simulate', 'difference', 'other', '']) {
      const answer = await post('/rules/edit', { text, do: button });
      expect(answer.status).toBe(200);
      expect(await answer.text()).not.toContain('<script');
    }
  });

  test('what is too large is refused, and its text is shown as long as it can be read', async () => {
    const large = `rules: []\n# ${'x'.repeat(200_000)}\n`;
    await refused(applying(large), 422, /too long for this page/, large);
    await refused(applying('x'.repeat(1_100_000)), 413, /too large/);
    const json = { ...own, 'content-type': 'application/json' };
    const answer = fetch(`${receiver.url}/rules/edit`, { method: 'POST', headers: json, body: '{"do":"apply"}' });
    await refused(answer, 200, /There is no|rules/);
  });

  test('when the page fails, the text stays on it', async () => {
    const text = rulesSaying('Kept');
    await query('alter table ops.rule_versions rename to rule_versions_elsewhere');
    const answer = await post('/rules/edit', { text, do: 'apply', based_on: '1', why: 'kept too' });
    await query('alter table ops.rule_versions_elsewhere rename to rule_versions');
    expect(answer.status).toBe(500);
    const page = await answer.text();
    expect(page).toContain(`\n${text.replaceAll('"', '&quot;')}</textarea>`);
    expect(page).toContain('value="kept too"');
  });

  test('whoever signs in with a name is the author, and what changed is logged', async () => {
    const text = rulesSaying('Applied by Pat');
    const answer = await applying(text, { who: 'somebody else' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/rules?done=rules-apply']);
    // A second press of the button changes nothing.
    const again = await post('/rules/edit', { text, do: 'apply', based_on: '1', why: 'a test' });
    expect(again.status).toBe(303);
    const rows = await query('select applied_by, why, body from ops.rule_versions order by version desc limit 2');
    expect(rows).toMatchObject([{ applied_by: 'pat', why: 'a test', body: text }, {}]);
    expect(world.logged()).toMatch(/"user":"pat".*"action":"rules-apply"/);
    const page = await (await fetch(`${receiver.url}/rules/edit`, { headers: own })).text();
    expect(page).not.toContain('name="who"');
    expect(page).toContain('Applied by Pat');
  });

  test('a simulation covers no more than the newest 2,000 texts and calls', async () => {
    await query(
      `insert into warehouse.calls (call_id, started_at, ended_at, direction, status, content_hash, source, fetch_seq, fetched_at)
       select (1783385492 + n)::text || '.1', now() - n * interval '1 minute', now() - n * interval '1 minute', 'inbound', 'missed', 'h', 'test', 1, now()
       from generate_series(1, 2100) n`,
    );
    const text = 'rules: [{ name: any-call, on: call_ended, do: [{ comment: x }] }]';
    const page = await (await post('/rules/edit', { text, do: 'simulate' })).text();
    expect(page).toContain('Only the newest 2,000 texts or calls are simulated here');
    const [, tried] = /on call_ended, tried ([\d,]+) times/.exec(page) ?? [];
    expect(Number(tried?.replace(',', ''))).toBeLessThanOrEqual(2_000);
    expect(Number(tried?.replace(',', ''))).toBeGreaterThan(1_900);
  });
});
