import { afterAll, expect, test } from 'vitest';
import { applyRules } from '../../src/rules/versions.ts';
import { adminToken, createWorld } from '../world.ts';

/* What the forms of the rules' page answer; browser.all.test.ts uses them. */

const rulesSaying = (words: string) => `# Our rules
rules:
  - name: hello
    on: message_received
    if: message.plain.startsWith("hello")
    do: [{ reply: ${words} }]
    limits: { quiet_hours: none }
`;
const world = await createWorld({ backend: 'postgres', workers: null });
const { value, query, receiver } = world;
afterAll(() => world.close());
await applyRules(world.context.database.db, rulesSaying('Words of the file'), {
  file: 'a file',
  by: 'a test',
  why: '',
});
await applyRules(world.context.database.db, rulesSaying('Other words'), { file: 'a file', by: 'a test', why: '' });

const inForce = () => value(`select max(version) from ops.rule_versions`);
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
  await refused(post('/rules/history/99/roll-back', { why: 'x', based_on }), 409, /no version 99/);
  await refused(post('/rules/history/x/roll-back', { why: 'x', based_on }), 404, /whole number/);
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
