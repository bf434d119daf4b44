import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';
import { ruleFacts } from './rule-facts.ts';
import { line, otherLine, stateThreads } from './threads.ts';

const facts = await factsDatabase();
const { lines, query, thread } = facts;
beforeAll(() => stateThreads(facts));
afterAll(() => facts[Symbol.asyncDispose]());

describe('sms_daily', () => {
  test('counts by local day and line, a group once', async () => {
    expect(
      await lines(
        `select local_date::text as day, line, inbound_count, outbound_count, outbound_user_count, outbound_automatic_count,
           outbound_unknown_count, number_count, conversation_count, blocked_count
         from reporting.sms_daily where local_date in ('2026-03-02', '2026-03-10', '2026-03-11') order by 1, 2`,
      ),
    ).toEqual([
      `2026-03-02 | ${line} | 4 | 3 | 2 | 0 | 1 | 2 | 2 | 0`,
      `2026-03-10 | ${line} | 1 | 1 | 1 | 0 | 0 | 1 | 1 | 1`,
      `2026-03-10 | ${otherLine} | 1 | 0 | 0 | 0 | 0 | 1 | 1 | 0`,
      `2026-03-11 | ${otherLine} | 0 | 1 | 0 | 0 | 1 | 1 | 1 | 0`,
    ]);
  });

  test('shows the failure rate beside the coverage of receipts', async () => {
    expect(
      await lines(
        `select local_date::text as day, delivered_count, failed_count, no_receipt_count, undetermined_count,
           failure_rate_pct::float8 as failed, receipt_coverage_pct::float8 as covered
         from reporting.sms_daily where outbound_count > 0 and local_date in ('2026-03-02', '2026-03-10', '2026-03-11') order by 1`,
      ),
    ).toEqual([
      '2026-03-02 | 1 | 1 | 1 | 0 | 50 | 66.67',
      '2026-03-10 | 0 | 0 | 0 | 0 | - | -',
      '2026-03-11 | 0 | 0 | 0 | 1 | - | 0',
    ]);
  });
});

test('sms_daily keeps the words of the carrier', async () => {
  expect(
    await lines(
      `select local_date::text as day, f.* from reporting.sms_daily s
         cross join jsonb_to_recordset(s.failures) f (class text, status text, error text, texts integer) order by 1`,
    ),
  ).toEqual([
    '2026-03-02 | failed | undelivered | 30005 | 1',
    '2026-03-10 | blocked | - | - | 1',
    '2026-03-11 | unmapped | martian | - | 1',
  ]);
});

test('fct_sms_message has no scheduled text', async () => {
  expect(
    await lines(
      `select sender_kind, delivery_class, sent_by_name, body from reporting.fct_sms_message
       where conversation_id in (1, 4, 5) and direction = 'out' order by sent_at`,
    ),
  ).toEqual([
    'unknown | delivered | - | -',
    'user | failed | User 1 | -',
    'user | blocked | User 1 | -',
    'unknown | unmapped | - | -',
  ]);
});

test('sms_opt_status has the status of each number, since when', async () => {
  await thread(20, [
    ['2026-03-14T15:00:00Z', 'in', { body: ' stop ' }],
    ['2026-03-14T15:01:00Z', 'in', { body: 'please do not stop' }],
    ['2026-03-14T15:02:00Z', 'in', { body: 'STOP' }],
  ]);
  await thread(21, [
    ['2026-03-14T15:00:00Z', 'in', { body: 'STOP' }],
    ['2026-03-14T15:01:00Z', 'in', { body: 'Start' }],
    ['2026-03-14T15:02:00Z', 'out', { body: 'STOP' }],
  ]);
  const participants = ['15551000021', '15551000022'];
  await thread(
    23,
    [['2026-03-14T15:03:00Z', 'in', { body: 'STOP', from_number: participants[1], group_participants: participants }]],
    { number: participants[0], participants_key: participants.join(',') },
  );
  expect(await lines('select number, is_opted_out, decided_at from reporting.sms_opt_status order by 1')).toEqual([
    '15551000020 | true | 2026-03-14T15:00:00Z',
    '15551000021 | false | 2026-03-14T15:01:00Z',
    '15551000022 | true | 2026-03-14T15:03:00Z',
  ]);
});

