import { writeFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { processEvents } from '../../src/rules/event-processor.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { applyRulesFile } from '../../src/rules/versions.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

const rules = `
rules:
  - name: close
    on: message_received
    if: message.plain == "close"
    do: [{ resolve: { comment: Closed. } }, { comment: A note. }]
  - name: answer
    on: message_received
    if: message.plain == "question"
    do: [{ resolve: true }, { reply: An answer. }]
    limits: { per_thread: 1 per 1h, quiet_hours: none }
  - name: answer-too
    on: message_received
    if: message.plain == "question" && thread.message_count > 100
    do: [{ comment: Never. }]
  - name: report
    on: message_received
    if: message.plain == "spam"
    do: [{ assign: nobody }]
  - name: silent
    on: thread_idle
    for: 1h
    do: [{ comment: Silent. }]
`;

const world = await createRulesWorld(rules, 'live', 'postgres');
const { sandbox, query, value } = world;
afterAll(() => world.close());

const posts = (path: string, number: string) =>
  sandbox.requests().filter((each) => each.method === 'POST' && each.path.endsWith(`${number}/${path}`));

test('the reply goes out before the resolve, whatever their order in the file', async () => {
  await sandbox.emit.sms({ number: '17185550301', text: 'Question?' });
  await world.rulesSettled();
  await until(async () => (await world.actions('answer')).every(({ state }) => state === 'done'));
  expect(await world.actions('answer')).toMatchObject([
    { kind: 'resolve', state: 'done' },
    { kind: 'reply', state: 'done', reason: expect.stringContaining('SENT') },
  ]);
  expect(sandbox.sends()).toHaveLength(1);
  const order = sandbox
    .requests()
    .filter(({ method, path }) => method === 'POST' && /messages$|17185550301\/resolve$/.test(path))
    .sort((a, b) => a.at.localeCompare(b.at));
  expect(order.map(({ path }) => path.split('/').at(-1))).toEqual(['messages', 'resolve']);
});

test('a resolve whose reply was refused is not done, and says why', async () => {
  await sandbox.emit.sms({ number: '17185550302', text: 'STOP' });
  await sandbox.emit.sms({ number: '17185550302', text: 'Question' });
  await world.rulesSettled();
  await until(
    async () =>
      (await value(
        `select state from ops.rule_actions join ops.rule_runs using (run_id) where number = '17185550302' and kind = 'resolve'`,
      )) !== 'waiting',
  );
  expect(
    await query(
      `select kind, a.state, a.reason from ops.rule_actions a join ops.rule_runs using (run_id) where number = '17185550302' order by ordinal`,
    ),
  ).toEqual([
    { kind: 'resolve', state: 'skipped', reason: expect.stringContaining('DENIED gate:opted_out') },
    { kind: 'reply', state: 'skipped', reason: expect.stringContaining('gate:opted_out') },
  ]);
  expect(posts('resolve', '17185550302')).toHaveLength(0);
});

test('a resolve whose answer is lost is repeated without its note, and a note is never repeated', async () => {
  sandbox.faults(
    { kind: 'reset', when: 'after', operation: 'resolveConversation', times: 1 },
    { kind: 'reset', when: 'after', operation: 'commentOnConversation', times: 1 },
  );
  await sandbox.emit.sms({ number: '17185550303', text: 'close' });
  await world.rulesSettled();
  await until(async () => (await world.actions('close')).every(({ state }) => state !== 'waiting'));
  sandbox.faults();
  expect(await world.actions('close')).toEqual([
    { kind: 'resolve', state: 'done', reason: expect.stringContaining('repeated without the note') },
    { kind: 'comment', state: 'unclear', reason: expect.stringContaining('the note may have been posted') },
  ]);
  expect(posts('resolve', '17185550303')).toHaveLength(2);
  expect(posts('comments', '17185550303')).toHaveLength(1);
  expect(await value(`select is_resolved from warehouse.sms_conversations where number = '17185550303'`)).toBe(true);
});

test('an assignment is known from its answer', async () => {
  await sandbox.emit.sms({ number: '17185550304', text: 'SPAM' });
  await world.rulesSettled();
  expect(
    await query(
      `select is_assignment_known, assigned_user_id, is_resolved from warehouse.sms_conversations where number = '17185550304'`,
    ),
  ).toEqual([{ is_assignment_known: true, assigned_user_id: null, is_resolved: false }]);
});

test('a trigger that comes again makes no rule act again, whatever the version', async () => {
  const before = await world.runs();
  const actions = await value('select count(*)::integer from ops.rule_actions');
  await world.rules(`# another version\n${rules}`);
  await query(
    `insert into ops.rule_events (kind, key, happened_at) select distinct trigger_kind, trigger_key, trigger_at from ops.rule_runs`,
  );
  await world.rulesSettled();
  expect(await world.runs()).toEqual(before);
  expect(await value('select count(*)::integer from ops.rule_actions')).toBe(actions);
});

test('what is old makes no rule act', async () => {
  const sentAt = new Date(Date.now() - 11 * 60_000).toISOString();
  await sandbox.emit.sms({ number: '17185550305', text: 'close', sentAt });
  await world.rulesSettled();
  await until(async () => (await world.runs('close')).some(({ reason }) => reason === 'too_old'));
  expect(posts('resolve', '17185550305')).toHaveLength(0);
});

test('an evaluation that ends halfway has not happened, and happens again once', async () => {
  const set = parseRules(rules, { file: 'rules.yaml', timeZone: 'UTC' });
  await query(
    `create function ops.fail_once() returns trigger language plpgsql as $$ begin raise 'of its own' using errcode = '22000'; end $$`,
  );
  await query('create trigger fail_once before insert on ops.rule_actions execute function ops.fail_once()');
  await sandbox.emit.sms({ number: '17185550306', text: 'close' });
  await world.settled();
  await until(async () => Number(await value('select coalesce(max(tries), 0) from ops.rule_events')) > 0);
  expect(await value(`select count(*)::integer from ops.rule_runs where number = '17185550306'`)).toBe(0);
  await query('drop trigger fail_once on ops.rule_actions');
  await query('update ops.rule_events set due_at = now()');
  const { database, log } = world.context;
  const context = { db: database.db, log, mode: 'live', rules: async () => set } as const;
  await Promise.all(Array.from({ length: 3 }, () => processEvents(context, new AbortController().signal)));
  await until(
    async () =>
      Number(await value(`select count(*) from ops.rule_runs where number = '17185550306' and is_matched`)) === 1,
  );
  await world.rulesSettled();
  expect(posts('resolve', '17185550306')).toHaveLength(1);
  expect(posts('comments', '17185550306')).toHaveLength(1);
});

test('a silence that fell into an outage is met after it, once', async () => {
  const sentAt = new Date(Date.now() - 2 * 3_600_000).toISOString();
  await sandbox.emit.sms({ number: '17185550307', direction: 'out', text: 'Bye', sentAt });
  await world.settled();
  await world.age();
  await until(async () => (await world.runs('silent')).filter(({ is_matched }) => is_matched).length === 1);
  await world.rulesSettled();
  await world.rules(`# again\n${rules}`);
  await world.rulesSettled();
  expect(await world.runs('silent')).toHaveLength(1);
});

test('another version is in force without a restart, and a bad file leaves the rules as they were', async () => {
  await world.rules(rules.replace('"spam"', '"junk"'));
  await sandbox.emit.sms({ number: '17185550308', text: 'junk' });
  await world.rulesSettled();
  await until(async () => (await world.runs('report')).filter(({ is_matched }) => is_matched).length === 2);
  await writeFile(world.rulesFile, rules.replace('"spam"', '"spam'));
  const refused = await applyRulesFile(world.context.database.db, world, world.context.log);
  expect(refused?.message).toContain('rules.yaml:18:26');
  await sandbox.emit.sms({ number: '17185550309', text: 'junk' });
  await world.rulesSettled();
  await until(async () => (await world.runs('report')).filter(({ is_matched }) => is_matched).length === 3);
});
