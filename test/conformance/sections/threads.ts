import { expect } from 'vitest';
import { type Case, cases, refusals, rows } from '../case.ts';
import {
  type Anything,
  ask,
  changeRole,
  eventually,
  filled,
  formatted,
  freshNumber,
  freshPair,
  inPair,
  rfc3339,
  sandbox,
  send,
  token,
  told,
  userId,
  withSetting,
} from '../service.ts';

type Pair = Awaited<ReturnType<typeof freshPair>>;
interface Shown {
  id: number;
  read: boolean;
  readBy: number[];
}

/** A conversation with so many inbound texts; their ids, oldest first. */
async function received(count: number) {
  const path = await freshPair();
  const ids: number[] = [];
  for (let i = 0; i < count; i++) ids.push((await sandbox.emit.sms({ ...path, text: `text ${i}` })).id);
  return { path, ids };
}

const messagesOf = async (path: Pair, credential?: string): Promise<Shown[]> =>
  (await told('readThread', { path }, credential)).messages;

/** Sections 2.6 and 4.2: messages of a conversation. */
export const threads: readonly Case[] = [
  ...refusals('4.2 read', 'readThread', {
    'a limit of 0 is refused': inPair(undefined, { limit: 0 }),
    'a limit below 0 is refused': inPair(undefined, { limit: -1 }),
    'a limit of a million is refused and not clamped': inPair(undefined, { limit: 1_000_000 }),
    'a limit that is no integer is refused': inPair(undefined, { limit: 'many' }),
  }),
  ...refusals('7 read', 'readThread', {
    'an offset below 0 is refused': inPair(undefined, { offset: -1 }),
    'a markRead that is neither true nor false is refused': inPair(undefined, { markRead: 'maybe' }),
    'a group participant that is no number is refused': inPair(undefined, { groupParticipants: 'someone' }),
  }),
  ...rows('4.2 read', 'readThread', {
    'a pair that never spoke has no messages, and nothing was marked': [
      inPair(),
      [200, { messages: [], markedRead: false }],
    ],
  }),
  ...cases('2.5 read', {
    async 'formatted path segments meet the same conversation and are echoed as digits'() {
      const { line, number } = await freshPair();
      const path = { line: `+${line}`, number: formatted(number) };
      expect(await told('readThread', { path })).toMatchObject({ line, number });
    },
  }),
  ...cases('2.6 control', {
    async 'an inbound text comes from the other party to the line and has no receipt'() {
      const { path, ids } = await received(1);
      const [message] = await messagesOf(path);
      const shown = { id: ids[0], direction: 'in', from: path.number, to: path.line, text: 'text 0', sentAt: rfc3339 };
      expect(message).toMatchObject({ ...shown, read: false, readBy: [] });
      for (const absent of ['delivery', 'sentBy']) expect(message).not.toHaveProperty(absent);
    },
  }),
  ...cases('2.6 send', {
    async 'a sent text goes from the line to the other party and gets its receipt later'() {
      const path = await freshPair();
      await told('sendMessage', await send({ to: [path.number] })());
      const [fresh] = await messagesOf(path);
      expect(fresh).toMatchObject({ direction: 'out', from: path.line, to: path.number, text: 'hello' });
      expect(fresh).not.toHaveProperty('sentBy');
      await eventually(async () =>
        expect(await messagesOf(path)).toMatchObject([
          { delivery: { status: filled, error: expect.any(String), at: rfc3339 } },
        ]),
      );
    },
  }),
  ...cases('2.6 control', {
    async "a failed delivery carries the carrier's detail, a good one none"() {
      const path = await freshPair();
      for (const delivery of ['undelivered', 'delivered'] as const) {
        await sandbox.emit.sms({ ...path, direction: 'out', delivery });
      }
      await eventually(async () => {
        const receipts = (await messagesOf(path)).map(({ delivery }: Anything) => [delivery?.status, delivery?.error]);
        expect(Object.fromEntries(receipts)).toEqual({ delivered: '', undelivered: filled });
      });
    },
    async 'a picture alone has no text, and anyone can read its address'() {
      const path = await freshPair();
      await sandbox.emit.sms({ ...path, media: ['leak.gif'] });
      const { messages } = await told('readThread', { path });
      expect(messages).toMatchObject([{ text: '', media: [expect.stringMatching(/^https?:/)] }]);
      expect((await fetch(messages[0].media[0])).status).toBe(200);
    },
  }),
  ...cases('4.2 control', {
    async 'limit and offset walk through a thread without gap or overlap'() {
      const { path, ids } = await received(5);
      const seen: number[] = [];
      for (const offset of [0, 2, 4]) {
        const { messages } = await told('readThread', { path, query: { limit: 2, offset } });
        seen.push(...messages.map(({ id }: Shown) => id));
      }
      expect(seen.toSorted()).toEqual(ids.toSorted());
      expect(seen).toEqual((await messagesOf(path)).map(({ id }) => id));
    },
    async 'a group is addressed by its participants, in any order, apart from the pair'() {
      const [path, other] = [await freshPair(), freshNumber()];
      const { line, number } = path;
      await sandbox.emit.sms({ line, number, text: 'me alone' });
      await sandbox.emit.sms({ line, number: other, participants: [number, other], text: 'both of us' });
      for (const groupParticipants of [`${number},${other}`, `${other},${number}`]) {
        const { messages } = await told('readThread', { path, query: { groupParticipants } });
        expect(messages).toMatchObject([{ text: 'both of us' }]);
        expect(new Set(messages[0].groupParticipants)).toEqual(new Set([number, other]));
      }
      expect(await messagesOf(path)).toMatchObject([{ text: 'me alone' }]);
    },
    async 'markRead marks what it returned, for the calling user, and nothing is marked without it'() {
      const { path, ids } = await received(2);
      const [asker, user] = [await token(), await userId()];
      await messagesOf(path, asker);
      const marked = await told('readThread', { path, query: { limit: 1, markRead: true } }, asker);
      expect(marked.markedRead).toBe(true);
      const [{ id: returned }] = marked.messages;
      const after = (await messagesOf(path, asker)).map(({ id, read, readBy }) => [id, { read, readBy }]);
      const left = ids.filter((id) => id !== returned).map((id) => [id, { read: false, readBy: [] }]);
      expect(Object.fromEntries(after)).toEqual({
        [returned]: { read: true, readBy: [user] },
        ...Object.fromEntries(left),
      });
    },
    async 'messages are marked read by default and unread when told so, for the calling user alone'() {
      const { path, ids: messageIds } = await received(1);
      const [mine, user, users] = [await token(), await userId(), await told('listUsers')];
      const other = users.find(({ id, username }: Anything) => id !== user && username !== '').id;
      await changeRole(other, { phoneNumbers: true });
      const others = await token(['messages:read', 'messages:write'], other);

      const mark = (asker: string, read?: boolean) => ask('markMessages', { path, body: { messageIds, read } }, asker);
      expect(await mark(mine)).toMatchObject({ outcome: '204', text: '' });
      expect(await messagesOf(path, mine)).toMatchObject([{ read: true, readBy: [user] }]);
      expect(await messagesOf(path, others)).toMatchObject([{ read: false, readBy: [user] }]);
      await mark(others, true);
      await mark(mine, false);
      expect(await messagesOf(path, mine)).toMatchObject([{ read: false, readBy: [other] }]);
    },
  }),
  ...cases('8 control', {
    async 'fifty message ids can be marked at once'() {
      const { path, ids } = await received(50);
      await told('markMessages', { path, body: { messageIds: ids } });
      expect((await messagesOf(path)).every(({ read }) => read)).toBe(true);
    },
  }),
  ...refusals('8 write', 'markMessages', {
    'fifty-one message ids are refused': inPair({ messageIds: Array.from({ length: 51 }, (_, i) => i + 1) }),
  }),
  ...refusals('4.2 write', 'markMessages', {
    'marking without ids is refused': inPair({}),
    'ids that are no integers are refused': inPair({ messageIds: ['one'] }),
    'an unknown field of a marking is refused': inPair({ messageIds: [1], user: 4 }),
  }),
  ...cases('4.2 control', {
    async 'a deleted message is gone for good, and deleting it again is not_found'() {
      const { path, ids } = await received(2);
      const [id = 0, kept] = ids;
      await told('deleteMessage', { path: { ...path, id } });
      expect((await messagesOf(path)).map((message) => message.id)).toEqual([kept]);
      expect((await ask('deleteMessage', { path: { ...path, id } })).outcome).toBe('404 not_found');
    },
  }),
  ...rows('4.2 control', 'deleteMessage', {
    'a message of another conversation is not_found in this one': [
      async () => ({ path: { ...(await freshPair()), id: (await received(1)).ids[0] ?? 0 } }),
      '404 not_found',
    ],
  }),
  ...refusals('4.2 write', 'deleteMessage', {
    'a message id that is no integer is refused': async () => ({ path: { ...(await freshPair()), id: 'last' } }),
    'a message id with a fraction is refused': async () => ({ path: { ...(await freshPair()), id: 1.5 } }),
  }),
  ...cases('4.2 control', {
    async 'a deleted conversation has no message left, and no other lost any'() {
      const [one, other] = [await received(3), await received(1)];
      await told('deleteThread', { path: one.path });
      expect(await messagesOf(one.path)).toEqual([]);
      expect(await messagesOf(other.path)).toHaveLength(1);
    },
    async 'where the account restricts deleting, no scope is enough to delete'() {
      const { path, ids } = await received(1);
      await withSetting('restrictDeletingSms', async () => {
        const one = await ask('deleteMessage', { path: { ...path, id: ids[0] ?? 0 } });
        const denied = '403 permission_denied';
        expect([one.outcome, (await ask('deleteThread', { path })).outcome]).toEqual([denied, denied]);
      });
      expect(await messagesOf(path)).toHaveLength(1);
    },
  }),
];
