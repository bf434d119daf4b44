import { afterAll, beforeEach, expect, test } from 'vitest';
import { readAnnouncing, unannouncedStreams } from '../../../src/sync/subscriptions/store.ts';
import { migratedDatabase } from '../../world/database.ts';

const database = await migratedDatabase();
const { db, query } = database;
afterAll(() => database[Symbol.asyncDispose]());

const ago = (minutes: number) => `now() - interval '${minutes} minutes'`;
const provenance = `'h', 'test', 1, now()`;

/** Two hours ago a receiver started and subscribed, and finds both subscriptions in place since then. */
beforeEach(async () => {
  await query(
    'truncate ops.processes, ops.deliveries, ops.subscription_watch, warehouse.calls, warehouse.sms_conversations, warehouse.sms_messages cascade',
  );
  await query(
    `insert into ops.processes (process_id, role, started_at, seen_at) values ('w', 'web', ${ago(120)}, now())`,
  );
  await query(`insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at, changed_at)
    select type, true, 'in_place', now(), ${ago(120)} from unnest(array['AccountSMS', 'AccountEndedCalls']) type`);
});

let count = 0;
const next = () => {
  count += 1;
  return count;
};
const happens = {
  call: (minutes: number) =>
    query(`insert into warehouse.calls (call_id, external_number, started_at, ended_at, content_hash, source, fetch_seq, fetched_at)
      values ('1.${next()}', '12125550142', ${ago(minutes + 1)}, ${ago(minutes)}, ${provenance})`),
  internalCall: (minutes: number) =>
    query(`insert into warehouse.calls (call_id, started_at, ended_at, content_hash, source, fetch_seq, fetched_at)
      values ('1.${next()}', ${ago(minutes + 1)}, ${ago(minutes)}, ${provenance})`),
  text: (minutes: number, direction = 'in') =>
    query(`with held as (
        insert into warehouse.sms_conversations (line, number) values ('16465550100', '1212555${1000 + next()}')
        returning conversation_id, line, number
      )
      insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, sent_at, content_hash, source, fetch_seq, fetched_at)
      select conversation_id, ${count}, line, number, '${direction}', ${ago(minutes)}, ${provenance} from held`),
  delivery: (type: string | null, minutes: number) =>
    query(
      `insert into ops.deliveries (event_type, body, targets, named, is_recognized, is_erased, received_at)
       values ($1, '', '{}', '{}', true, false, ${ago(minutes)})`,
      type,
    ),
};

async function lostOf(): Promise<Record<string, number>> {
  return Object.fromEntries(
    (await readAnnouncing(db)).flatMap(({ stream, lost }) => (lost > 0 ? [[stream, lost]] : [])),
  );
}

test.each<[string, () => Promise<unknown>[], Record<string, number>]>([
  ['nothing happens', () => [], {}],
  [
    'calls and texts that deliveries followed',
    () => [
      ...[50, 40, 30].map((at) => happens.call(at)),
      happens.delivery('AccountEndedCalls', 29.9),
      ...[50, 40, 30].map((at) => happens.text(at)),
      happens.delivery('AccountSMS', 29.9),
    ],
    {},
  ],
  ['calls without a delivery', () => [50, 40, 30].map((at) => happens.call(at)), { calls: 3 }],
  ['one call and one text without a delivery', () => [happens.call(50), happens.text(40)], {}],
  ['a single call without a delivery', () => [happens.call(50)], {}],
  ['what a delivery may still announce', () => [happens.call(2), happens.call(1), happens.text(2)], {}],
  [
    'a delivery that another process took, after calls',
    () => [happens.call(50), happens.call(40), happens.delivery('AccountEndedCalls', 30)],
    {},
  ],
  [
    'calls alone are announced',
    () => [happens.call(50), happens.text(40), happens.text(30), happens.delivery('AccountEndedCalls', 20)],
    { texts: 2 },
  ],
  ['deliveries of an unknown kind', () => [happens.call(50), happens.call(40), happens.delivery(null, 30)], {}],
  [
    'clocks that differ a little',
    () => [happens.delivery('AccountEndedCalls', 30), happens.call(29.5), happens.call(29.4)],
    {},
  ],
  [
    'history from before the subscription',
    () => [...[300, 200, 130].map((at) => happens.call(at)), happens.text(300)],
    {},
  ],
  [
    'texts that we sent, and calls within the office',
    () => [...[50, 40].map((at) => happens.text(at, 'out')), ...[50, 40].map((at) => happens.internalCall(at))],
    {},
  ],
])('%s', async (_, happening, expected) => {
  await Promise.all(happening());
  expect(await lostOf()).toEqual(expected);
  expect(await unannouncedStreams(db)).toEqual(Object.keys(expected));
});

test('what happened before the oldest receiver started is no evidence', async () => {
  await Promise.all([50, 40, 30].map((at) => happens.call(at)));
  await query(`update ops.processes set started_at = ${ago(20)}`);
  expect(await lostOf()).toEqual({});
  await query(
    `insert into ops.processes (process_id, role, started_at, seen_at) values ('s', 'start', ${ago(90)}, now())`,
  );
  expect(await lostOf()).toEqual({ calls: 3 });
});

test('a stream whose subscription is not known to be in place is polled, and proves nothing', async () => {
  await Promise.all([50, 40, 30].map((at) => happens.call(at)));
  await query(`update ops.subscription_watch set in_place_at = ${ago(3)}`);
  expect(await lostOf()).toEqual({});
  expect(await unannouncedStreams(db)).toEqual(['calls', 'texts']);
  await query('truncate ops.subscription_watch');
  expect(await lostOf()).toEqual({});
  expect(await unannouncedStreams(db)).toEqual(['calls', 'texts']);
});

test('calls are asked for every two minutes while no delivery came for five', async () => {
  const hour = `date_trunc('hour', now(), 'UTC')`;
  await query(`insert into ops.coverage (stream, from_at, to_at, is_watched, due_at)
    values ('calls', ${hour}, ${hour} + interval '1 hour', true, now())`);
  await query(`delete from ops.deliveries`);
  expect(await unannouncedStreams(db)).toEqual(['calls']);
  await query(`update ops.coverage set claimed_until = now() + interval '15 seconds'`);
  expect(await unannouncedStreams(db)).toEqual([]);
  await query(`update ops.coverage set claimed_until = now() - interval '106 seconds'`);
  expect(await unannouncedStreams(db)).toEqual(['calls']);
  await happens.delivery('AccountSMS', 1);
  expect(await unannouncedStreams(db)).toEqual(['calls']);
  await happens.delivery('AccountEndedCalls', 4);
  expect(await unannouncedStreams(db)).toEqual([]);
  await query('truncate ops.coverage');
});