test('sms_opt_status knows the words that the gate knows, and of two in one second the opt-out', async () => {
  await thread(24, [['2026-03-14T16:00:00Z', 'in', { body: 'Stop.' }]]);
  await thread(25, [
    ['2026-03-14T16:00:00Z', 'in', { body: 'Who is this? please stop' }],
    ['2026-03-14T16:01:00Z', 'in', { body: 'leave me alone' }],
  ]);
  await thread(26, [['2026-03-14T16:00:00Z', 'in', { body: 'see you at five' }]]);
  await thread(27, [
    ['2026-03-14T16:00:00Z', 'in', { body: 'please stop!' }],
    ['2026-03-14T16:00:00Z', 'in', { body: 'opt in' }],
  ]);
  const participants = ['15551000028', '15551000029'];
  await thread(28, [['2026-03-14T16:03:00Z', 'in', { body: 'unsubscribe', from_number: participants[1] }]], {
    number: participants[0],
    participants_key: participants.join(','),
  });
  expect(
    await lines(
      `select number, is_opted_out, opt_status from reporting.sms_opt_status where number >= '15551000024' order by 1`,
    ),
  ).toEqual([
    '15551000024 | true | opt_out',
    '15551000025 | false | unsure',
    '15551000027 | true | opt_out',
    '15551000029 | true | opt_out',
  ]);
  expect(await query(`select decided_at from reporting.sms_opt_status where number = '15551000025'`)).toEqual([
    { decided_at: new Date('2026-03-14T16:00:00Z') },
  ]);
});

test('sms_opt_status has the decision of a person, on each line where the number wrote', async () => {
  const number = '15551000025';
  const decide = (decision: string, other = number) =>
    query(
      `insert into ops.opt_outs (number, decision, source, decided_at) values ($1, $2, 'person', clock_timestamp() + interval '1 minute')`,
      other,
      decision,
    );
  const statusOf = (other: string) =>
    query('select line, opt_status, evidence from reporting.sms_opt_status where number = $1', other);
  await decide('clear');
  expect(await statusOf(number)).toEqual([{ line, opt_status: 'clear', evidence: 'person' }]);
  await decide('opt_out');
  expect(await statusOf(number)).toEqual([{ line, opt_status: 'opt_out', evidence: 'person' }]);
  await decide('opt_out', '15551000099');
  expect(await statusOf('15551000099')).toEqual([{ line: '', opt_status: 'opt_out', evidence: 'person' }]);
});

test('conversation_state says how far what was observed can be trusted', async () => {
  await query(
    `update warehouse.sms_conversations set is_resolved = true, resolved_observed_at = $1, is_assignment_known = true,
       assigned_user_id = 1 where conversation_id = 3`,
    '2026-03-06T22:00:00Z',
  );
  await query(
    `update warehouse.sms_conversations set is_resolved = false, resolved_observed_at = $1, assigned_user_id = 1 where conversation_id = 4`,
    '2026-03-10T14:00:00Z',
  );
  expect(
    await lines(
      `select conversation_id::integer, is_resolved, resolved_confidence, assigned_user_id::integer, assigned_name
       from reporting.conversation_state where conversation_id in (1, 3, 4) order by 1`,
    ),
  ).toEqual([
    '1 | - | never_observed | - | -',
    '3 | true | as_observed | 1 | User 1',
    '4 | false | stale_since_inbound | - | -',
  ]);
});

describe('who sent a text', () => {
  const { send } = ruleFacts(facts);
  const at = '2026-03-16T15:00:00Z';
  const sent = (minutes: number) => new Date(Date.parse(at) + minutes * 60_000).toISOString();

  beforeAll(async () => {
    await thread(40, [
      [sent(0), 'in'],
      // By a rule: linked; known by its message id alone, in the name of a user; then by nobody known, and by a user.
      [sent(1), 'out', { send_id: randomUUID() }],
      [sent(2), 'out', { sent_by: 1 }],
      [sent(3), 'out'],
      [sent(4), 'out', { sent_by: 1 }],
    ]);
    await send('thanks', sent(2), 40, { message_id: 40_002 });
    await facts.drain();
  });

  test('is a rule where the ledger knows it, whoever the service names, and unknown where nobody is named', async () => {
    expect(
      await query('select sender_kind from reporting.fct_sms_message where conversation_id = 40 order by sent_at'),
    ).toEqual(['customer', 'automatic', 'automatic', 'unknown', 'user'].map((kind) => ({ sender_kind: kind })));
  });

  test('is counted so by the day', async () => {
    expect(
      await query(
        `select outbound_count, outbound_user_count, outbound_automatic_count, outbound_unknown_count
         from reporting.sms_daily where local_date = '2026-03-16'`,
      ),
    ).toEqual([{ outbound_count: 4, outbound_user_count: 1, outbound_automatic_count: 2, outbound_unknown_count: 1 }]);
  });

  const turn = () =>
    query(
      `select first_reply_kind as kind, reply_seconds as reply, user_reply_seconds as user_reply
       from reporting.fct_sms_turn where conversation_id = 40`,
    );

  test('a text of a rule in the name of a user is no reply of the user', async () => {
    expect(await turn()).toEqual([{ kind: 'automatic', reply: 60, user_reply: 240 }]);
  });

  test('a text that turns out to be of a rule is none of the user from then on', async () => {
    await query('update warehouse.sms_messages set send_id = $1 where message_id = 40004', randomUUID());
    await facts.drain();
    expect(await turn()).toEqual([{ kind: 'automatic', reply: 60, user_reply: null }]);
  });
});
