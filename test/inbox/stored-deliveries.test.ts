import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createInbox } from '../../src/inbox/deliveries.ts';
import {
  deleteExpired,
  findDelivery,
  listDeliveries,
  reparseDeliveries,
  replayDelivery,
  replaySince,
  unreadBody,
} from '../../src/inbox/stored-deliveries.ts';
import { type DueTarget, priorities } from '../../src/inbox/targets.ts';
import { maxReferences } from '../../src/webhooks/extract.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db } = database;
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => database.query('truncate ops.sync_targets, ops.deliveries, secrets.bodies restart identity'));

const pauses = { activeMs: 0, refusedMs: 0 };
const call = (sequence: number) => ({ kind: 'call', key: `1700000001.${sequence}` }) as const;

function openReaderHarness() {
  const due: DueTarget[] = [];
  return { db, pauses, notify: (enqueued: readonly DueTarget[]) => void due.push(...enqueued), due };
}

/** A delivery that points at one call; `days` ago. */
async function keep(
  sequence: number,
  more: {
    type?: string;
    isRecognized?: boolean;
    isTruncated?: boolean;
    body?: string;
    unread?: string;
    days?: number;
  } = {},
) {
  const { type = 'AccountEndedCalls', isRecognized = true, isTruncated = false, body = '{}', unread, days = 0 } = more;
  await createInbox(database, pauses, () => undefined).accept({
    eventType: type,
    claimedType: undefined,
    contentType: 'application/json',
    userAgent: 'a sender',
    body,
    unread: unread === undefined ? undefined : Buffer.from(unread),
    targets: isRecognized ? [call(sequence)] : [],
    isTruncated,
  });
  await database.query(
    `update ops.deliveries set received_at = now() - $1 * interval '1 day'
     where delivery_id = (select max(delivery_id) from ops.deliveries)`,
    days,
  );
}

const settle = () =>
  database.query(
    'update ops.sync_targets set clean_version = dirty_version, claimed_version = dirty_version, is_unconfirmed = false',
  );
const pending = async () =>
  (
    await database.query<{ key: string }>(
      'select key from ops.sync_targets where dirty_version > clean_version order by 1',
    )
  ).map(({ key }) => key);
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

test('lists the newest first, those that are asked for', async () => {
  await keep(1, { days: 2 });
  await keep(2, { type: 'AccountSMS', isRecognized: false });
  await keep(3);
  const ids = async (which: Parameters<typeof listDeliveries>[1]) =>
    (await listDeliveries(db, which)).map(({ id }) => id);
  expect(await ids({})).toEqual(['3', '2', '1']);
  expect(await ids({ isUnrecognized: true })).toEqual(['2']);
  expect(await ids({ since: daysAgo(1) })).toEqual(['3', '2']);
});

test('shows one as it was kept', async () => {
  await keep(1, { body: '{"a":1}' });
  expect(await findDelivery(db, '1')).toMatchObject({
    id: '1',
    type: 'AccountEndedCalls',
    contentType: 'application/json',
    userAgent: 'a sender',
    targets: ['call 1700000001.1'],
    body: '{"a":1}',
    isRecognized: true,
    isErased: false,
  });
  expect(await findDelivery(db, '2')).toBeUndefined();
});

describe('a replay', () => {
  test('of one delivery makes what it points at due, and enqueues it', async () => {
    await keep(1);
    await keep(2);
    await settle();
    const harness = openReaderHarness();
    expect(await replayDelivery(harness, '2')).toEqual({ deliveries: 1, targets: 1 });
    expect(await pending()).toEqual(['1700000001.2']);
    expect(harness.due).toMatchObject([call(2)]);
  });

  test('of a delivery that is not kept is none', async () => {
    expect(await replayDelivery(openReaderHarness(), '7')).toBeUndefined();
  });

  test('since a moment goes behind what happens now', async () => {
    await keep(1, { days: 3 });
    await keep(2, { days: 1 });
    await keep(2);
    await settle();
    expect(await replaySince(openReaderHarness(), daysAgo(2))).toEqual({ deliveries: 2, targets: 1 });
    expect(await pending()).toEqual(['1700000001.2']);
    expect(await database.value(`select priority from ops.sync_targets where key = '1700000001.2'`)).toBe(
      priorities.history,
    );
  });

  test('leaves out kinds that this release does not know', async () => {
    await keep(1);
    await database.query(`update ops.deliveries set targets = '{"voicemail 5","call 1700000001.1"}'`);
    await settle();
    expect(await replayDelivery(openReaderHarness(), '1')).toEqual({ deliveries: 1, targets: 1 });
  });
});

