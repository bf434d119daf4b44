import { beforeEach, describe, expect, test } from 'vitest';
import { createInbox } from '../../src/inbox/deliveries.ts';
import {
  deleteExpired,
  findDelivery,
  reparseDeliveries,
  replayDelivery,
  replaySince,
} from '../../src/inbox/stored-deliveries.ts';
import { type DueTarget, priorities } from '../../src/inbox/targets.ts';
import { maxReferences } from '../../src/webhooks/extract.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
beforeEach(() =>
  query(
    'truncate ops.sync_targets, ops.deliveries, secrets.bodies, warehouse.sms_lines, warehouse.sms_conversations restart identity cascade',
  ),
);

const call = (sequence: number) => ({ kind: 'call', key: `1700000001.${sequence}` }) as const;
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

/** What replays and reparses need, and how many targets were enqueued each time. */
function open() {
  const batches: (readonly DueTarget[])[] = [];
  return { batches, deps: { db, notify: (due: readonly DueTarget[]) => void batches.push(due) } };
}
const reparse = () => reparseDeliveries(open().deps);
const reparsed = (count: number) => ({ deliveries: count, targets: count });

interface Kept {
  readonly type?: string;
  readonly isRecognized?: boolean;
  readonly isTruncated?: boolean;
  readonly body?: string;
  readonly unread?: string;
  readonly days?: number;
}

/** A delivery that points at one call; `days` ago. */
async function keep(sequence: number, { isRecognized = true, body = '{}', unread, days = 0, ...more }: Kept = {}) {
  await createInbox(database, () => undefined).accept({
    ...{ eventType: more.type ?? 'AccountEndedCalls', claimedType: undefined, contentType: 'application/json' },
    ...{ userAgent: 'a sender', body, unread: unread === undefined ? undefined : Buffer.from(unread) },
    targets: isRecognized ? [call(sequence)] : [],
    isTruncated: more.isTruncated ?? false,
  });
  await query(
    `update ops.deliveries set received_at = now() - $1 * interval '1 day'
     where delivery_id = (select max(delivery_id) from ops.deliveries)`,
    days,
  );
}
/** Deliveries that were not understood, each naming a call. */
const keepMany = (count: number, rest = `''`) =>
  query(
    `insert into ops.deliveries (event_type, body, targets, is_recognized)
     select 'AccountEndedCalls', '{"callId":"1700000001.' || n || '"}' || ${rest}, '{}', false from generate_series(1, ${count}) n`,
  );

const settle = () =>
  query(
    'update ops.sync_targets set clean_version = dirty_version, claimed_version = dirty_version, is_unconfirmed = false',
  );
const pending = async () =>
  (await query<{ key: string }>('select key from ops.sync_targets where dirty_version > clean_version order by 1')).map(
    ({ key }) => key,
  );

test('shows one as it was kept', async () => {
  await keep(1, { body: '{"a":1}' });
  expect(await findDelivery(db, '1')).toMatchObject({
    ...{ id: '1', type: 'AccountEndedCalls', contentType: 'application/json', userAgent: 'a sender' },
    ...{ targets: ['call 1700000001.1'], body: '{"a":1}', isRecognized: true, isErased: false },
  });
  expect(await findDelivery(db, '2')).toBeUndefined();
});

describe('a replay', () => {
  test('of one delivery makes what it points at due, and enqueues it', async () => {
    await keep(1);
    await keep(2);
    await settle();
    const { deps, batches } = open();
    expect(await replayDelivery(deps, '2')).toEqual({ deliveries: 1, targets: 1 });
    expect(await pending()).toEqual([call(2).key]);
    expect(batches.flat()).toMatchObject([call(2)]);
    expect(await replayDelivery(deps, '7')).toBeUndefined();
  });

  test('since a moment goes behind what happens now', async () => {
    await keep(1, { days: 3 });
    await keep(2, { days: 1 });
    await keep(2);
    await settle();
    expect(await replaySince(open().deps, daysAgo(2))).toEqual({ deliveries: 2, targets: 1 });
    expect(await pending()).toEqual([call(2).key]);
    const priority = 'select priority from ops.sync_targets where key = $1';
    expect(await value(priority, call(2).key)).toBe(priorities.history);
  });

  test('leaves out kinds that this release does not know', async () => {
    await keep(1);
    await query(`update ops.deliveries set targets = '{"voicemail 5","call 1700000001.1"}'`);
    await settle();
    expect(await replayDelivery(open().deps, '1')).toEqual({ deliveries: 1, targets: 1 });
  });
});

