import { afterAll, expect, test } from 'vitest';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { applyRules } from '../../src/rules/versions.ts';
import { migratedDatabase } from '../world/database.ts';
import { adminToken, openReceiver, settingsFor } from './receiver.ts';
import { readable } from './seed.ts';

/* Rules, texts of rules and opt-outs, as a support lead reads and decides them. */

const database = await migratedDatabase();
const { db, query, value } = database;
const world = await openReceiver(settingsFor(database.url));
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const rules = `rules:
  - name: refunds
    on: message_received
    if: message.plain.contains("refund")
    do: [{ reply: { text: We refund you., approve: { expires: 4h } } }]
  - name: greets
    on: message_received
    if: contact.is_new && message.plain.contains("hello")
    do: [{ reply: Hello! }]
    mode: dry-run
  - name: unused
    on: call_missed
    do: [{ comment: x }]
    mode: off
`;
const inForce = (text: string) => applyRules(db, text, { file: 'a test', by: 'Ann', why: 'new hours' });
const [line, number] = ['18005550100', '18455550123'];
const provenance = `'h', 'test', 1, now()`;
const write = (id: number, from: string, body: string, verdict: string | null = null) =>
  query(
    `insert into warehouse.sms_messages (conversation_id, message_id, line, number, from_number, direction, body, sent_at, opt_out_verdict, content_hash, source, fetch_seq, fetched_at)
     values ($1, $2, '${line}', $3, $3, 'in', $4, now(), $5, ${provenance})`,
    ...[Number(from.slice(-4)), id, from, body, verdict],
  );
await query(
  `insert into warehouse.sms_conversations (conversation_id, line, number) overriding system value values (123, '${line}', '${number}'), (144, '${line}', '18455550144')`,
);
await write(70, number, 'Where is my refund?');
await write(71, number, 'And now?');
const ids = ['11111111', '22222222', '33333333'].map((start) => `${start}-1111-4111-8111-111111111111`);
const [waiting = '', refused = '', lost = ''] = ids;
/** A text of the rule that answers 70 or 71. */
const send = (id: string, rule: string, trigger: number, state: string, reason: string | null) =>
  query(
    `with sent as (
       insert into ops.sends (send_id, rule, rule_version, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, expires_at, reserved_micros, settled_micros, unknown_at)
       values ($1, $2, '1', '${line}', '${number}', 'message', $3, now(), 'live', 'We refund you.', $4, $5, now() + interval '1 hour', 50000, 8000, case when $4 = 'NEEDS_HUMAN' then now() end)
       returning *
     ), marked as (insert into ops.send_markers (planned_at) select planned_at from sent)
     insert into ops.send_events (send_id, to_state, fence, actor) select send_id, 'PLANNED', 0, 'rule' from sent`,
    ...[id, rule, trigger, state, reason],
  );
/** A run of the rule on the text 70, with a step. */
const run = (
  rule: string,
  reason: string,
  step: readonly [kind: string, target: string | null, state: string, sendId: string | null],
) =>
  value(
    `with run as (
       insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, conversation_id, line, number, mode, is_matched, reason, facts)
       values ($1, '1', 'message_received', '123/70', now(), 123, '${line}', '${number}', 'live', $2 = 'matched', $2, '{"message.plain": "(17 characters)"}') returning run_id
     ), step as (insert into ops.rule_actions (run_id, ordinal, kind, target, state, send_id) select run_id, 1, $3, $4, $5, $6::uuid from run where $2 = 'matched')
     select run_id from run`,
    ...[rule, reason, ...step],
  );
await send(refused, 'refunds', 70, 'DENIED', 'gate:opted_out');
await run('refunds', 'matched', ['reply', null, 'done', refused]);

const get = async (path: string) => readable(await (await world.get(path)).text());
const post = (path: string, form: Record<string, string> = { who: 'Lea' }) =>
  fetch(`${world.receiver.url}${path}`, {
    ...{ method: 'POST', redirect: 'manual', headers: { authorization: `Bearer ${adminToken}` } },
    body: new URLSearchParams(form),
  });
const goesTo = async (path: string, form?: Record<string, string>) => (await post(path, form)).headers.get('location');
const says = async (path: string, form?: Record<string, string>) => {
  const answer = await post(path, form);
  return [answer.status, readable(await answer.text())];
};
/** The addresses that a page posts to. */
const postsOf = async (path: string) =>
  [...(await (await world.get(path)).text()).matchAll(/formaction="(\/do\/[^"]+)"/g)].map(([, to = '']) =>
    to.replaceAll('&amp;', '&'),
  );