describe('reparsing', () => {
  test('reads what could not be understood as today, and makes it due', async () => {
    await keep(1, { isRecognized: false, body: '{"callId":"1700000001.9","secret":"[redacted]"}' });
    await keep(2, { isRecognized: false, body: 'still nothing' });
    const harness = openReaderHarness();
    expect(await reparseDeliveries(harness)).toEqual({ deliveries: 1, targets: 1 });
    expect(await findDelivery(db, '1')).toMatchObject({ isRecognized: true, targets: ['call 1700000001.9'] });
    expect(await findDelivery(db, '2')).toMatchObject({ isRecognized: false, targets: [] });
    expect(await pending()).toEqual(['1700000001.9']);
    expect(harness.due).toHaveLength(1);
    expect(await reparseDeliveries(harness)).toEqual({ deliveries: 0, targets: 0 });
  });

  test('tells the sides of a text apart by the lines that are known today', async () => {
    await database.query(
      `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ('18005550100', 'h', 't', 1, now())`,
    );
    const body = '{"fromNumber":"18455550123","toNumber":"18005550100","message":"hi"}';
    await keep(1, { type: 'AccountSMS', isRecognized: false, body });
    await reparseDeliveries(openReaderHarness());
    expect(await pending()).toEqual(['18005550100/18455550123']);
  });

  test('finds the thread of a receipt once the mirror holds its text', async () => {
    await keep(1, { type: 'AccountSMS', isRecognized: false, body: '{"messageId":77,"status":"delivered"}' });
    expect(await reparseDeliveries(openReaderHarness())).toEqual({ deliveries: 0, targets: 0 });
    await database.query(
      `with c as (insert into warehouse.sms_conversations (line, number) values ('18005550100', '18455550123')
         returning conversation_id)
       insert into warehouse.sms_messages (conversation_id, message_id, line, number, content_hash, source, fetch_seq, fetched_at)
       select conversation_id, 77, '18005550100', '18455550123', 'h', 't', 1, now() from c`,
    );
    expect(await reparseDeliveries(openReaderHarness())).toEqual({ deliveries: 1, targets: 1 });
    expect(await pending()).toEqual(['18005550100/18455550123']);
  });

  test('reads a body that was kept whole, and keeps it without its secret from then on', async () => {
    await keep(1, { isRecognized: false, body: '', unread: '{"callId":"1700000001.9","secret":"hush"}' });
    await keep(2, { isRecognized: false, body: '', unread: '--b\r\nstill nothing' });
    expect(await listDeliveries(db, {})).toMatchObject([{ unreadBytes: 18 }, { unreadBytes: 41 }]);
    expect(await reparseDeliveries(openReaderHarness())).toEqual({ deliveries: 1, targets: 1 });
    const body = '{"callId":"1700000001.9","secret":"[redacted]"}';
    expect(await findDelivery(db, '1')).toMatchObject({ isRecognized: true, unreadBytes: null, body });
    expect(await unreadBody(db, '1')).toBeUndefined();
    expect(await unreadBody(db, '2')).toEqual(Buffer.from('--b\r\nstill nothing'));
  });

  test('takes no more of a delivery than a new one may name', async () => {
    const ids = Array.from({ length: maxReferences + 5 }, (_, at) => `1700000007.${1_000 + at}`);
    await keep(1, { isTruncated: true, body: JSON.stringify({ callIds: ids }) });
    expect(await reparseDeliveries(openReaderHarness())).toEqual({ deliveries: 0, targets: 0 });
    expect(await findDelivery(db, '1')).toMatchObject({ isRecognized: false, targets: ['call 1700000001.1'] });
  });

  test('goes through more than one batch holds', async () => {
    await database.query(
      `insert into ops.deliveries (event_type, body, targets, is_recognized)
       select 'AccountEndedCalls', '{"callId":"1700000001.' || n || '"}', '{}', false from generate_series(1, 2500) n`,
    );
    expect(await reparseDeliveries(openReaderHarness())).toEqual({ deliveries: 2_500, targets: 2_500 });
    expect(await pending()).toHaveLength(2_500);
  });

  test('holds a few large ones at once', async () => {
    await database.query(
      `insert into ops.deliveries (event_type, body, targets, is_recognized)
       select 'AccountEndedCalls', '{"callId":"1700000001.' || n || '"}' || repeat(' ', 1000000), '{}', false
       from generate_series(1, 20) n`,
    );
    const found: number[] = [];
    const harness = { ...openReaderHarness(), notify: (due: readonly DueTarget[]) => void found.push(due.length) };
    expect(await reparseDeliveries(harness)).toEqual({ deliveries: 20, targets: 20 });
    expect(found).toEqual([9, 9, 2, 0]);
  });
});

test('what is older than the retention goes, over as many rounds as it needs, and with it what was kept whole', async () => {
  await database.query(
    `insert into ops.deliveries (event_type, body, targets, is_recognized, received_at)
     select 'AccountSMS', '{}', '{}', true, now() - interval '30 days 1 minute' from generate_series(1, 12000)`,
  );
  await database.query(`insert into secrets.bodies values (1, 'old', now() - interval '31 days'), (2, 'new', now())`);
  await keep(1, { days: 29.99 });
  expect(await deleteExpired(db, 30)).toBe(12_000);
  expect(await listDeliveries(db, {})).toHaveLength(1);
  expect(await database.query('select delivery_id from secrets.bodies')).toEqual([{ delivery_id: '2' }]);
  expect(await deleteExpired(db, 30)).toBe(0);
});
