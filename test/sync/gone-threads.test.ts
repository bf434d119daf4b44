import { afterAll, describe, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';
import { notFound } from '../world/service.ts';
import { deliveryAcceptor } from './accept-delivery.ts';
import type { ReaderHarness } from './reader-harness.ts';
import { threadsIn } from './thread-harness.ts';
import { messages } from './thread-service.ts';

const database = await migratedDatabase();
const { withThread, mirrored } = threadsIn(database);
afterAll(() => database[Symbol.asyncDispose]());

const deliver = deliveryAcceptor(database);
const minutes = 60;
const hours = 60 * minutes;
const days = 24 * hours;

/** An event that names no message. */
const tell = (key: string) => deliver('AccountSMS', { kind: 'thread', key });

/** Reads what is pending as often as it takes to settle. */
async function settle(harness: ReaderHarness, key: string): Promise<string> {
  for (;;) {
    await harness.pass({ kind: 'thread', key });
    const turn = await harness.readIfPending('thread', key);
    if (turn !== 'later') return turn;
  }
}

/** Seconds until the next look; undefined when none is pending. */
async function nextRead(key: string): Promise<number | undefined> {
  const [row] = await database.query<{ seconds: number }>(
    `select extract(epoch from due_at - now())::float8 as seconds from ops.sync_targets
     where key = $1 and dirty_version > clean_version`,
    key,
  );
  return row?.seconds;
}

/** Makes everything that happened lie so many seconds further back. */
async function passed(seconds: number): Promise<void> {
  await database.query(
    `update warehouse.sms_conversations set deleted_at = deleted_at - $1 * interval '1 second'`,
    seconds,
  );
  await database.query(`update ops.deliveries set received_at = received_at - $1 * interval '1 second'`, seconds);
}

const number = (key: string) => key.split('/')[1] as string;
const conversation = async (key: string) => {
  const [row] = await database.query(
    `select deleted_at is null as is_live, message_count from warehouse.sms_conversations where number = $1`,
    number(key),
  );
  return row;
};

const answers = { 'that it is not found': notFound, 'an empty list': { data: { messages: [], markedRead: false } } };

describe.each(Object.keys(answers) as (keyof typeof answers)[])('a held thread that is gone, by %s,', (how) => {
  async function goneThread() {
    const known = await withThread(messages(60), { cut: 40 });
    const { harness, key } = known;
    await harness.read('thread', key);
    const { answer } = harness.service;
    harness.service.answer = () => answers[how];
    await tell(key);
    await settle(harness, key);
    expect(await mirrored(key)).toEqual([]);
    const comesBack = () => {
      harness.service.answer = answer;
    };
    return { ...known, comesBack };
  }

  test('is mirrored again when it is shown a while later, at its one recheck', async () => {
    const { harness, key, comesBack } = await goneThread();
    expect(await nextRead(key)).toBeLessThanOrEqual(15 * minutes);
    comesBack();
    expect(await settle(harness, key)).toBe('mirrored');
    expect(await mirrored(key)).toEqual(messages(60).map(({ id }) => id));
    expect(await conversation(key)).toEqual({ is_live: true, message_count: 60 });
    expect(await nextRead(key)).toBeUndefined();
  });

  test('is looked at soon after an event, however long ago it went', async () => {
    const { harness, key } = await goneThread();
    await passed(100 * days);
    await settle(harness, key);
    expect(await nextRead(key)).toBeUndefined();
    await tell(key);
    await settle(harness, key);
    expect(await nextRead(key)).toBeLessThanOrEqual(15 * minutes);
    await passed(16 * minutes);
    await settle(harness, key);
    expect(await nextRead(key)).toBeUndefined();
  });
});

describe('a thread that was never held', () => {
  test('is looked at once more after an event that it did not follow within minutes, and no more', async () => {
    const { harness, key } = await withThread([]);
    harness.service.answer = () => notFound;
    await tell(key);
    expect(await settle(harness, key)).toBe('gone');
    expect(await nextRead(key)).toBeGreaterThan(10 * minutes);
    await passed(16 * minutes);
    expect(await settle(harness, key)).toBe('gone');
    expect(await nextRead(key)).toBeUndefined();
    expect(harness.service.asked.length).toBe(6);
    expect(await conversation(key)).toBeUndefined();
  });

  test('is not looked at again where no event told of it', async () => {
    const { harness, key } = await withThread([]);
    harness.service.answer = () => notFound;
    await harness.read('thread', key);
    expect(await settle(harness, key)).toBe('gone');
    expect(await nextRead(key)).toBeUndefined();
  });

  test('is mirrored by that look', async () => {
    const { harness, key } = await withThread(messages(2));
    const { answer } = harness.service;
    harness.service.answer = () => notFound;
    await tell(key);
    await settle(harness, key);
    harness.service.answer = answer;
    expect(await settle(harness, key)).toBe('mirrored');
    expect(await mirrored(key)).toEqual([1, 2]);
  });
});

describe('a candidate that is asked for as soon as what happens now, and has no thread,', () => {
  async function withCandidate() {
    const known = await withThread([]);
    const [line, party] = known.key.split('/');
    await database.query(
      `insert into ops.thread_candidates (line, number, evidence, probed_at) values ($1, $2, 'unread', now())`,
      line,
      party,
    );
    known.harness.service.answer = () => notFound;
    return known;
  }

  test('has answered with the first read', async () => {
    const { harness, key } = await withCandidate();
    expect(await harness.read('thread', key)).toBe('mirrored');
    expect(await conversation(key)).toBeUndefined();
    expect(await nextRead(key)).toBeUndefined();
  });

  test('is looked for again when an event told of it', async () => {
    const { harness, key } = await withCandidate();
    await tell(key);
    expect(await harness.read('thread', key)).toBe('later');
  });

  test('is looked for again when a text of ours went there', async () => {
    const { harness, key } = await withCandidate();
    await database.query(
      `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, expires_at, dispatched_at)
       values ('test', $1, $2, 'call', '1.1', now(), 'live', 'We saw your call.', 'SENT', now(), now())`,
      ...key.split('/'),
    );
    expect(await harness.read('thread', key)).toBe('later');
  });
});
