import { expect } from 'vitest';
import { type Case, refusals, row } from '../case.ts';
import { outcome } from '../harness/reply.ts';
import type { CaseContext } from '../harness/suite.ts';

const rfc3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
const bare = { only: 'bare' } as const;
const onLine = (body: unknown) => async (context: CaseContext) => ({ path: { line: await context.line() }, body });

interface Counts {
  total: number;
  lines: { line: string; count: number }[];
}

async function countOf(context: CaseContext, line: string, credential: string, query = {}): Promise<number> {
  const { status, data } = await context.ask('countUnread', { query: { lines: line, ...query } }, credential);
  expect(status).toBe(200);
  expect((data as Counts).lines.map((each) => each.line)).toEqual([line]);
  return data.total;
}

/** Sections 2.1, 2.7, 4.1 and 4.3: lines, blocked senders, unread counts. */
export const lines: readonly Case[] = [
  {
    name: 'an API key sees the lines, each with its number in digits, its name and its users',
    section: '4.1',
    operations: ['listLines', 'listUsers'],
    needs: 'read',
    async run(context) {
      const { status, data } = await context.ask('listLines');
      const users = new Set((await context.bare('listUsers')).data.map(({ id }: { id: number }) => id));
      expect(status).toBe(200);
      expect(data.length).toBeGreaterThan(0);
      for (const line of data) {
        expect(line).toMatchObject({ number: expect.stringMatching(/^\d{3,15}$/), name: expect.any(String) });
        expect(typeof line.bulkEnabled).toBe('boolean');
        expect(line.userIds.every((id: number) => users.has(id))).toBe(true);
      }
    },
  },

  {
    name: 'blocking answers the blocked sender, and blocking again the same',
    section: '4.3',
    operations: ['blockSender', 'getBlockedSender'],
    needs: 'write',
    async run(context) {
      const { line, number } = await context.freshPair();
      const request = { path: { line }, body: { number, reason: 'rude' } };
      const blocked = { line, number, reason: 'rude', blockedAt: rfc3339 };
      const first = await context.ask('blockSender', request);
      expect([first.status, first.data]).toEqual([201, blocked]);
      const again = await context.ask('blockSender', request);
      expect([again.status, again.data]).toEqual([201, first.data]);
      const shown = await context.ask('getBlockedSender', { path: { line, number } });
      expect([shown.status, shown.data]).toEqual([200, first.data]);
    },
  },
  row({
    name: 'a reason is optional, and the number may be formatted',
    section: '4.3',
    operation: 'blockSender',
    needs: 'write',
    request: async (context) => ({
      path: { line: await context.line() },
      body: { number: `+${context.freshNumber()}` },
    }),
    expect: { status: 201, data: { number: expect.stringMatching(/^\d+$/) } },
  }),
  row({
    name: 'a number that is not blocked is not_found',
    section: '4.3',
    operation: 'getBlockedSender',
    needs: 'read',
    request: async (context) => ({ path: await context.freshPair() }),
    expect: { status: 404, type: 'not_found' },
  }),
  ...refusals({ operation: 'blockSender', needs: 'write', section: '4.3' }, [
    ['blocking nobody is refused', onLine({}), bare],
    ['blocking what is no number is refused', onLine({ number: 'nobody' })],
    ['an unknown field of a block is refused', onLine({ number: '12125550142', days: 3 }), bare],
  ]),
  ...refusals({ operation: 'blockSender', needs: 'write', section: '7' }, [
    ['blocking on a line that is no number is refused', { path: { line: 'desk' }, body: { number: '12125550142' } }],
  ]),
  ...refusals({ operation: 'getBlockedSender', needs: 'read', section: '7' }, [
    ['asking for a blocked sender that is no number is refused', { path: { line: '12125550142', number: 'nobody' } }],
  ]),
  ...(['blockSender', 'getBlockedSender'] as const).map((operation) =>
    row({
      name: `${operation} denies a line that is not the account's`,
      section: '4.2',
      operation,
      needs: operation === 'blockSender' ? 'write' : 'read',
      request: (context) => ({
        path: { line: context.freshNumber(), number: '12125550142' },
        ...(operation === 'blockSender' && { body: { number: '12125550142' } }),
      }),
      expect: { status: 403, type: 'permission_denied' },
    }),
  ),
  {
    name: 'a text to a blocked number exists, is charged, and is marked with its reason',
    section: '2.6',
    operations: ['blockSender', 'sendMessage', 'readThread'],
    needs: 'send',
    async run(context) {
      const { line, number } = await context.freshPair();
      await context.ask('blockSender', { path: { line }, body: { number, reason: 'rude' } });
      const sent = await context.ask('sendMessage', { body: { from: line, to: [number], message: 'hello' } });
      expect(sent.status).toBe(201);
      expect(sent.data.billing.totalPrice).toBeGreaterThan(0);
      const { data } = await context.ask('readThread', { path: { line, number } });
      expect(data.messages).toMatchObject([{ text: 'hello', blocked: true, blockReason: expect.stringMatching(/./) }]);
    },
  },

  {
    name: 'an API key gets counts of all lines, and their sum',
    section: '4.3',
    operations: ['countUnread', 'listLines'],
    needs: 'read',
    async run(context) {
      const { status, data } = await context.ask('countUnread');
      const numbers = (await context.bare('listLines')).data.map(({ number }: { number: string }) => number);
      expect(status).toBe(200);
      const counts: Counts = data;
      expect(numbers).toEqual(expect.arrayContaining(counts.lines.map(({ line }) => line)));
      expect(counts.total).toBe(counts.lines.reduce((sum, { count }) => sum + count, 0));
    },
  },
  {
    name: 'a text counts as unread, for the line and for the user, until it is read by whom the count is for',
    section: '4.3',
    operations: ['countUnread', 'markMessages'],
    needs: 'control',
    async run(context) {
      const [path, token] = [await context.freshPair(), await context.token()];
      const before = await countOf(context, path.line, token);
      const { id } = await context.control.sms(path);
      expect(await countOf(context, path.line, token)).toBe(before + 1);
      await context.ask('markMessages', { path, body: { messageIds: [id] } }, token);
      expect(await countOf(context, path.line, token)).toBe(before);
    },
  },
  {
    name: 'only messages after a moment are counted when one is given',
    section: '4.3',
    operations: ['countUnread'],
    needs: 'control',
    async run(context) {
      const path = await context.freshPair();
      // A day of its own, so that texts of other runs are on one side or the other.
      const day = Date.UTC(2021, 0, Number(path.number.slice(-7)) % 1_000);
      const at = (seconds: number) => new Date(day + seconds * 1000).toISOString();
      await context.control.sms({ ...path, sentAt: at(0) });
      const all = await countOf(context, path.line, context.apiKey, { since: at(-1) });
      const later = await countOf(context, path.line, context.apiKey, { since: at(30) });
      expect(all - later).toBe(1);
      await context.control.sms({ ...path, sentAt: at(60) });
      expect(await countOf(context, path.line, context.apiKey, { since: at(30) })).toBe(later + 1);
    },
  },
  ...refusals({ operation: 'countUnread', needs: 'read', section: '4.3' }, [
    ['a since that is no moment is refused', { query: { since: 'yesterday' } }],
    ['a since without zone is refused', { query: { since: '2026-01-01T00:00:00' } }],
  ]),
  ...refusals({ operation: 'countUnread', needs: 'read', section: '7' }, [
    ['lines that are no numbers are refused', { query: { lines: 'desk' } }],
  ]),
  row({
    name: "counting a line that is not the account's is denied",
    section: '4.2',
    operation: 'countUnread',
    needs: 'read',
    request: (context) => ({ query: { lines: context.freshNumber() } }),
    expect: { status: 403, type: 'permission_denied' },
  }),

  {
    name: 'marking a line read leaves nothing unread for the user, and for nobody else',
    section: '4.3',
    operations: ['markLineRead', 'countUnread'],
    needs: 'control',
    async run(context) {
      const [path, token, user] = [await context.freshPair(), await context.token(), await context.userId()];
      await context.control.sms(path);
      const { status, text = '' } = await context.ask('markLineRead', { path, body: {} }, token);
      expect([status, text]).toEqual([204, '']);
      expect(await countOf(context, path.line, token)).toBe(0);
      const { data } = await context.ask('readThread', { path }, token);
      expect(data.messages).toMatchObject([{ readBy: [user] }]);
    },
  },
  {
    name: 'with a moment given, only what came after it is marked',
    section: '4.3',
    operations: ['markLineRead', 'readThread'],
    needs: 'control',
    async run(context) {
      const [path, token] = [await context.freshPair(), await context.token()];
      const moment = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
      await context.control.sms({ ...path, text: 'before', sentAt: moment(-60) });
      await context.control.sms({ ...path, text: 'after', sentAt: moment(-10) });
      await context.ask('markLineRead', { path, body: { since: moment(-30) } }, token);
      const { messages } = (await context.ask('readThread', { path }, token)).data;
      const read = messages.map((message: { text: string; read: boolean }) => [message.text, message.read]);
      expect(Object.fromEntries(read)).toEqual({ before: false, after: true });
    },
  },
  ...refusals({ operation: 'markLineRead', needs: 'write', section: '4.3' }, [
    ['an API key cannot mark a line read', onLine({})],
  ]),
  ...refusals({ operation: 'markLineRead', needs: 'control', section: '7' }, [
    [
      'a since of a marking that is no moment is refused',
      onLine({ since: 'yesterday' }),
      { as: (context) => context.token() },
    ],
    [
      'an unknown field of a line marking is refused',
      onLine({ until: '2026-01-01T00:00:00Z' }),
      { only: 'bare', as: (context) => context.token() },
    ],
  ]),
  {
    name: "marking a line that is not the account's read is denied",
    section: '4.2',
    operations: ['markLineRead'],
    needs: 'control',
    async run(context) {
      const request = { path: { line: context.freshNumber() }, body: {} };
      const reply = await context.ask('markLineRead', request, await context.token());
      expect(outcome(reply)).toEqual({ status: 403, type: 'permission_denied' });
    },
  },
];
