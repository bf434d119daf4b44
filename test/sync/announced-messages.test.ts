import { afterAll, describe, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';
import { deliveryAcceptor } from './accept-delivery.ts';
import { threadsIn } from './thread-harness.ts';
import { message, messages, threadService } from './thread-service.ts';

const database = await migratedDatabase();
const { withThread } = threadsIn(database);

afterAll(() => database[Symbol.asyncDispose]());

describe('a message that an event named', () => {
  const tell = deliveryAcceptor(database);
  const pending = async (key: string) => {
    const [row] = await database.query<{ is_owed: boolean; seconds: number }>(
      `select dirty_version > clean_version as is_owed, extract(epoch from due_at - now())::float8 as seconds
       from ops.sync_targets where key = $1`,
      key,
    );
    return row?.is_owed ? row.seconds : undefined;
  };
  const told = (key: string, id: number) => tell('AccountSMS', { kind: 'thread', key, messageId: String(id) });

  test('is looked for again while the thread does not show it, and then no more', async () => {
    const { harness, key, thread } = await withThread(messages(3));
    await told(key, 3);
    await harness.read('thread', key);
    expect(await pending(key)).toBeUndefined();
    await told(key, 4);
    await harness.read('thread', key);
    expect(await pending(key)).toBeLessThanOrEqual(1);
    thread.messages.push(message(4));
    await harness.pass({ kind: 'thread', key });
    expect(await harness.readIfPending('thread', key)).toBe('mirrored');
    expect(
      await database.value('select count(*)::integer from warehouse.sms_messages where number = $1', key.split('/')[1]),
    ).toBe(4);
    expect(await pending(key)).toBeUndefined();
  });

  test('is looked for also where only the answer to a send of ours has named it', async () => {
    const { harness, key, thread } = await withThread(messages(3));
    const [line, number] = key.split('/');
    await harness.read('thread', key);
    await database.query(
      `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, body, mode, limits, expires_at, state, message_id, dispatched_at, settled_at)
       values ('ping', $1, $2, 'message', '3', now(), 'Pong', 'live', '{}', now(), 'SENT', 4, now(), now())`,
      line,
      number,
    );
    await harness.read('thread', key);
    expect(await pending(key)).toBeLessThanOrEqual(1);
    thread.messages.push(message(4, { direction: 'out' }));
    await harness.pass({ kind: 'thread', key });
    expect(await harness.readIfPending('thread', key)).toBe('mirrored');
    expect(await database.value('select count(*)::integer from warehouse.sms_messages where number = $1', number)).toBe(
      4,
    );
    expect(await pending(key)).toBeUndefined();
  });

  test('is given up after some minutes', async () => {
    const { harness, key } = await withThread(messages(3));
    await told(key, 3);
    await told(key, 9);
    await harness.read('thread', key);
    for (const [seconds, next] of [
      [2, 1],
      [20, 40],
      [200, 100],
      [301, undefined],
    ] as const) {
      await database.query(`update ops.deliveries set received_at = now() - $1 * interval '1 second'`, seconds);
      await harness.read('thread', key);
      const ahead = await pending(key);
      if (next === undefined) expect(ahead).toBeUndefined();
      else expect(Math.abs((ahead ?? 0) - next)).toBeLessThan(2);
    }
  });

  test.each(['newest first', 'oldest first'] as const)(
    'is read, however far back it stands, and once: %s',
    async (order) => {
      const { harness, key, thread } = await withThread(messages(120));
      harness.service.answer = threadService(() => thread.messages, { order, limit: 10 });
      await harness.readAll('thread', key, 3);
      await database.query(`update warehouse.sms_messages set first_seen_at = first_seen_at - interval '1 minute'`);
      const sentAt = thread.messages[5]?.sentAt;
      thread.messages = thread.messages.map((each) =>
        each.id === 5 ? { ...each, delivery: { status: 'failed' } } : each,
      );
      // Shown late, among what was sent before.
      thread.messages.splice(6, 0, { ...message(900), sentAt: sentAt ?? '' });
      await told(key, 5);
      await told(key, 900);
      await harness.read('thread', key);
      const found = await database.query(
        `select message_id::integer as id, delivery_status as status from warehouse.sms_messages
         where number = $1 and message_id in (5, 900) order by 1`,
        key.split('/')[1],
      );
      expect(found).toEqual([
        { id: 5, status: 'failed' },
        { id: 900, status: null },
      ]);
      await harness.pass({ kind: 'thread', key });
      const before = harness.service.asked.length;
      await harness.read('thread', key);
      expect(harness.service.asked.length - before).toBeLessThan(6);
    },
  );

  test('is looked for again until its receipt is shown, where it went out before', async () => {
    const sent = message(3, { direction: 'out' });
    const { harness, key, thread } = await withThread([...messages(2), sent]);
    await harness.read('thread', key);
    await database.query(`update warehouse.sms_messages set first_seen_at = first_seen_at - interval '1 minute'`);
    await told(key, 3);
    await harness.read('thread', key);
    expect(await pending(key)).toBeLessThanOrEqual(3);
    thread.messages[2] = { ...sent, delivery: { status: 'delivered', error: '', at: sent.sentAt } };
    await harness.pass({ kind: 'thread', key });
    await harness.readIfPending('thread', key);
    const [, number] = key.split('/');
    expect(
      await database.value('select max(delivery_status) from warehouse.sms_messages where number = $1', number),
    ).toBe('delivered');
    expect(await pending(key)).toBeUndefined();
  });

  test('whose receipt never shows is looked for a few times', async () => {
    const { harness, key } = await withThread([message(3, { direction: 'out' })]);
    await harness.read('thread', key);
    await database.query(`update warehouse.sms_messages set first_seen_at = first_seen_at - interval '1 minute'`);
    await told(key, 3);
    await database.query(`update ops.deliveries set received_at = now() - interval '61 seconds'`);
    await harness.read('thread', key);
    expect(await pending(key)).toBeUndefined();
  });
});
