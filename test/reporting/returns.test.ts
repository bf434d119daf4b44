import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { openDatabase } from '../world/database.ts';
import { factsDatabase } from './facts.ts';
import { ruleFacts } from './rule-facts.ts';

const facts = await factsDatabase();
const { db, query, value } = facts;
const { send } = ruleFacts(facts);
afterAll(() => facts[Symbol.asyncDispose]());

beforeEach(async () => {
  await facts.mark();
  for (const table of ['calls', 'transcripts', 'sms_messages', 'sms_conversations'])
    await query(`delete from warehouse.${table}`);
  await query('delete from ops.sends');
  await query('delete from reporting.holidays');
  await facts.params({ callback_window: '7 days' });
  await facts.drain();
  await rebuildRollups(db);
});

const missed = { status: 'missed', talk_seconds: 0, duration_seconds: 30 };
const number = (at: number) => `1555200${String(at).padStart(4, '0')}`;
const momentOf = (time: string) => (time.includes('T') ? time : `2026-03-02T${time}`).padEnd(19, ':00').concat('Z');
const idOf = (at: number) => `170000${String(at).padStart(4, '0')}.1`;

let last = 0;
/** A call of its own id; `1` to `9` in a test are the numbers of callers. */
const called = async (time: string, at: number, values: object = {}) => {
  last += 1;
  await facts.call({
    ...{ call_id: `18000${last + 10_000}.1`, started_at: momentOf(time), external_number: number(at), ...values },
  });
};
const calledBack = (time: string, at: number, values = {}) => called(time, at, { direction: 'outbound', ...values });
const texted = (time: string, at: number, values = {}) => {
  last += 1;
  return facts.insert('warehouse.sms_messages', {
    ...{ conversation_id: 500 + at, message_id: last, line: '15559990000', number: number(at), direction: 'out' },
    ...{ sent_at: momentOf(time), body: 'text', sent_by: 7, ...values },
  });
};
const missedCalls = async (from: number, to: number, time = '15:00', values: object = {}) => {
  for (let at = from; at <= to; at += 1) await called(time, at, { call_id: idOf(at), ...missed, ...values });
};

/** A line for each missed call: caller, way, minutes, and what else is asked for. */
async function returns(more = `case when is_unreturned then 'open' else 'done' end`): Promise<string[]> {
  await facts.drain();
  const rows = await query<{ line: string }>(
    `select concat_ws(' ', right(external_number, 2), coalesce(returned_by, '-'), coalesce(minutes_to_return::integer::text, '-'), ${more}) as line
     from reporting.missed_calls where call_id like '170000%' order by external_number`,
  );
  return rows.map(({ line }) => line);
}

test('missed_calls has the first way in which somebody got in touch, and follows what happens later', async () => {
  await missedCalls(1, 9);
  // By the service's word, of a call that is held, and of one that is not.
  await query(
    `update warehouse.calls set called_back_call_id = '1700000101.1', status = 'voicemail' where call_id = $1`,
    idOf(1),
  );
  await calledBack('15:30', 77, { call_id: '1700000101.1' });
  await query(`update warehouse.calls set called_back_call_id = '1.1' where call_id = $1`, idOf(7));
  // The first time in vain.
  await calledBack('16:00', 2, missed);
  await calledBack('17:00', 2);
  await called('15:10', 3);
  await texted('15:05', 4, { is_blocked: true });
  await texted('15:06', 4);
  await calledBack('18:00', 4);
  // Before, and too late.
  await calledBack('14:59:59', 5);
  await calledBack('2026-03-09T15:00:01', 5);
  await texted('2026-03-09T15:00:01', 5);
  await called('15:20', 6, missed);
  await calledBack('15:20', 8, { deleted_at: '2026-03-03T00:00:00Z' });
  // Nobody to return these to.
  await called('15:00', 10, { external_number: null, ...missed });
  await called('15:00', 11, { is_internal: true, ...missed });
  expect(await returns(`case when is_unreturned then 'open' else 'done' end, outcome`)).toEqual([
    '01 called_back 30 done voicemail',
    '02 outbound_call 60 done missed',
    '03 caller_got_through 10 done missed',
    '04 text 6 done missed',
    '05 - - open missed',
    '06 - - open missed',
    '07 called_back - done missed',
    '08 - - open missed',
    '09 - - open missed',
  ]);
  expect(await value(`select count(*)::integer from reporting.missed_calls`)).toBe(10);

  await calledBack('15:45', 70, { call_id: '1.1' });
  await texted('15:30', 2);
  expect((await returns()).filter((line) => /^0[27]/.test(line))).toEqual([
    '02 text 30 done',
    '07 called_back 45 done',
  ]);
  await query(`update warehouse.sms_messages set deleted_at = now() where number = $1`, number(2));
  expect((await returns())[1]).toBe('02 outbound_call 60 done');
  await query(
    `update warehouse.calls set external_number = $2, content_hash = 'new' where direction = 'outbound' and external_number = $1`,
    number(2),
    number(9),
  );
  await query(`update warehouse.calls set status = 'answered', content_hash = 'new' where call_id = $1`, idOf(6));
  const after = await returns();
  expect([after[1], after[7], after.length]).toEqual(['02 - - open', '09 outbound_call 60 done', 8]);

  const asked = () =>
    value(`select found_count::integer from reporting.data_quality where check_name like 'definitions changed%'`);
  await facts.params({ callback_window: '30 minutes' });
  expect(await asked()).toBe(1);
  await rebuildRollups(db);
  expect((await returns()).filter((line) => /^0[49]/.test(line))).toEqual(['04 text 6 done', '09 - - open']);
  expect(await asked()).toBe(0);
});

