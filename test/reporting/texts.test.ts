import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';
import { ruleFacts } from './rule-facts.ts';
import { line, otherLine, stateThreads } from './threads.ts';

const facts = await factsDatabase();
const { expectRows, query, thread } = facts;
beforeAll(() => stateThreads(facts));
afterAll(() => facts[Symbol.asyncDispose]());

test('sms_daily counts by local day and line', () =>
  expectRows(`
    select local_date::text, line, inbound_count, outbound_count, outbound_user_count, outbound_automatic_count, outbound_unknown_count,
      blocked_count
    from reporting.sms_daily where local_date in ('2026-03-02', '2026-03-10', '2026-03-11') order by 1, 2`).toEqual([
    `2026-03-02 | ${line} | 4 | 3 | 2 | 0 | 1 | 0`,
    `2026-03-10 | ${line} | 1 | 1 | 1 | 0 | 0 | 1`,
    `2026-03-10 | ${otherLine} | 1 | 0 | 0 | 0 | 0 | 0`,
    `2026-03-11 | ${otherLine} | 0 | 1 | 0 | 0 | 1 | 0`,
  ]));

test('sms_daily counts what carriers say of the texts', () =>
  expectRows(`
    select local_date::text, delivered_count, failed_count, no_receipt_count, undetermined_count
    from reporting.sms_daily where outbound_count > 0 and local_date in ('2026-03-02', '2026-03-10', '2026-03-11') order by 1`).toEqual(
    ['2026-03-02 | 1 | 1 | 1 | 0', '2026-03-10 | 0 | 0 | 0 | 0', '2026-03-11 | 0 | 0 | 0 | 1'],
  ));

test('sms_daily keeps the words of the carrier', () =>
  expectRows(`
    select local_date::text, f.* from reporting.sms_daily s
      cross join jsonb_to_recordset(s.failures) f (class text, status text, error text, texts integer) order by 1`).toEqual(
    [
      '2026-03-02 | failed | undelivered | 30005 | 1',
      '2026-03-10 | blocked | - | - | 1',
      '2026-03-11 | unmapped | martian | - | 1',
    ],
  ));

test('fct_sms_message has no scheduled text', () =>
  expectRows(`
    select sender_kind, delivery_class, sent_by_name, body from reporting.fct_sms_message
    where conversation_id in (1, 4, 5) and direction = 'out' order by sent_at`).toEqual([
    'unknown | delivered | - | -',
    'user | failed | User 1 | -',
    'user | blocked | User 1 | -',
    'unknown | unmapped | - | -',
  ]));

test('sms_opt_status has the status of each number since when, of two in one second the opt-out, and what a person decided', async () => {
  await using own = await factsDatabase();
  const said = (id: number, ...texts: [string, string][]) =>
    own.thread(
      id,
      texts.map(([at, body]) => [at, 'in', { body }]),
    );
  await said(20, ['15:00', ' stop '], ['15:01', 'please do not stop'], ['15:02', 'STOP']);
  await said(21, ['15:00', 'STOP'], ['15:01', 'Start']);
  await own.thread(22, [['15:02', 'out', { body: 'STOP' }]]);
  await said(24, ['15:00', 'Stop.']);
  await said(25, ['15:00', 'Who is this? please stop'], ['15:01', 'leave me alone']);
  await said(26, ['15:00', 'see you at five']);
  await said(27, ['15:00', 'please stop!'], ['15:00', 'opt in']);
  const [number, from_number] = ['15551000028', '15551000029'];
  await own.thread(28, [['15:03', 'in', { body: 'unsubscribe', from_number }]], {
    ...{ number, participants_key: `${number},${from_number}` },
  });
  const status = () =>
    own.lines(`
      select right(number, 2), opt_status, evidence, decided_at, line <> '' from reporting.sms_opt_status order by 1`);
  expect(await status()).toEqual([
    '20 | opt_out | inbound_word | 2026-03-02T15:00:00Z | true',
    '21 | opt_in | inbound_word | 2026-03-02T15:01:00Z | true',
    '24 | opt_out | inbound_word | 2026-03-02T15:00:00Z | true',
    '25 | unsure | inbound_word | 2026-03-02T15:00:00Z | true',
    '27 | opt_out | inbound_word | 2026-03-02T15:00:00Z | true',
    '29 | opt_out | inbound_word | 2026-03-02T15:03:00Z | true',
  ]);
  const decide = (decision: string, decided_at: string, who: number) =>
    own.insert('ops.opt_outs', { number: `155510000${who}`, decision, source: 'person', decided_at });
  await decide('clear', '2099-01-01T16:00:00Z', 25);
  expect((await status())[3]).toBe('25 | clear | person | 2099-01-01T16:00:00Z | true');
  await decide('opt_out', '2099-01-01T17:00:00Z', 25);
  await decide('opt_out', '2099-01-01T17:00:00Z', 99);
  expect((await status())[3]).toBe('25 | opt_out | person | 2099-01-01T17:00:00Z | true');
  expect((await status()).at(-1)).toBe('99 | opt_out | person | 2099-01-01T17:00:00Z | false');
});

test('a text is of a rule where the ledger knows it, whoever the service names, and of nobody known where nobody is named', async () => {
  const { send } = ruleFacts(facts);
  // By a rule: linked; known by its message id alone, in the name of a user; then by nobody known, and by a user.
  await thread(40, [
    ['03-16T15:00', 'in'],
    ['03-16T15:01', 'out', { send_id: randomUUID() }],
    ['03-16T15:02', 'out', { sent_by: 1 }],
    ['03-16T15:03', 'out'],
    ['03-16T15:04', 'out', { sent_by: 1 }],
  ]);
  await send('thanks', '03-16T15:02', 40, { message_id: 40_002 });
  await facts.drain();
  const kinds = 'select sender_kind from reporting.fct_sms_message where conversation_id = 40 order by sent_at';
  await expectRows(kinds).toEqual(['customer', 'automatic', 'automatic', 'unknown', 'user']);
  await expectRows(`
    select outbound_count, outbound_user_count, outbound_automatic_count, outbound_unknown_count
    from reporting.sms_daily where local_date = '2026-03-16'`).toEqual(['4 | 1 | 2 | 1']);
  const turn = `select first_reply_kind, reply_seconds, user_reply_seconds from reporting.fct_sms_turn where conversation_id = 40`;
  await expectRows(turn).toEqual(['automatic | 60 | 240']);
  // One that turns out to be of a rule is none of the user from then on.
  await query('update warehouse.sms_messages set send_id = $1 where message_id = 40004', randomUUID());
  await facts.drain();
  await expectRows(turn).toEqual(['automatic | 60 | -']);
});
