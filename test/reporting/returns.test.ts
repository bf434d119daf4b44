import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { openDatabase } from '../world/database.ts';
import { factsDatabase } from './facts.ts';
import { ruleFacts } from './rule-facts.ts';

const facts = await factsDatabase();
const { call, query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const missed = { status: 'missed', talk_seconds: 0, duration_seconds: 30 };
const number = (at: number) => `1555200${String(at).padStart(4, '0')}`;
const text = (id: number, at: number, sentAt: string, values = {}) =>
  facts.insert('warehouse.sms_messages', {
    conversation_id: 500 + at,
    message_id: id,
    line: '15559990000',
    number: number(at),
    direction: 'out',
    sent_at: sentAt,
    body: 'text',
    sent_by: 7,
    ...values,
  });

beforeAll(async () => {
  for (let at = 1; at <= 9; at += 1) {
    await call({
      call_id: `170000000${at}.1`,
      started_at: '2026-03-02T15:00:00Z',
      external_number: number(at),
      caller_name: `Caller ${at}`,
      ...missed,
    });
  }
  // 1: by the service's word. 2: called twice, the first time in vain. 3: came through. 4: texted.
  await query(
    `update warehouse.calls set called_back_call_id = '1700000101.1', status = 'voicemail' where call_id = '1700000001.1'`,
  );
  await call({
    call_id: '1700000101.1',
    started_at: '2026-03-02T15:30:00Z',
    direction: 'outbound',
    external_number: number(77),
  });
  await call({
    call_id: '1700000102.1',
    started_at: '2026-03-02T16:00:00Z',
    direction: 'outbound',
    external_number: number(2),
    ...missed,
  });
  await call({
    call_id: '1700000103.1',
    started_at: '2026-03-02T17:00:00Z',
    direction: 'outbound',
    external_number: number(2),
  });
  await call({ call_id: '1700000104.1', started_at: '2026-03-02T15:10:00Z', external_number: number(3) });
  await text(1, 4, '2026-03-02T15:05:00Z', { is_blocked: true });
  await text(2, 4, '2026-03-02T15:06:00Z');
  await call({
    call_id: '1700000105.1',
    started_at: '2026-03-02T18:00:00Z',
    direction: 'outbound',
    external_number: number(4),
  });
  // 5: before and too late. 6: missed again. 7: the service names a call that is not held. 8: a deleted call.
  await call({
    call_id: '1700000106.1',
    started_at: '2026-03-02T14:59:59Z',
    direction: 'outbound',
    external_number: number(5),
  });
  await call({
    call_id: '1700000107.1',
    started_at: '2026-03-09T15:00:01Z',
    direction: 'outbound',
    external_number: number(5),
  });
  await call({ call_id: '1700000108.1', started_at: '2026-03-02T15:20:00Z', external_number: number(6), ...missed });
  await query(`update warehouse.calls set called_back_call_id = '1.1' where call_id = '1700000007.1'`);
  await call({
    call_id: '1700000109.1',
    started_at: '2026-03-02T15:20:00Z',
    direction: 'outbound',
    external_number: number(8),
    deleted_at: '2026-03-03T00:00:00Z',
  });
  // Nobody to return these to.
  await call({ call_id: '1700000110.1', started_at: '2026-03-02T15:00:00Z', external_number: null, ...missed });
  await call({ call_id: '1700000111.1', started_at: '2026-03-02T15:00:00Z', is_internal: true, ...missed });
  await facts.drain();
});

const returns = () =>
  query(
    `select external_number as number, outcome, returned_by as by, minutes_to_return::float8 as minutes, is_unreturned
     from reporting.missed_calls where started_at = '2026-03-02T15:00:00Z' order by 1`,
  );

test('missed_calls has the first way in which somebody got in touch', async () => {
  const none = { outcome: 'missed', by: null, minutes: null, is_unreturned: true };
  expect(await returns()).toEqual([
    { number: number(1), outcome: 'voicemail', by: 'called_back', minutes: 30, is_unreturned: false },
    { number: number(2), outcome: 'missed', by: 'outbound_call', minutes: 60, is_unreturned: false },
    { number: number(3), outcome: 'missed', by: 'caller_got_through', minutes: 10, is_unreturned: false },
    { number: number(4), outcome: 'missed', by: 'text', minutes: 6, is_unreturned: false },
    { number: number(5), ...none },
    { number: number(6), ...none },
    { number: number(7), outcome: 'missed', by: 'called_back', minutes: null, is_unreturned: false },
    { number: number(8), ...none },
    { number: number(9), ...none },
  ]);
});

test('how soon a call is returned ends with the next business day, and business time stands still over a weekend', async () => {
  await using own = await factsDatabase();
  // Friday half past four, returned in vain: after an hour, on Monday, and on Tuesday, when the caller answers.
  const returned = ['2026-03-06T17:30:00Z', '2026-03-09T09:10:00Z', '2026-03-10T09:10:00Z'];
  for (const [at, startedAt] of returned.entries()) {
    const external_number = number(at);
    await own.call({ ...missed, call_id: `18000000${at}.1`, started_at: '2026-03-06T16:30:00Z', external_number });
    const values = at === 2 ? {} : missed;
    await own.call({
      ...values,
      call_id: `18000001${at}.1`,
      started_at: startedAt,
      direction: 'outbound',
      external_number,
    });
  }
  const spans = () =>
    own.query(
      `select returned_within as span, business_minutes_to_return::integer as minutes, reached_at is not null as is_reached
       from reporting.missed_calls order by external_number`,
    );
  await own.drain();
  const [hour, monday, tuesday] = await spans();
  expect([hour, monday]).toEqual([
    { span: '1 hour', minutes: 30, is_reached: false },
    { span: '1 business day', minutes: 40, is_reached: false },
  ]);
  expect(tuesday).toEqual({ span: 'later', minutes: 40 + 480, is_reached: true });
  await own.query(`insert into reporting.holidays values (1, '2026-03-09', 'Day')`);
  await rebuildRollups(own.db);
  expect((await spans())[2]).toEqual({ span: '1 business day', minutes: 40, is_reached: true });
});

test('a call that came and was returned while closed has no business time', async () => {
  await using own = await factsDatabase();
  // Saturday; Friday evening; Friday afternoon; in hours by the service's word, before the call itself.
  const calls = [
    ['2026-03-07T12:00:00Z', '2026-03-07T12:10:00Z', null],
    ['2026-03-06T18:00:00Z', '2026-03-09T09:30:00Z', 30],
    ['2026-03-06T16:30:00Z', '2026-03-06T18:00:00Z', 30],
    ['2026-03-06T18:00:00Z', '2026-03-06T18:30:00Z', null],
  ] as const;
  for (const [at, [from, to]] of calls.entries()) {
    const external_number = number(at);
    await own.call({ ...missed, call_id: `18000000${at}.1`, started_at: from, external_number });
    await own.call({ call_id: `18000001${at}.1`, started_at: to, direction: 'outbound', external_number });
  }
  await own.drain();
  expect(
    await own.query(
      'select business_minutes_to_return::integer as minutes from reporting.missed_calls order by external_number',
    ),
  ).toEqual(calls.map(([, , minutes]) => ({ minutes })));
});

describe('missed_calls follows what happens later', () => {
  const by = async (at: number) => (await returns())[at - 1]?.by;

  test('a call that was not held comes', async () => {
    await call({
      call_id: '1.1',
      started_at: '2026-03-02T15:45:00Z',
      direction: 'outbound',
      external_number: number(70),
    });
    await facts.drain();
    expect((await returns())[6]).toMatchObject({ by: 'called_back', minutes: 45 });
  });

  test('a text comes before the call that it was returned by', async () => {
    await text(3, 2, '2026-03-02T15:30:00Z');
    await facts.drain();
    expect(await by(2)).toBe('text');
  });

  test('that text is deleted', async () => {
    await query('update warehouse.sms_messages set deleted_at = now() where message_id = 3');
    await facts.drain();
    expect(await by(2)).toBe('outbound_call');
  });

  test('a text to a group reaches each of its members, and is deleted', async () => {
    const [members, sentAt] = [[number(5), number(6), number(9)], '2026-03-02T15:40:00Z'];
    const group = { number: number(5), participants_key: members.join(',') };
    await facts.thread(600, [], group);
    await query('update warehouse.sms_conversations set participants = $1 where conversation_id = 600', members);
    const message = { conversation_id: 600, message_id: 600, line: '15559990000', direction: 'out', sent_by: 7 };
    await facts.insert('warehouse.sms_messages', { ...message, number: number(5), sent_at: sentAt });
    await facts.insert('warehouse.transcripts', {
      transcript_id: 9,
      call_id: '1700000009.1',
      is_action_required: true,
    });
    const followUps = () => query(`select followed_up_by from reporting.fct_action where call_id = '1700000009.1'`);
    await facts.drain();
    expect([await by(5), await by(6), await by(8), await by(9)]).toEqual(['text', 'text', null, 'text']);
    expect(await followUps()).toEqual([{ followed_up_by: 'text' }]);
    await query('update warehouse.sms_messages set deleted_at = now() where message_id = 600');
    await facts.drain();
    expect([await by(5), await by(6), await by(9)]).toEqual([null, null, null]);
    expect(await followUps()).toEqual([{ followed_up_by: null }]);
  });

  test('the call turns out to have gone to another number', async () => {
    await query(
      `update warehouse.calls set external_number = $1, content_hash = 'new' where call_id in ('1700000102.1', '1700000103.1')`,
      number(9),
    );
    await facts.drain();
    expect([await by(2), await by(9)]).toEqual([null, 'outbound_call']);
  });

  test('the missed call was answered after all', async () => {
    await query(`update warehouse.calls set status = 'answered', content_hash = 'new' where call_id = '1700000006.1'`);
    await facts.drain();
    expect(await query('select from reporting.missed_calls where call_id = $1', '1700000006.1')).toEqual([]);
  });

  test('the window is made shorter', async () => {
    await facts.params({ callback_window: '30 minutes' });
    expect(
      await query(
        `select found_count::integer from reporting.data_quality where check_name like 'definitions changed%'`,
      ),
    ).toEqual([{ found_count: 1 }]);
    await rebuildRollups(facts.db);
    expect([await by(4), await by(8)]).toEqual(['text', null]);
    expect(
      await query(
        `select found_count::integer from reporting.data_quality where check_name like 'definitions changed%'`,
      ),
    ).toEqual([{ found_count: 0 }]);
  });
});

describe('a text of a rule is no return', () => {
  const { send } = ruleFacts(facts);
  const rowOf = async (at: number) => {
    const [row] = await query(
      `select returned_by as by, is_unreturned as open, returned_at as at, minutes_to_return as minutes, texted_at as texted
       from reporting.missed_calls where external_number = $1`,
      number(at),
    );
    return row;
  };
  const followUp = (at: number) =>
    query(
      'select followed_up_by as by, followed_up_at as at from reporting.fct_action where external_number = $1',
      number(at),
    );
  const day = '2026-04-01';
  const texted = new Date(`${day}T15:01:00Z`);
  const open = { open: true, at: null, minutes: null };

  beforeAll(async () => {
    await facts.params({ callback_window: '7 days' });
    await rebuildRollups(facts.db);
    for (const at of [21, 22, 23, 24, 25]) {
      const callId = `18000000${at}.1`;
      await call({ call_id: callId, started_at: `${day}T15:00:00Z`, external_number: number(at), ...missed });
      await facts.insert('warehouse.transcripts', { transcript_id: at, call_id: callId, is_action_required: true });
      // 21: sent with an API key. 22: in the name of a user. 23: by an integration. 24: by a user.
      if (at < 25) await text(at, at, texted.toISOString(), { sent_by: at % 2 === 0 ? 7 : null });
    }
    for (const at of [21, 22]) await send('callback', texted.toISOString(), 0, { number: number(at), message_id: at });
    await facts.drain();
  });

  test('the ledger knows it by its message id, whoever the service names as its sender', async () => {
    expect(await rowOf(21)).toEqual({ by: 'automatic_text', ...open, texted });
    expect(await rowOf(22)).toEqual({ by: 'automatic_text', ...open, texted });
  });

  test('who sent one without a sender is unknown', async () => {
    expect(await rowOf(23)).toEqual({ by: 'text_by_unknown', ...open, texted });
  });

  test('a text of a user is', async () => {
    expect(await rowOf(24)).toEqual({ by: 'text', open: false, at: texted, minutes: 1, texted: null });
    expect(await rowOf(25)).toEqual({ by: null, ...open, texted: null });
  });

  test('and no follow-up either', async () => {
    expect(await followUp(22)).toEqual([{ by: 'automatic_text', at: null }]);
    expect(await followUp(23)).toEqual([{ by: 'text_by_unknown', at: null }]);
    expect(await followUp(24)).toEqual([{ by: 'text', at: texted }]);
  });

  test('stays known once a person returned the call', async () => {
    // 21: a rule texted it. 23: an unknown sender did. 24: a user did first, and a rule afterwards.
    for (const at of [21, 23]) {
      await call({
        call_id: `19000000${at}.1`,
        started_at: `${day}T16:00:00Z`,
        direction: 'outbound',
        external_number: number(at),
      });
    }
    await text(124, 24, `${day}T17:00:00Z`, { sent_by: null });
    await send('callback', `${day}T17:00:00Z`, 0, { number: number(24), message_id: 124 });
    await facts.drain();
    const known = (at: number) =>
      query(
        `select returned_by as by, texted_at as texted, rule_texted_at as by_rule from reporting.missed_calls where external_number = $1`,
        number(at),
      );
    const later = new Date(`${day}T17:00:00Z`);
    expect(await known(21)).toEqual([{ by: 'outbound_call', texted, by_rule: texted }]);
    expect(await known(23)).toEqual([{ by: 'outbound_call', texted, by_rule: null }]);
    expect(await known(24)).toEqual([{ by: 'text', texted: later, by_rule: later }]);
    // The text itself goes, and the calls that a person returned with it.
    await query('update warehouse.sms_messages set deleted_at = now() where message_id = 124');
    await query(`update warehouse.calls set deleted_at = now() where call_id like '19000000%'`);
    await facts.drain();
    expect(await known(24)).toEqual([{ by: 'text', texted: null, by_rule: null }]);
    expect(await known(21)).toEqual([{ by: 'automatic_text', texted, by_rule: texted }]);
  });

  test('a rule and its texts are one join', async () => {
    await drainOutcomes(facts.db);
    expect(
      await query(
        `select o.rule, o.sent_count::integer as sent, count(*)::integer as texts, min(m.number) as first
         from reporting.rule_outcomes o join reporting.fct_sms_message m on m.rule = o.rule and m.local_date = o.local_date
         where o.local_date = $1 group by 1, 2`,
        day,
      ),
    ).toEqual([{ rule: 'callback', sent: 3, texts: 2, first: number(21) }]);
    expect(await query(`select rule from reporting.fct_sms_message where message_id in (23, 24)`)).toEqual([
      { rule: null },
      { rule: null },
    ]);
  });

  test('a voicemail that a rule answered waits', async () => {
    await query(
      `update warehouse.calls set status = 'voicemail', content_hash = 'v' where external_number = $1`,
      number(21),
    );
    await facts.drain();
    expect(
      await query(
        `select returned_by, is_unreturned from reporting.missed_calls where outcome = 'voicemail' and external_number = $1`,
        number(21),
      ),
    ).toEqual([{ returned_by: 'automatic_text', is_unreturned: true }]);
  });

  test('one that turns out to be of a rule is none from then on', async () => {
    await query(`update warehouse.sms_messages set send_id = gen_random_uuid() where message_id = 24`);
    await facts.drain();
    expect(await rowOf(24)).toEqual({ by: 'automatic_text', ...open, texted });
  });

  test('a person who gets in touch after the rule returns the call', async () => {
    const calledAt = `${day}T16:00:00Z`;
    await call({ call_id: '1800000099.1', started_at: calledAt, direction: 'outbound', external_number: number(21) });
    await text(99, 22, `${day}T15:31:00Z`);
    await facts.drain();
    expect(await rowOf(21)).toMatchObject({ by: 'outbound_call', open: false, minutes: 60, texted });
    expect(await rowOf(22)).toMatchObject({ by: 'text', open: false, minutes: 31, texted });
    expect(await followUp(21)).toEqual([{ by: 'outbound_call', at: new Date(calledAt) }]);
  });

  test('and one that is deleted is forgotten', async () => {
    await query('update warehouse.sms_messages set deleted_at = now() where message_id = 24');
    await facts.drain();
    expect(await rowOf(24)).toEqual({ by: null, ...open, texted: null });
  });
});

test('the window is as long on a server whose time zone changes its clock within it', async () => {
  const callId = '1900000001.1';
  await call({ call_id: callId, started_at: '2026-03-04T12:00:00Z', external_number: number(31), ...missed });
  await call({
    call_id: '1900000002.1',
    started_at: '2026-03-11T11:30:00Z',
    direction: 'outbound',
    external_number: number(31),
  });
  const url = `${facts.url}?options=-c%20TimeZone%3DAmerica%2FNew_York`;
  const plain = new Client({ connectionString: url });
  await plain.connect();
  expect((await plain.query('show timezone')).rows).toEqual([{ TimeZone: 'America/New_York' }]);
  await plain.end();
  await using inNewYork = openDatabase(url);
  expect(await inNewYork.value('show timezone')).toBe('UTC');
  await rebuildRollups(inNewYork.db);
  expect(await query('select returned_by as by from reporting.missed_calls where call_id = $1', callId)).toEqual([
    { by: 'outbound_call' },
  ]);
});
