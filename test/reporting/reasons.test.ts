import { afterAll, beforeAll, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const ivr = { called_type: 'ivr', called_number: '500' };
const queue = { called_type: 'queue', called_number: '601' };
const user = { called_type: 'user', called_number: '201' };
const mailbox = { called_type: 'mailbox', called_number: '201' };
const outside = { called_type: 'external', called_number: '15551112222' };
const voicemail = { status: 'voicemail', talk_seconds: 20, is_recorded: null, called_type: 'mailbox' };
const hungUp = { is_abandoned: true, duration_seconds: 60 };
const open = '15:00';
const closed = '23:00';

/** Unanswered calls of Monday: hour, call, legs, and what `missed_calls` says of it. */
const cases: readonly (readonly [string, object, readonly object[], string, string, boolean | null, number | null])[] =
  [
    [open, hungUp, [ivr], 'menu', 'menu', null, null],
    [open, {}, [ivr], 'menu', 'menu', null, null],
    [open, hungUp, [ivr, queue], 'queue', 'queue', null, null],
    [open, hungUp, [ivr, queue, user], 'rang', 'rang', null, null],
    [open, {}, [user], 'rang', 'rang', null, null],
    [open, {}, [{ ...outside, caller_type: 'ivr' }], 'rang', 'rang', null, null],
    [open, {}, [outside], 'unknown', 'unknown', null, null],
    [open, {}, [{ called_type: 'Hunt-Group', called_number: '701' }], 'queue', 'queue', null, null],
    [open, voicemail, [ivr, user, { ...mailbox, talk_seconds: 20 }], 'mailbox', 'mailbox', true, 20],
    [open, voicemail, [{ ...mailbox, talk_seconds: 2 }], 'mailbox', 'mailbox_without_message', false, 2],
    [open, { ...voicemail, talk_seconds: 0 }, [], 'mailbox', 'mailbox_without_message', false, 0],
    [open, { ...voicemail, talk_seconds: 1, is_recorded: true }, [], 'mailbox', 'mailbox', true, 1],
    [open, { ...voicemail, talk_seconds: null }, [], 'mailbox', 'mailbox', null, null],
    [open, { called_type: 'user' }, [], 'unknown', 'unknown', null, null],
    [open, { called_type: 'ivr' }, [], 'unknown', 'unknown', null, null],
    [open, {}, [ivr, { called_type: null }], 'unknown', 'unknown', null, null],
    [closed, hungUp, [ivr, queue], 'queue', 'closed', null, null],
    [closed, voicemail, [{ ...mailbox, talk_seconds: 20 }], 'mailbox', 'closed', true, 20],
  ];
const idOf = (at: number) => `${1772463600 + at}.1`;

beforeAll(async () => {
  await facts.user(1, ['201']);
  for (const [at, [hour, values, legs]] of cases.entries()) {
    await facts.call({
      ...{
        call_id: idOf(at),
        started_at: `2026-03-02T${hour}:${String(at).padStart(2, '0')}Z`,
        status: 'missed',
        talk_seconds: 0,
      },
      ...{ called_type: 'ivr', called_number: '500', external_number: `15552220${String(at).padStart(3, '0')}` },
      ...{ leg_count: legs.length, legs_fetched_at: '2026-03-03T00:00:00Z', ...values },
    });
    for (const [nth, leg] of legs.entries()) {
      await facts.insert('warehouse.call_legs', { call_id: idOf(at), leg_key: `#${nth}`, ordinal: nth + 1, ...leg });
    }
    await facts.measure(idOf(at));
  }
  // Answered: two in business hours, one while closed.
  for (const [nth, hour] of ['15:30', '15:31', '23:30'].entries()) {
    await facts.call({
      call_id: `177247000${nth}.1`,
      started_at: `2026-03-02T${hour}:00Z`,
      external_number: '15553330000',
    });
  }
  await facts.drain();
});

test.each(cases.map((each, at) => [at, ...each] as const))(
  '%i: at %s a call %j with legs %j came to %s',
  async (at, hour, _values, _legs, reached, reason, isMessageLeft, seconds) => {
    expect(
      await query(
        `select m.reached, m.reason, m.is_message_left, m.message_seconds, m.is_business_hours, c.reached as of_call
         from reporting.missed_calls m join reporting.fct_call c using (call_id) where call_id = $1`,
        idOf(at),
      ),
    ).toEqual([
      {
        ...{ reached, reason, is_message_left: isMessageLeft, message_seconds: seconds },
        ...{ is_business_hours: hour === open, of_call: reached },
      },
    ]);
  },
);

test('the queue of a missed call is the last that it entered', async () => {
  expect(
    await query(`select queue_key, count(*)::integer as calls from reporting.missed_calls group by 1 order by 1`),
  ).toEqual([
    { queue_key: 'huntgroup:701', calls: 1 },
    { queue_key: 'queue:601', calls: 3 },
    { queue_key: null, calls: cases.length - 4 },
  ]);
});

test('a hang-up in the menu tells where, flagged as abandoned or not', async () => {
  expect(
    await query(
      `select outcome, abandoned_in from reporting.fct_call where call_id in ('${idOf(0)}', '${idOf(1)}') order by call_id`,
    ),
  ).toEqual([
    { outcome: 'abandoned', abandoned_in: 'menu' },
    { outcome: 'missed', abandoned_in: 'menu' },
  ]);
  const hangUps = [{ calls: 2 }];
  expect(await query('select sum(menu_count)::integer as calls from reporting.call_hourly')).toEqual(hangUps);
});

test('a customer who called several times waits once, by the newest call that needs a call-back, until somebody calls', async () => {
  const external_number = '15552229999';
  const waiting = () =>
    query(
      `select call_id, needs_call_back, is_waiting from reporting.missed_calls where external_number = $1 order by call_id`,
      external_number,
    );
  const call = async (minute: number, values: object, legs: readonly object[]) => {
    const call_id = `17725500${minute}.1`;
    const started_at = `2026-03-03T15:${minute}:00Z`;
    const read = { leg_count: legs.length, legs_fetched_at: '2026-03-04T00:00:00Z' };
    await facts.call({ call_id, started_at, status: 'missed', talk_seconds: 0, external_number, ...read, ...values });
    for (const [nth, leg] of legs.entries()) {
      await facts.insert('warehouse.call_legs', { call_id, leg_key: `#${nth}`, ordinal: nth + 1, ...leg });
    }
    await facts.measure(call_id);
    await facts.drain();
    return call_id;
  };
  const first = await call(10, {}, [ivr, queue]);
  const second = await call(11, {}, [ivr, queue]);
  const short = await call(12, { duration_seconds: 4 }, [user]);
  const inMenu = await call(13, {}, [ivr]);
  expect(await waiting()).toEqual([
    { call_id: first, needs_call_back: true, is_waiting: false },
    { call_id: second, needs_call_back: true, is_waiting: true },
    { call_id: short, needs_call_back: false, is_waiting: false },
    { call_id: inMenu, needs_call_back: false, is_waiting: false },
  ]);
  expect(
    await query(
      `select f.call_id from reporting.fct_call f left join reporting.missed_calls m using (call_id)
       where f.needs_call_back is distinct from case when f.direction = 'inbound' then coalesce(m.needs_call_back, false) end`,
    ),
  ).toEqual([]);
  await call(14, { direction: 'outbound' }, []);
  expect((await waiting()).map(({ is_waiting }) => is_waiting)).toEqual([false, false, false, false]);
});
