import { expect, vi } from 'vitest';
import { type Case, refusals, row } from '../case.ts';
import { outcome } from '../harness/reply.ts';
import type { CaseContext } from '../harness/suite.ts';

interface Shown {
  id: number;
  read: boolean;
  readBy: number[];
  text: string;
}

/** A conversation with so many inbound texts; their ids, oldest first. */
async function received(context: CaseContext, count: number) {
  const path = await context.freshPair();
  const ids: number[] = [];
  for (let i = 0; i < count; i++) ids.push((await context.control.sms({ ...path, text: `text ${i}` })).id);
  return { path, ids };
}

async function messagesOf(
  context: CaseContext,
  path: { line: string; number: string },
  credential?: string,
): Promise<Shown[]> {
  return (await context.ask('readThread', { path }, credential)).data.messages;
}

const thread = (query: Record<string, string | number>) => async (context: CaseContext) => ({
  path: await context.freshPair(),
  query,
});
/** Receipts and artefacts come by themselves some seconds later. */
const patience = { timeout: 60_000, interval: 100 };

const bare = { only: 'bare' } as const;
const rfc3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);

/** Sections 2.6 and 4.2: messages of a conversation. */
export const threads: readonly Case[] = [
  ...refusals({ operation: 'readThread', needs: 'read', section: '4.2' }, [
    ['a limit of 0 is refused', thread({ limit: 0 })],
    ['a limit below 0 is refused', thread({ limit: -1 })],
    ['a limit of a million is refused and not clamped', thread({ limit: 1_000_000 })],
    ['a limit that is no integer is refused', thread({ limit: 'many' })],
  ]),
  ...refusals({ operation: 'readThread', needs: 'read', section: '7' }, [
    ['an offset below 0 is refused', thread({ offset: -1 })],
    ['a markRead that is neither true nor false is refused', thread({ markRead: 'maybe' }), bare],
    ['a group participant that is no number is refused', thread({ groupParticipants: 'someone' }), bare],
  ]),
  row({
    name: 'a pair that never spoke has no messages, and nothing was marked',
    section: '4.2',
    operation: 'readThread',
    needs: 'read',
    request: thread({}),
    expect: { status: 200, data: { messages: [], markedRead: false } },
  }),
  {
    name: 'formatted path segments meet the same conversation and are echoed as digits',
    section: '2.5',
    operations: ['readThread'],
    needs: 'read',
    async run(context) {
      const { line, number } = await context.freshPair();
      const path = { line: `+${line}`, number: `(${number.slice(1, 4)}) ${number.slice(4, 7)}-${number.slice(7)}` };
      expect((await context.ask('readThread', { path })).data).toMatchObject({ line, number });
    },
  },
  {
    name: 'an inbound text comes from the other party to the line and has no receipt',
    section: '2.6',
    operations: ['readThread'],
    needs: 'control',
    async run(context) {
      const { path, ids } = await received(context, 1);
      const [message] = await messagesOf(context, path);
      const { line, number } = path;
      const shown = { id: ids[0], direction: 'in', from: number, to: line, text: 'text 0', sentAt: rfc3339 };
      expect(message).toMatchObject({ ...shown, read: false, readBy: [] });
      expect(message).not.toHaveProperty('delivery');
      expect(message).not.toHaveProperty('sentBy');
    },
  },
  {
    name: 'a sent text goes from the line to the other party and gets its receipt later',
    section: '2.6',
    operations: ['sendMessage', 'readThread'],
    needs: 'send',
    async run(context) {
      const { line, number } = await context.freshPair();
      await context.ask('sendMessage', { body: { from: line, to: [number], message: 'hello' } });
      const [fresh] = await messagesOf(context, { line, number });
      expect(fresh).toMatchObject({ direction: 'out', from: line, to: number, text: 'hello' });
      expect(fresh).not.toHaveProperty('sentBy');
      const { delivery } = await vi.waitFor(async () => {
        const [message] = (await context.ask('readThread', { path: { line, number } })).data.messages;
        expect(message).toHaveProperty('delivery');
        return message;
      }, patience);
      expect(delivery).toMatchObject({ status: expect.stringMatching(/./), error: expect.any(String), at: rfc3339 });
    },
  },
  {
    name: "a failed delivery carries the carrier's detail, a good one none",
    section: '2.6',
    operations: ['readThread'],
    needs: 'control',
    async run(context) {
      const path = await context.freshPair();
      await context.control.sms({ ...path, direction: 'out', delivery: 'undelivered' });
      await context.control.sms({ ...path, direction: 'out', delivery: 'delivered' });
      const receipts = await vi.waitFor(async () => {
        const { messages } = (await context.ask('readThread', { path })).data;
        const found = messages.map(({ delivery }: { delivery?: object }) => delivery);
        expect(found).toEqual([expect.any(Object), expect.any(Object)]);
        return found;
      }, patience);
      const errors = Object.fromEntries(
        receipts.map((one: { status: string; error: string }) => [one.status, one.error]),
      );
      expect(errors).toEqual({ delivered: '', undelivered: expect.stringMatching(/./) });
    },
  },
  {
    name: 'a picture alone has no text, and anyone can read its address',
    section: '2.6',
    operations: ['readThread'],
    needs: 'control',
    async run(context) {
      const path = await context.freshPair();
      await context.control.sms({ ...path, media: ['leak.gif'] });
      const { messages } = (await context.ask('readThread', { path })).data;
      expect(messages).toMatchObject([{ text: '', media: [expect.stringMatching(/^https?:/)] }]);
      expect((await fetch(messages[0].media[0])).status).toBe(200);
    },
  },
  {
    name: 'limit and offset walk through a thread without gap or overlap',
    section: '4.2',
    operations: ['readThread'],
    needs: 'control',
    async run(context) {
      const { path, ids } = await received(context, 5);
      const seen: number[] = [];
      for (let offset = 0; offset < 6; offset += 2) {
        const { data } = await context.ask('readThread', { path, query: { limit: 2, offset } });
        seen.push(...data.messages.map(({ id }: Shown) => id));
      }
      expect(seen.toSorted()).toEqual(ids.toSorted());
      expect(seen).toEqual((await messagesOf(context, path)).map(({ id }) => id));
    },
  },
  {
    name: 'a group is addressed by its participants, in any order, apart from the pair',
    section: '4.2',
    operations: ['readThread'],
    needs: 'control',
    async run(context) {
      const [{ line, number }, other] = [await context.freshPair(), context.freshNumber()];
      await context.control.sms({ line, number, text: 'me alone' });
      await context.control.sms({ line, number: other, participants: [number, other], text: 'both of us' });
      for (const groupParticipants of [`${number},${other}`, `${other},${number}`]) {
        const { data } = await context.ask('readThread', { path: { line, number }, query: { groupParticipants } });
        expect(data.messages).toMatchObject([{ text: 'both of us' }]);
        expect(new Set(data.messages[0].groupParticipants)).toEqual(new Set([number, other]));
      }
      expect(await messagesOf(context, { line, number })).toMatchObject([{ text: 'me alone' }]);
    },
  },
  {
    name: 'markRead marks what it returned, for the calling user, and nothing is marked without it',
    section: '4.2',
    operations: ['readThread'],
    needs: 'control',
    async run(context) {
      const { path, ids } = await received(context, 2);
      const [token, user] = [await context.token(), await context.userId()];
      await messagesOf(context, path, token);
      const marked = await context.ask('readThread', { path, query: { limit: 1, markRead: true } }, token);
      expect(marked.data.markedRead).toBe(true);
      const [returned] = marked.data.messages;
      const after = await messagesOf(context, path, token);
      const stateOf = (id: number | undefined) => {
        const { read, readBy } = after.find((message) => message.id === id) ?? {};
        return { read, readBy };
      };
      expect(stateOf(returned.id)).toEqual({ read: true, readBy: [user] });
      expect(stateOf(ids.find((id) => id !== returned.id))).toEqual({ read: false, readBy: [] });
    },
  },
  {
    name: 'messages are marked read by default and unread when told so, for the calling user alone',
    section: '4.2',
    operations: ['markMessages', 'readThread'],
    needs: 'control',
    async run(context) {
      const { path, ids: messageIds } = await received(context, 1);
      const [mine, user] = [await context.token(), await context.userId()];
      const { data: users } = await context.bare('listUsers');
      const other = users.find((each: { id: number; username: string }) => each.id !== user && each.username !== '');
      await context.control.role(other.id, { phoneNumbers: true });
      const others = await context.control.token(other.id, ['messages:read', 'messages:write']);

      const { status, text = '' } = await context.ask('markMessages', { path, body: { messageIds } }, mine);
      expect([status, text]).toEqual([204, '']);
      expect(await messagesOf(context, path, mine)).toMatchObject([{ read: true, readBy: [user] }]);
      expect(await messagesOf(context, path, others)).toMatchObject([{ read: false, readBy: [user] }]);
      await context.ask('markMessages', { path, body: { messageIds, read: true } }, others);
      await context.ask('markMessages', { path, body: { messageIds, read: false } }, mine);
      expect(await messagesOf(context, path, mine)).toMatchObject([{ read: false, readBy: [other.id] }]);
    },
  },
  {
    name: 'fifty message ids can be marked at once',
    section: '8',
    operations: ['markMessages'],
    needs: 'control',
    async run(context) {
      const { path, ids } = await received(context, 50);
      expect((await context.ask('markMessages', { path, body: { messageIds: ids } })).status).toBe(204);
      expect((await messagesOf(context, path)).every(({ read }) => read)).toBe(true);
    },
  },
  ...refusals({ operation: 'markMessages', needs: 'write', section: '8' }, [
    [
      'fifty-one message ids are refused',
      async (context) => ({
        path: await context.freshPair(),
        body: { messageIds: Array.from({ length: 51 }, (_, i) => i + 1) },
      }),
    ],
  ]),
  ...refusals({ operation: 'markMessages', needs: 'write', section: '4.2' }, [
    ['marking without ids is refused', async (context) => ({ path: await context.freshPair(), body: {} }), bare],
    [
      'ids that are no integers are refused',
      async (context) => ({ path: await context.freshPair(), body: { messageIds: ['one'] } }),
    ],
    [
      'an unknown field of a marking is refused',
      async (context) => ({ path: await context.freshPair(), body: { messageIds: [1], user: 4 } }),
      bare,
    ],
  ]),
  {
    name: 'a deleted message is gone for good, and deleting it again is not_found',
    section: '4.2',
    operations: ['deleteMessage', 'readThread'],
    needs: 'control',
    async run(context) {
      const { path, ids } = await received(context, 2);
      const [id = 0, kept] = ids;
      expect((await context.ask('deleteMessage', { path: { ...path, id } })).status).toBe(204);
      expect((await messagesOf(context, path)).map((message) => message.id)).toEqual([kept]);
      const again = await context.ask('deleteMessage', { path: { ...path, id } });
      expect(outcome(again)).toEqual({ status: 404, type: 'not_found' });
    },
  },
  row({
    name: 'a message of another conversation is not_found in this one',
    section: '4.2',
    operation: 'deleteMessage',
    needs: 'control',
    request: async (context) => ({
      path: { ...(await context.freshPair()), id: (await received(context, 1)).ids[0] ?? 0 },
    }),
    expect: { status: 404, type: 'not_found' },
  }),
  ...refusals({ operation: 'deleteMessage', needs: 'write', section: '4.2' }, [
    [
      'a message id that is no integer is refused',
      async (context) => ({ path: { ...(await context.freshPair()), id: 'last' } }),
    ],
    [
      'a message id with a fraction is refused',
      async (context) => ({ path: { ...(await context.freshPair()), id: 1.5 } }),
    ],
  ]),
  {
    name: 'a deleted conversation has no message left, and no other lost any',
    section: '4.2',
    operations: ['deleteThread', 'readThread'],
    needs: 'control',
    async run(context) {
      const [one, other] = [await received(context, 3), await received(context, 1)];
      expect((await context.ask('deleteThread', { path: one.path })).status).toBe(204);
      expect(await messagesOf(context, one.path)).toEqual([]);
      expect(await messagesOf(context, other.path)).toHaveLength(1);
    },
  },
  {
    name: 'where the account restricts deleting, no scope is enough to delete',
    section: '4.2',
    operations: ['deleteMessage', 'deleteThread'],
    needs: 'control',
    async run(context) {
      const { path, ids } = await received(context, 1);
      await context.control.account({ restrictDeletingSms: true });
      try {
        const denied = { status: 403, type: 'permission_denied' };
        const one = await context.ask('deleteMessage', { path: { ...path, id: ids[0] ?? 0 } });
        expect([outcome(one), outcome(await context.ask('deleteThread', { path }))]).toEqual([denied, denied]);
      } finally {
        await context.control.account({ restrictDeletingSms: false });
      }
      expect(await messagesOf(context, path)).toHaveLength(1);
    },
  },
];