describe('reparsing', () => {
  test('reads what could not be understood as today, and makes it due', async () => {
    await keep(1, { isRecognized: false, body: '{"callId":"1700000001.9","secret":"[redacted]"}' });
    await keep(2, { isRecognized: false, body: 'still nothing' });
    const { deps, batches } = open();
    expect(await reparseDeliveries(deps)).toEqual(reparsed(1));
    expect(await findDelivery(db, '1')).toMatchObject({ isRecognized: true, targets: ['call 1700000001.9'] });
    expect(await findDelivery(db, '2')).toMatchObject({ isRecognized: false, targets: [] });
    expect(await pending()).toEqual([call(9).key]);
    expect(batches.flat()).toHaveLength(1);
    expect(await reparse()).toEqual(reparsed(0));
  });

  test('tells the sides of a text apart by the lines that are known today', async () => {
    await query(
      `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ('18005550100', 'h', 't', 1, now())`,
    );
    const body = '{"fromNumber":"18455550123","toNumber":"18005550100","message":"hi"}';
    await keep(1, { type: 'AccountSMS', isRecognized: false, body });
    await reparse();
    expect(await pending()).toEqual(['18005550100/18455550123']);
  });

  test('finds the thread of a receipt once the mirror holds its text', async () => {
    await keep(1, { type: 'AccountSMS', isRecognized: false, body: '{"messageId":77,"status":"delivered"}' });
    expect(await reparse()).toEqual(reparsed(0));
    await query(
      `with c as (insert into warehouse.sms_conversations (line, number) values ('18005550100', '18455550123')
         returning conversation_id)
       insert into warehouse.sms_messages (conversation_id, message_id, line, number, content_hash, source, fetch_seq, fetched_at)
       select conversation_id, 77, '18005550100', '18455550123', 'h', 't', 1, now() from c`,
    );
    expect(await reparse()).toEqual(reparsed(1));
    expect(await pending()).toEqual(['18005550100/18455550123']);
  });

  test('reads a body that was kept whole, and keeps it without its secret from then on', async () => {
    await keep(1, { isRecognized: false, body: '', unread: '{"callId":"1700000001.9","secret":"hush"}' });
    await keep(2, { isRecognized: false, body: '', unread: '--b\r\nstill nothing' });
    for (const [id, unreadBytes] of [
      ['1', 41],
      ['2', 18],
    ] as const)
      expect(await findDelivery(db, id)).toMatchObject({ unreadBytes });
    expect(await reparse()).toEqual(reparsed(1));
    const body = '{"callId":"1700000001.9","secret":"[redacted]"}';
    expect(await findDelivery(db, '1')).toMatchObject({ isRecognized: true, unreadBytes: null, body });
    expect(await query('select delivery_id, bytes from secrets.bodies')).toEqual([
      { delivery_id: '2', bytes: Buffer.from('--b\r\nstill nothing') },
    ]);
  });

  test('takes no more of a delivery than a new one may name', async () => {
    const ids = Array.from({ length: maxReferences + 5 }, (_, at) => `1700000007.${1_000 + at}`);
    await keep(1, { isTruncated: true, body: JSON.stringify({ callIds: ids }) });
    expect(await reparse()).toEqual(reparsed(0));
    expect(await findDelivery(db, '1')).toMatchObject({ isRecognized: false, targets: ['call 1700000001.1'] });
  });

  test('goes through more than one batch holds', async () => {
    await keepMany(2_500);
    expect(await reparse()).toEqual(reparsed(2_500));
    expect(await pending()).toHaveLength(2_500);
  });

  test('holds a few large ones at once', async () => {
    await keepMany(20, `repeat(' ', 1000000)`);
    const { deps, batches } = open();
    expect(await reparseDeliveries(deps)).toEqual(reparsed(20));
    expect(batches.map((due) => due.length)).toEqual([9, 9, 2, 0]);
  });
});

test('what is older than the retention goes, over as many rounds as it needs, and with it what was kept whole', async () => {
  await query(
    `insert into ops.deliveries (event_type, body, targets, is_recognized, received_at)
     select 'AccountSMS', '{}', '{}', true, now() - interval '30 days 1 minute' from generate_series(1, 12000)`,
  );
  await query(`insert into secrets.bodies values (1, 'old', now() - interval '31 days'), (2, 'new', now())`);
  await keep(1, { days: 29.99 });
  expect([await deleteExpired(db, 30), await deleteExpired(db, 30)]).toEqual([12_000, 0]);
  expect(await value('select count(*)::int from ops.deliveries')).toBe(1);
  expect(await query('select delivery_id from secrets.bodies')).toEqual([{ delivery_id: '2' }]);
});
