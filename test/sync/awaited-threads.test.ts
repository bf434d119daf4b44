import { describe, expect, test } from 'vitest';
import { notFound } from '../world/service.ts';
import { openReaders } from './readers.ts';
import { message, messages } from './thread-service.ts';

const { query, tell: deliver, withThread } = await openReaders();

const minutes = 60;
const days = 24 * 60 * minutes;
type Known = Awaited<ReturnType<typeof withThread>>;

/** An event that names no message, or one. */
const tell = ({ key }: Known, messageId?: number) =>
  deliver('AccountSMS', { kind: 'thread', key, ...(messageId && { messageId: String(messageId) }) });

/** Reads what is pending as often as it takes to settle. */
async function settle({ look }: Known): Promise<string> {
  for (;;) {
    const ended = await look();
    if (ended !== 'later') return ended;
  }
}

/** Makes everything that happened lie so many seconds further back. */
async function passed(seconds: number): Promise<void> {
  const earlier = (column: string) => `${column} = ${column} - interval '${seconds} seconds'`;
  await query(`update warehouse.sms_conversations set ${earlier('deleted_at')}`);
  await query(`update warehouse.sms_messages set ${earlier('first_seen_at')}`);
  await query(`update ops.deliveries set ${earlier('received_at')}`);
}

/** A text of ours went to the thread. */
const sent = ({ key }: Known, messageId: number | null) =>
  query(
    `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, body, mode, expires_at, state, message_id,
       dispatched_at, settled_at)
     values ('ping', split_part($1, '/', 1), split_part($1, '/', 2), 'call', $1, now(), 'Pong', 'live', now(), 'SENT', $2, now(), now())`,
    key,
    messageId,
  );

const answers = { 'that it is not found': notFound, 'an empty list': { data: { messages: [], markedRead: false } } };

describe.each(Object.keys(answers) as (keyof typeof answers)[])('a held thread that is gone, by %s,', (how) => {
  async function goneThread() {
    const known = await withThread(messages(60), { cut: 40 });
    await known.read();
    const { answer } = known.service;
    known.service.answer = () => answers[how];
    await tell(known);
    await settle(known);
    expect(await known.held()).toEqual([]);
    return { ...known, comesBack: () => Object.assign(known.service, { answer }) };
  }

  test('is mirrored again when it is shown a while later, at its one recheck', async () => {
    const known = await goneThread();
    expect(await known.dueIn()).toBeLessThanOrEqual(15 * minutes);
    known.comesBack();
    expect(await settle(known)).toBe('mirrored');
    expect(await known.held()).toEqual(messages(60).map(({ id }) => id));
    expect(await known.conversation('deleted_at is null, message_count')).toBe('t 60');
    expect(await known.dueIn()).toBeUndefined();
  });

  test('is looked at soon after an event, however long ago it went', async () => {
    const known = await goneThread();
    await passed(100 * days);
    await settle(known);
    expect(await known.dueIn()).toBeUndefined();
    await tell(known);
    await settle(known);
    expect(await known.dueIn()).toBeLessThanOrEqual(15 * minutes);
    await passed(16 * minutes);
    await settle(known);
    expect(await known.dueIn()).toBeUndefined();
  });
});

describe('a thread that was never held', () => {
  test('is looked at once more after an event that it did not follow within minutes, and no more', async () => {
    const known = await withThread([]);
    known.service.answer = () => notFound;
    await tell(known);
    expect(await settle(known)).toBe('gone');
    expect(await known.dueIn()).toBeGreaterThan(10 * minutes);
    await passed(16 * minutes);
    expect(await settle(known)).toBe('gone');
    expect(await known.dueIn()).toBeUndefined();
    expect(known.service.asked.length).toBe(6);
    expect(await known.conversation('line')).toBeUndefined();
  });

  test('is not looked at again where no event told of it', async () => {
    const known = await withThread([]);
    known.service.answer = () => notFound;
    await known.read();
    expect(await settle(known)).toBe('gone');
    expect(await known.dueIn()).toBeUndefined();
  });

  test('is mirrored by that look', async () => {
    const known = await withThread(messages(2));
    known.service.answer = () => notFound;
    await tell(known);
    await settle(known);
    known.behave({});
    expect(await settle(known)).toBe('mirrored');
    expect(await known.held()).toEqual([1, 2]);
  });
});