test('a text to a group reaches each of its members, and is deleted', async () => {
  await missedCalls(5, 9);
  const members = [number(5), number(6), number(9)];
  await facts.thread(600, [], { number: number(5), participants_key: members.join(',') });
  await query('update warehouse.sms_conversations set participants = $1 where conversation_id = 600', members);
  await texted('15:40', 5, { conversation_id: 600 });
  await facts.insert('warehouse.transcripts', { transcript_id: 9, call_id: idOf(9), is_action_required: true });
  const followUp = () => value('select followed_up_by from reporting.fct_action');
  const none = [5, 6, 7, 8, 9].map((at) => `0${at} - - open`);
  const reached = [5, 6, 9].map((at) => `0${at} text 40 done`);
  expect(await returns()).toEqual([...reached.slice(0, 2), none[2], none[3], reached[2]]);
  expect(await followUp()).toBe('text');
  await query('update warehouse.sms_messages set deleted_at = now()');
  expect(await returns()).toEqual(none);
  expect(await followUp()).toBeNull();
});

test('how soon a call is returned ends with the next business day, and business time stands still while closed', async () => {
  // Friday half past four; returned in vain within an hour and on Monday, and on Tuesday, when the caller answers.
  await missedCalls(1, 4, '2026-03-06T16:30');
  await calledBack('2026-03-06T17:30', 1, missed);
  await calledBack('2026-03-09T09:10', 2, missed);
  await calledBack('2026-03-10T09:10', 3);
  await calledBack('2026-03-06T18:00', 4);
  // Saturday; Friday evening to Monday; Friday evening.
  await missedCalls(5, 5, '2026-03-07T12:00');
  await calledBack('2026-03-07T12:10', 5);
  await missedCalls(6, 7, '2026-03-06T18:00');
  await calledBack('2026-03-09T09:30', 6);
  await calledBack('2026-03-06T18:30', 7);
  const spans = () =>
    returns(`returned_within, coalesce(business_minutes_to_return::integer::text, 'none'), reached_at is not null`);
  expect((await spans()).map((line) => line.replace(/^(\d+) \w+ \d+/, '$1'))).toEqual([
    '01 1 hour 30 f',
    '02 1 business day 40 f',
    '03 later 520 t',
    '04 4 hours 30 t',
    '05 1 hour none t',
    '06 1 business day 30 t',
    '07 1 hour none t',
  ]);
  await query(`insert into reporting.holidays values (1, '2026-03-09', 'Day')`);
  await rebuildRollups(db);
  expect((await spans())[2]).toMatch(/ 1 business day 40 t$/);
});