test('why no answer: there are no rules, or none that waits for a text', async () => {
  expect(await get('/rules')).toContain('No rules are in force.');
  expect(await get('/rules/explain/71')).toMatch(/^No rules are in force: write the first ones \[\/rules\/edit\]\./m);
  await inForce('rules: []');
  expect(await get('/rules/explain/71')).toMatch(/^No rule in force waits for this text$/m);
  await inForce(rules);
});

test('the rules in force stand above their runs: mode, today, what each did in the time below, its cost and the answers', async () => {
  await query(
    `insert into ops.rule_tallies (happened_at, version, counts) values (now(), '1', '[{"rule": "refunds", "mode": "live", "word": "condition_false", "count": 4},
       {"rule": "refunds", "mode": "live", "word": "matched", "count": 1}]')`,
  );
  await drainOutcomes(db);
  const page = await get('/rules');
  expect(page).toMatch(/Version 2 .*is in force, applied .* by Ann: new hours\./);
  expect(page).toMatch(/^refunds \[.*\] live matched 1 of 5 1 refused – – –$/m);
  expect(page).toMatch(/^greets \[.*\] dry-run – – – – –$/m);
  expect(page).toMatch(/^unused \[.*\] off /m);
  await query(
    'update rollups.rule_outcome_rollup set sent_count = 3, charged_micros = 24000, replied_count = 2, opted_out_count = 1',
  );
  expect(await get('/rules')).toMatch(/matched 1 of 5 3 sent, 1 refused \$0\.02 2 1$/m);
  expect(await get('/rules?from=2020-01-01&to=2020-01-02')).toMatch(/^refunds \[.*\] live matched 1 of 5 – – – –$/m);
});

test('why no answer: the rule, the reason, what each rule decides, and what holds for all', async () => {
  const page = await get('/rules/explain/70');
  expect(page).toMatch(/^refunds did not answer this text: the person has opted out$/m);
  expect(page).toContain('Where is my refund?');
  expect(page).toContain(`The text [/threads/${line}/${number}?text=70#text-70]`);
  expect(page).toMatch(/reply: refused by a gate \[\/sends\/22222222-.*\] \(the person has opted out\)/);
  expect(page).toMatch(
    /greets its condition is false\nfalse: message\.plain\.contains\(.*\)\nmessage\.plain = where is my refund/,
  );
  expect(page).not.toContain('unused');
  expect(page).toMatch(/What it knew then.*message\.plain \(17 characters\)/ms);
  expect(await get('/rules/explain/71')).toMatch(/^No rule fits this text$/m);
  for (const path of ['/rules/explain/99', '/rules/explain/1783385492.057900', '/rules/explain/x'])
    expect((await world.get(path)).status, path).toBe(404);
});

test('why no answer: a pause, an opt-out and workers that run no rules are told in words', async () => {
  await post('/do/sends/pause');
  await write(72, number, 'STOP', 'opt_out');
  const page = await get('/rules/explain/71');
  expect(page).toMatch(/All texts are paused .* since .*: by Lea\./);
  expect(page).toMatch(/18455550123 opted out .* by a text of theirs: no rule texts them\./);
  expect(page).toContain('no worker runs, or RULES_MODE is off');
  await query('delete from warehouse.sms_messages where message_id = 72');
  await post('/do/sends/resume');
});

test('what a target refused is told again from the page of its text, once, also of a rule that is gone', async () => {
  const id = await run('tells', 'matched', ['webhook', 'crm', 'failed', null]);
  expect(await get('/rules/explain/70')).toContain('webhook crm: failed');
  expect(await goesTo(`/do/rules/retry?run=${id}&of=70`)).toBe('/rules/explain/70?done=rules/retry');
  expect(await value('select state from ops.rule_actions where run_id = $1', id)).toBe('waiting');
  expect((await says(`/do/rules/retry?run=${id}&of=70`))[0]).toBe(409);
});