describe('a candidate that is asked for as soon as what happens now, and has no thread,', () => {
  async function withCandidate() {
    const known = await withThread([]);
    await query(
      `insert into ops.thread_candidates (line, number, evidence, probed_at)
       values (split_part($1, '/', 1), split_part($1, '/', 2), 'unread', now())`,
      known.key,
    );
    known.service.answer = () => notFound;
    return known;
  }

  test('has answered with the first read', async () => {
    const known = await withCandidate();
    expect(await known.read()).toBe('mirrored');
    expect(await known.conversation('line')).toBeUndefined();
    expect(await known.dueIn()).toBeUndefined();
  });

  test.each([
    ['an event told of it', tell],
    ['a text of ours went there', (known: Known) => sent(known, null)],
  ])('is looked for again when %s', async (_, happens) => {
    const known = await withCandidate();
    await happens(known);
    expect(await known.read()).toBe('later');
  });
});

describe('a message that was named', () => {
  test.each([
    ['an event', (known: Known) => tell(known, 4)],
    ['only the answer to a send of ours', (known: Known) => sent(known, 4)],
  ])('by %s is looked for again while the thread does not show it, and then no more', async (_, names) => {
    const known = await withThread(messages(3));
    await tell(known, 3);
    await known.read();
    expect(await known.dueIn()).toBeUndefined();
    await names(known);
    await known.read();
    expect(await known.dueIn()).toBeLessThanOrEqual(1);
    known.thread.messages.push(message(4));
    expect(await known.look()).toBe('mirrored');
    expect(await known.held()).toEqual([1, 2, 3, 4]);
    expect(await known.dueIn()).toBeUndefined();
  });

  test('is given up after some minutes', async () => {
    const known = await withThread(messages(3));
    await tell(known, 3);
    await tell(known, 9);
    await known.read();
    const waits: (number | undefined)[] = [];
    for (const seconds of [2, 20, 200, 301]) {
      await query(`update ops.deliveries set received_at = now() - $1 * interval '1 second'`, seconds);
      await known.read();
      waits.push(await known.dueIn());
    }
    // 1, 40 and 100 seconds, but for the time of a slow machine.
    expect(waits.map((wait) => wait && 4 * Math.round(wait / 4))).toEqual([0, 40, 100, undefined]);
  });

  test.each(['newest first', 'oldest first'] as const)(
    'is read, however far back it stands, and once: %s',
    async (order) => {
      const known = await withThread(messages(120), { order, limit: 10 });
      await known.readAll(3);
      await passed(60);
      const { thread } = known;
      const sentAt = thread.messages[5]?.sentAt;
      thread.messages = thread.messages.with(4, { ...message(5), delivery: { status: 'failed' } });
      // Shown late, among what was sent before.
      thread.messages.splice(6, 0, { ...message(900), sentAt: sentAt ?? '' });
      await tell(known, 5);
      await tell(known, 900);
      await known.read();
      expect(await known.held('message_id in (5, 900)')).toEqual([5, 900]);
      expect(await known.held(`delivery_status = 'failed'`)).toEqual([5]);
      expect(await known.cost()).toBeLessThan(6);
    },
  );

  test('is looked for again until its receipt is shown, where it went out before', async () => {
    const known = await withThread([...messages(2), message(3, { direction: 'out' })]);
    await known.read();
    await passed(60);
    await tell(known, 3);
    await known.read();
    expect(await known.dueIn()).toBeLessThanOrEqual(3);
    const delivery = { status: 'delivered', error: '', at: message(3).sentAt };
    known.thread.messages[2] = message(3, { direction: 'out', delivery });
    await known.look();
    expect(await known.held(`delivery_status = 'delivered'`)).toEqual([3]);
    expect(await known.dueIn()).toBeUndefined();
  });

  test('whose receipt never shows is looked for a few times', async () => {
    const known = await withThread([message(3, { direction: 'out' })]);
    await known.read();
    await passed(60);
    await tell(known, 3);
    await passed(61);
    await known.read();
    expect(await known.dueIn()).toBeUndefined();
  });
});
