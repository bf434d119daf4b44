import { afterAll, expect, test } from 'vitest';
import { applyRules } from '../../src/rules/versions.ts';
import { adminToken, createWorld } from '../world.ts';
import { readable, rulesSaying } from './seed.ts';

/* What the forms of the rules' page answer; browser.all.test.ts uses them. */

const world = await createWorld({
  ...{ backend: 'postgres', workers: null },
  environment: { NOTIFY_TARGETS: 'support=slack:https://slack.example/x' },
});
const { value, query, receiver } = world;
afterAll(() => world.close());
const by = { file: 'a file', by: 'Ben', why: 'theirs' };
await applyRules(world.context.database.db, rulesSaying('Words of the file'), by);
await applyRules(world.context.database.db, rulesSaying('Other words'), by);

const inForce = () => value(`select max(version) from ops.rule_versions`);
const own = { authorization: `Basic ${btoa(`pat:${adminToken}`)}`, 'sec-fetch-site': 'same-origin' };
const asProgram = { authorization: `Bearer ${adminToken}` };
const post = (path: string, form: Record<string, string>, headers: Record<string, string> = own) =>
  fetch(`${receiver.url}${path}`, { method: 'POST', redirect: 'manual', headers, body: new URLSearchParams(form) });
const applying = async (text: string, more: Record<string, string> = {}) =>
  post('/rules/edit', { text, do: 'apply', based_on: String(await inForce()), why: 'a test', ...more });
const pressing = async (button: string, text: string) =>
  readable(await (await post('/rules/edit', { text, do: button })).text());
const typed = (text: string) =>
  `\n${text.replace(/["<>]/g, (sign) => ({ '"': '&quot;', '<': '&lt;' })[sign] ?? '&gt;')}</textarea>`;

/** Refused: the answer has this status and says this, and has the text as typed; the rules in force stay. */
async function refused(answer: Promise<Response>, status: number, says: RegExp, text?: string) {
  const before = await inForce();
  const page = await (await answer).text();
  expect((await answer).status).toBe(status);
  expect(page).toMatch(says);
  if (text !== undefined) expect(page).toContain(typed(text));
  expect(await inForce()).toBe(before);
}

test.each([
  ['of another site', { ...own, 'sec-fetch-site': 'cross-site' }, 403],
  ['without a sign-in', { 'sec-fetch-site': 'same-origin' }, 401],
  ['with a wrong token', { ...own, authorization: 'Bearer wrong' }, 401],
])('a change %s is refused', async (_, headers, status) => {
  const form = { text: 'rules: []', do: 'apply', why: 'x', who: 'x', based_on: String(await inForce()) };
  for (const path of ['/rules/edit', '/do/rules/rollback?version=1']) {
    await refused(post(path, form, headers), status, /./);
  }
});

test('a button that the page lacks checks the text', async () => {
  expect(await pressing('constructor', rulesSaying('Anything'))).toBe(await pressing('check', rulesSaying('Anything')));
});

test('a change needs a reason, an author and the version that it is based on', async () => {
  const text = rulesSaying('Without a reason');
  await refused(applying(text, { why: ' ' }), 400, /Nothing was changed: say why\./, text);
  await refused(applying(text, { based_on: '' }), 400, /the form is not complete/, text);
  await refused(post('/rules/edit', { text, do: 'apply', why: 'x' }, asProgram), 400, /say who you are/, text);
  const based_on = String(await inForce());
  for (const why of ['', ' ']) await refused(post('/do/rules/rollback?version=1', { based_on, why }), 400, /say why/);
  await refused(post('/do/rules/rollback?version=1', { why: 'x', based_on: '1' }), 409, /came into force meanwhile/);
  await refused(post('/do/rules/rollback?version=99', { why: 'x', based_on }), 409, /no version 99/);
  await refused(post('/do/rules/rollback?version=x', { why: 'x', based_on }), 400, /whole number/);
});

test('a version that came into force meanwhile is told and compared, and the text can be applied over it', async () => {
  const text = rulesSaying('Mine');
  const version = await inForce();
  const answer = applying(text, { based_on: String(Number(version) - 1) });
  await refused(answer, 409, /came into force since you opened this page, applied .* by Ben: theirs/s, text);
  const page = await (await applying(text, { based_on: '1' })).text();
  expect(readable(page)).toContain('- do: [{ reply: Other words }]');
  expect(page).toContain(`Apply over version ${version}`);
  expect(page).toContain(`name="based_on" value="${version}"`);
});

