import { beforeEach, expect, test } from 'vitest';
import { readAnnouncing, unannouncedStreams } from '../../../src/sync/subscriptions/store.ts';
import { migratedDatabase } from '../../world/database.ts';

const database = await migratedDatabase();
const { db, query } = database;

const ago = (minutes: number | string) => `now() - interval '${minutes} minutes'`;
const provenance = `'h', 'test', 1, now()`;

/** Two hours ago a receiver started and subscribed, and finds both subscriptions in place since then. */
beforeEach(async () => {
  await query(
    `truncate ops.processes, ops.deliveries, ops.gaps, ops.subscription_watch, ops.coverage, warehouse.calls, warehouse.sms_conversations,
       warehouse.sms_messages cascade`,
  );
  await query(
    `insert into ops.processes (process_id, role, started_at, seen_at) values ('w', 'web', ${ago(120)}, now())`,
  );
  await query(`insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at, changed_at)
    select type, true, 'in_place', now(), ${ago(120)} from unnest(array['AccountSMS', 'AccountEndedCalls']) type`);
  await query(`insert into warehouse.sms_conversations (line, number) values ('16465550100', '12125550142')`);
});

const columns = 'content_hash, source, fetch_seq, fetched_at';
const call = (number: string) => (at: string, sequence: number) =>
  query(`insert into warehouse.calls (call_id, external_number, started_at, ended_at, ${columns})
    values ('1.${sequence}', ${number}, ${ago(Number(at) + 1)}, ${ago(at)}, ${provenance})`);
const text = (direction: string) => (at: string, sequence: number) =>
  query(`insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, sent_at, ${columns})
    select conversation_id, ${sequence}, line, number, '${direction}', ${ago(at)}, ${provenance} from warehouse.sms_conversations`);
const told = (type: string) => (at: string) =>
  query(`insert into ops.deliveries (event_type, body, targets, named, is_recognized, is_erased, received_at)
    values (${type}, '', '{}', '{}', true, false, ${ago(at)})`);
const kinds: Readonly<Record<string, (at: string, sequence: number) => Promise<unknown>>> = {
  call: call(`'12125550142'`),
  internal: call('null'),
  text: text('in'),
  sent: text('out'),
  'told-call': told(`'AccountEndedCalls'`),
  'told-text': told(`'AccountSMS'`),
  'told-unknown': told('null'),
};

/** Lets things happen that are told as `kind@minutes ago`. */
async function happens(events: string): Promise<void> {
  for (const [at, event] of events.split(' ').filter(Boolean).entries()) {
    const [kind = '', minutes = ''] = event.split('@');
    await kinds[kind]?.(minutes, at);
  }
}

const lost = async () =>
  (await readAnnouncing(db)).flatMap(({ stream, lost }) => (lost > 0 ? [`${lost} ${stream}`] : [])).join();
const polled = async () => (await unannouncedStreams(db)).join();

test.each<[string, string, string]>([
  ['nothing happens', '', ''],
  [
    'calls and texts that deliveries followed',
    'call@50 call@40 call@30 told-call@29.9 text@50 text@40 text@30 told-text@29.9',
    '',
  ],
  ['calls without a delivery', 'call@50 call@40 call@30', '3 calls'],
  ['one call and one text without a delivery', 'call@50 text@40', ''],
  ['a single call without a delivery', 'call@50', ''],
  ['what a delivery may still announce', 'call@2 call@1 text@2', ''],
  ['a delivery that another process took, after calls', 'call@50 call@40 told-call@30', ''],
  ['calls alone are announced', 'call@50 text@40 text@30 told-call@20', '2 texts'],
  ['deliveries of an unknown kind', 'call@50 call@40 told-unknown@30', ''],
  ['clocks that differ a little', 'told-call@30 call@29.5 call@29.4', ''],
  ['history from before the subscription', 'call@300 call@200 call@130 text@300', ''],
  ['texts that we sent, and calls within the office', 'sent@50 sent@40 internal@50 internal@40', ''],
])('%s', async (_, events, expected) => {
  await happens(events);
  expect([await lost(), await polled()]).toEqual([expected, expected.replace(/\d /, '')]);
});

test.each([
  ['while no receiver ran are no evidence', 60, 25, ''],
  ['before a receiver was restarted are not forgotten', 29, 20, '3 calls'],
] as const)('calls %s', async (_, from, to, expected) => {
  await happens('call@50 call@40 call@30');
  await query(`update ops.processes set started_at = ${ago(to)}`);
  await query(`insert into ops.gaps (stream, from_at, to_at, reason)
    values ('calls', ${ago(from)} - interval '4 hours', ${ago(to)}, 'no receiver ran')`);
  expect(await lost()).toBe(expected);
});

test.each([
  ['was found in place long ago', `update ops.subscription_watch set in_place_at = ${ago(3)}`],
  ['is not known', 'truncate ops.subscription_watch'],
])('a stream whose subscription %s is polled, and proves nothing', async (_, change) => {
  await happens('call@50 call@40 call@30');
  await query(change);
  expect([await lost(), await polled()]).toEqual(['', 'calls,texts']);
});

test('calls are asked for every two minutes while no delivery came for five', async () => {
  const hour = `date_trunc('hour', now(), 'UTC')`;
  await query(`insert into ops.coverage (stream, from_at, to_at, is_watched, due_at)
    values ('calls', ${hour}, ${hour} + interval '1 hour', true, now())`);
  expect(await polled()).toBe('calls');
  await query(`update ops.coverage set claimed_until = now() + interval '15 seconds'`);
  expect(await polled()).toBe('');
  await query(`update ops.coverage set claimed_until = now() - interval '106 seconds'`);
  expect(await polled()).toBe('calls');
  await happens('told-text@1');
  expect(await polled()).toBe('calls');
  await happens('told-call@4');
  expect(await polled()).toBe('');
});