describe('a text of a rule is no return', () => {
  const first = '15:01';
  const rule = (time: string, at: number, message_id = last) =>
    send('callback', momentOf(time), 0, { number: number(at), message_id });
  const ways = () =>
    returns(`case when is_unreturned then 'open' else 'done' end,
      'texted', coalesce(to_char(texted_at at time zone 'UTC', 'HH24:MI'), '-'),
      'by rule', coalesce(to_char(rule_texted_at at time zone 'UTC', 'HH24:MI'), '-')`);
  const followUps = async () =>
    (
      await query<{ line: string }>(
        `select concat_ws(' ', followed_up_by, to_char(followed_up_at at time zone 'UTC', 'HH24:MI')) as line
         from reporting.fct_action order by external_number`,
      )
    ).map(({ line }) => line);

  beforeEach(async () => {
    await missedCalls(21, 25);
    for (const at of [21, 22, 23, 24, 25])
      await facts.insert('warehouse.transcripts', { transcript_id: at, call_id: idOf(at), is_action_required: true });
    // 21: sent with an API key. 22: in the name of a user. 23: by an integration. 24: by a user.
    for (const at of [21, 22, 23, 24]) {
      await texted(first, at, { sent_by: at % 2 === 0 ? 7 : null });
      if (at < 23) await rule(first, at);
    }
  });

  test('known by its message id, whoever is named as its sender; without one who sent it is unknown', async () => {
    expect(await ways()).toEqual([
      '21 automatic_text - open texted 15:01 by rule 15:01',
      '22 automatic_text - open texted 15:01 by rule 15:01',
      '23 text_by_unknown - open texted 15:01 by rule -',
      '24 text 1 done texted - by rule -',
      '25 - - open texted - by rule -',
    ]);
    expect(await followUps()).toEqual(['automatic_text', 'automatic_text', 'text_by_unknown', 'text 15:01', '']);
    await drainOutcomes(db);
    expect(
      await query(
        `select o.rule, o.sent_count::integer as sent, count(*)::integer as texts, min(m.number) as first
         from reporting.rule_outcomes o join reporting.fct_sms_message m on m.rule = o.rule and m.local_date = o.local_date group by 1, 2`,
      ),
    ).toEqual([{ rule: 'callback', sent: 2, texts: 2, first: number(21) }]);
    expect(await value('select count(*)::integer from reporting.fct_sms_message where rule is null')).toBe(2);
  });

  test('and stays known once a person returned the call, until it is deleted', async () => {
    for (const at of [21, 23]) await calledBack('16:00', at);
    await texted('15:31', 22);
    // A user did first, and a rule afterwards.
    await texted('17:00', 24, { sent_by: null });
    await rule('17:00', 24);
    expect((await ways()).slice(0, 4)).toEqual([
      '21 outbound_call 60 done texted 15:01 by rule 15:01',
      '22 text 31 done texted 15:01 by rule 15:01',
      '23 outbound_call 60 done texted 15:01 by rule -',
      '24 text 1 done texted 17:00 by rule 17:00',
    ]);
    expect((await followUps())[0]).toBe('outbound_call 16:00');
    await query(`update warehouse.sms_messages set deleted_at = now() where sent_at = $1`, momentOf('17:00'));
    await query(`update warehouse.calls set deleted_at = now() where direction = 'outbound'`);
    const after = await ways();
    expect(after[0]).toBe('21 automatic_text - open texted 15:01 by rule 15:01');
    expect(after[3]).toBe('24 text 1 done texted - by rule -');
  });

  test('and one that turns out to be of a rule is none from then on; a voicemail that a rule answered waits', async () => {
    await query(`update warehouse.calls set status = 'voicemail', content_hash = 'v' where call_id = $1`, idOf(21));
    await query('update warehouse.sms_messages set send_id = gen_random_uuid() where number = $1', number(24));
    expect((await returns('is_unreturned, outcome')).filter((line) => /^2[14]/.test(line))).toEqual([
      '21 automatic_text - t voicemail',
      '24 automatic_text - t missed',
    ]);
    await query('update warehouse.sms_messages set deleted_at = now()');
    expect((await ways())[3]).toBe('24 - - open texted - by rule -');
  });
});

test('the window is as long on a server whose time zone changes its clock within it', async () => {
  await missedCalls(31, 31, '2026-03-04T12:00');
  await calledBack('2026-03-11T11:30', 31);
  const url = `${facts.url}?options=-c%20TimeZone%3DAmerica%2FNew_York`;
  const plain = new Client({ connectionString: url });
  await plain.connect();
  expect((await plain.query('show timezone')).rows).toEqual([{ TimeZone: 'America/New_York' }]);
  await plain.end();
  await using inNewYork = openDatabase(url);
  expect(await inNewYork.value('show timezone')).toBe('UTC');
  await rebuildRollups(inNewYork.db);
  expect((await returns())[0]).toMatch(/^31 outbound_call /);
});