test.each([
  ['broken YAML', 'rules: [', /1 error, .*not valid YAML/s],
  ['an unknown key', 'rules: []\nruels: []\n', /1 error, .*Line 2.*ruels: \[\]/s],
  ['an alias to nothing', 'rules: *nowhere', /1 error, .*alias/s],
  ['markup', 'rules: [{ name: </textarea><script>alert(1)</script> }]', /error/],
])('%s is never applied', async (_, text, says) => {
  await refused(applying(text), 422, says, text);
  for (const button of ['check', 'simulate', 'difference', 'other', '']) {
    const page = await (await post('/rules/edit', { text, do: button })).text();
    expect(page).toContain(typed(text));
    expect(page).not.toContain('<script>');
  }
});

test('what is too large is refused, and its text is shown as long as it can be read', async () => {
  const large = `rules: []\n# ${'x'.repeat(200_000)}\n`;
  await refused(applying(large), 400, /longer than 200000 characters/, large);
  await refused(applying('x'.repeat(1_100_000)), 413, /too large/);
  const json = { ...own, 'content-type': 'application/json' };
  const answer = fetch(`${receiver.url}/rules/edit`, { method: 'POST', headers: json, body: '{"do":"apply"}' });
  await refused(answer, 415, /Unsupported Media Type/);
});

test('when the page fails, the text stays on it', async () => {
  const text = rulesSaying('Kept');
  await query('alter table ops.rule_versions rename to rule_versions_elsewhere');
  const answer = await post('/rules/edit', { text, do: 'apply', based_on: '1', why: 'kept too' });
  await query('alter table ops.rule_versions_elsewhere rename to rule_versions');
  expect(answer.status).toBe(500);
  const page = await answer.text();
  expect(page).toContain(typed(text));
  expect(page).toContain('value="kept too"');
});

test('what rules can use stands beside the text: facts, users, lines, targets and recipes', async () => {
  const page = await (await fetch(`${receiver.url}/rules/edit`, { headers: asProgram })).text();
  const said = readable(page);
  expect(said).toMatch(/message\.plain The text in lower case/);
  expect(said).toMatch(/contact\.language .* It can be missing\./);
  expect(said).toContain('Targets\nsupport');
  expect(said).toMatch(/approved refund\nWhoever asks for a refund gets an answer that a person has read/);
  expect(page).toContain('name="who"');
  await query(
    `insert into warehouse.users (user_id, first_name, email, content_hash, source, fetch_seq, fetched_at) values (9, 'Sam', 'sam@example.com', 'h', 'test', 1, now());
     insert into warehouse.sms_lines (line, name, content_hash, source, fetch_seq, fetched_at) values ('16465550100', 'Front Desk', 'h', 'test', 1, now())`,
  );
  const named = await pressing('check', rulesSaying('Hi'));
  expect(named).toContain('sam@example.com Sam');
  expect(named).toContain('16465550100 Front Desk');
  expect(named).toMatch(/These rules can be used: 1 rule\.\s+Line 6: a reply of hello is 1 segment, at most \$/);
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
  expect(page).toContain(typed(text));
  const back = await post('/do/rules/rollback?version=1', { why: 'x', based_on: String(await inForce()) });
  expect(back.headers.get('location')).toBe('/rules?done=rules/rollback');
});

test('a simulation covers the newest 2,000 texts and calls, and its examples lead to them', async () => {
  await query(
    `insert into warehouse.calls (call_id, started_at, ended_at, direction, status, account_number, external_number, content_hash, source, fetch_seq, fetched_at)
       select (1783385492 + n)::text || '.1', now() - n * interval '1 minute', now() - n * interval '1 minute', 'inbound', 'missed', '16465550100', '12125550123', 'h', 'test', 1, now()
       from generate_series(1, 2100) n`,
  );
  const text = 'rules: [{ name: any-call, on: call_ended, do: [{ comment: x }] }]';
  await applying(text);
  const page = await pressing('simulate', text);
  expect(page).toContain('Only the newest 2,000 texts or calls are simulated here');
  const tried = Number(/on call_ended, tried ([\d,]+) times/.exec(page)?.[1]?.replace(',', ''));
  expect(tried).toBeLessThanOrEqual(2_000);
  expect(tried).toBeGreaterThan(1_900);
  expect(page).toMatch(/…0100\/…0123 \[\/calls\/178338\d+\.1\]: comment/);
});