test('a reply to approve shows their words, asks who, and leaves with other words if they were changed', async () => {
  await send(waiting, 'refunds', 71, 'AWAITING_APPROVAL', null);
  const page = await get('/sends');
  expect(page).toContain('1 reply to approve');
  expect(page).toMatch(/And now\?.*We refund you\..*Your name/s);
  expect(page).toContain('1 segment; without an approval it expires');
  const approve = (await postsOf(`/sends/${waiting}`)).find((path) => path.includes('sends/approve')) ?? '';
  expect(await says(approve, {})).toEqual([400, expect.stringContaining('say who you are')]);
  expect((await says(`/do/sends/approve?id=${waiting}&seen=0`))[0]).toBe(409);
  expect(await goesTo(approve, { who: 'Lea', text: ' We refund\r\nyou today. ' })).toBe(
    `/sends/${waiting}?done=sends/approve`,
  );
  expect(await value('select body from ops.sends where send_id = $1', waiting)).toBe('We refund\nyou today.');
  expect(await get(`/sends/${waiting}`)).toMatch(/Lea planned: its text was changed and approved/);
  expect(await says(approve)).toEqual([
    409,
    expect.stringMatching(/does not wait for that: it is planned .*, decided by Lea/),
  ]);
  expect(await goesTo(`/do/sends/cancel?id=${waiting}`, { who: 'Sam' })).toBe(`/sends/${waiting}?done=sends/cancel`);
  expect(await get(`/sends/${waiting}`)).toMatch(/^This text was not sent: an operator cancelled it$/m);
});

test('a text says in its title what came of it, and keeps numbers for operators folded', async () => {
  expect(await get(`/sends/${refused}`)).toMatch(/^This text was not sent: the person has opted out$/m);
  await query(`update ops.sends set reason = 'dry_run' where send_id = $1`, refused);
  expect(await get(`/sends/${refused}`)).toMatch(/^This text was only simulated.*For operators/ms);
  expect((await world.get(`/sends/33333333-3333-4333-8333-333333333333`)).status).toBe(404);
  expect((await world.get('/sends/none')).status).toBe(404);
  await send(lost, 'refunds', 72, 'NEEDS_HUMAN', 'not found');
  expect(await goesTo(`/do/sends/settle?id=${lost}&outcome=not-sent`)).toBe(`/sends/${lost}?done=sends/settle`);
  expect(await value('select state from ops.sends where send_id = $1', lost)).toBe('NOT_SENT');
  expect(await value(`select decided_by from ops.send_events where to_state = 'NOT_SENT'`)).toBe('Lea');
  expect((await says(`/do/sends/settle?id=${lost}&outcome=sent`))[0]).toBe(409);
});

test('a pause asks who, and says so', async () => {
  expect(await says('/do/sends/pause', {})).toEqual([400, expect.stringContaining('say who you are')]);
  expect(await goesTo('/do/sends/pause', { who: 'Lea <lead>' })).toBe('/sends?done=sends/pause');
  expect(await get('/sends')).toMatch(/All texts are paused since .*: by Lea &lt;lead&gt;\./);
  expect(await goesTo('/do/sends/resume', { who: 'Sam' })).toBe('/sends?done=sends/resume');
  expect(await get('/sends')).toMatch(/Resumed .* by Sam\./);
});

test('a number that may have opted out waits for a person who has read its newest text; then the list says who decided', async () => {
  await write(80, '18455550144', 'leave me <alone>', 'unsure');
  expect(await get('/sends')).toContain('1 number may have opted out [/opt-outs]');
  expect(await get('/opt-outs')).toMatch(/1 number may have opted out.*leave me &lt;alone&gt;/s);
  const [confirm = '', clear = ''] = await postsOf('/opt-outs');
  expect((await says('/do/opt-outs/confirm?number=1&seen=x'))[0]).toBe(400);
  await write(81, '18455550144', 'I said leave me alone', 'unsure');
  expect(await says(clear)).toEqual([409, expect.stringContaining('They wrote again meanwhile')]);
  const [again = ''] = await postsOf('/opt-outs');
  expect(again).not.toBe(confirm);
  expect(await goesTo(again)).toBe('/opt-outs?done=opt-outs/confirm');
  expect(await postsOf('/opt-outs')).toEqual([]);
  expect(await get('/opt-outs')).toMatch(/18455550144 .*opted out .*as a person decided Lea/);
});

test('PAGES_WORDS=hidden leaves out what people wrote, but for the reply that somebody decides about', async () => {
  await using hidden = await openReceiver(settingsFor(database.url, { PAGES_WORDS: 'hidden' }));
  await query("update ops.opt_outs set decided_at = now() - interval '1 day'");
  for (const path of [`/sends/${refused}`, '/rules/explain/70', '/opt-outs', '/sends']) {
    const page = await (await hidden.get(path)).text();
    expect(page, path).not.toMatch(/We refund|where is my refund|leave me/i);
    if (path !== '/sends') expect(page, path).toContain('PAGES_WORDS=hidden');
  }
});
