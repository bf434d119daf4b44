import { expect } from 'vitest';
import { type Case, cases, refusals, rows } from '../case.ts';
import {
  type Anything,
  ask,
  filled,
  freshNumber,
  freshPair,
  inPair,
  onLine,
  rfc3339,
  sandbox,
  send,
  token,
  told,
  userId,
} from '../service.ts';

const number = '12125550142';
const denied = '403 permission_denied';
const foreign = (body?: unknown) => () => ({ path: { line: freshNumber(), number }, body });

async function countOf(line: string, credential?: string, query = {}): Promise<number> {
  const { lines, total } = await told('countUnread', { query: { lines: line, ...query } }, credential);
  expect(lines.map((each: Anything) => each.line)).toEqual([line]);
  return total;
}

/** Sections 2.1, 2.7, 4.1 and 4.3: lines, blocked senders, unread counts. */
export const lines: readonly Case[] = [
  ...cases('4.1 read', {
    async 'an API key sees the lines, each with its number in digits, its name and its users'() {
      const [lines, users] = [await told('listLines'), await told('listUsers')];
      const ids = new Set(users.map(({ id }: Anything) => id));
      expect(lines.length).toBeGreaterThan(0);
      for (const line of lines) {
        expect(line).toMatchObject({ number: expect.stringMatching(/^\d{3,15}$/), name: expect.any(String) });
        expect(typeof line.bulkEnabled).toBe('boolean');
        expect(line.userIds.every((id: number) => ids.has(id))).toBe(true);
      }
    },
  }),

  ...cases('4.3 write', {
    async 'blocking answers the blocked sender, and blocking again the same'() {
      const pair = await freshPair();
      const request = { path: { line: pair.line }, body: { number: pair.number, reason: 'rude' } };
      const blocked = await told('blockSender', request);
      expect(blocked).toEqual({ ...pair, reason: 'rude', blockedAt: rfc3339 });
      expect(await told('blockSender', request)).toEqual(blocked);
      expect(await told('getBlockedSender', { path: pair })).toEqual(blocked);
    },
  }),
  ...rows('4.3 write', 'blockSender', {
    'a reason is optional, and the number may be formatted': [
      async () => onLine({ number: `+${freshNumber()}` })(),
      [201, { number: expect.stringMatching(/^\d+$/) }],
    ],
  }),
  ...rows('4.3 read', 'getBlockedSender', { 'a number that is not blocked is not_found': [inPair(), '404 not_found'] }),
  ...refusals('4.3 write', 'blockSender', {
    'blocking nobody is refused': onLine({}),
    'blocking what is no number is refused': onLine({ number: 'nobody' }),
    'an unknown field of a block is refused': onLine({ number, days: 3 }),
  }),
  ...refusals('7 write', 'blockSender', {
    'blocking on a line that is no number is refused': { path: { line: 'desk' }, body: { number } },
  }),
  ...refusals('7 read', 'getBlockedSender', {
    'asking for a blocked sender that is no number is refused': { path: { line: number, number: 'nobody' } },
  }),
  ...rows('4.2 write', 'blockSender', {
    "blockSender denies a line that is not the account's": [foreign({ number }), denied],
  }),
  ...rows('4.2 read', 'getBlockedSender', {
    "getBlockedSender denies a line that is not the account's": [foreign(), denied],
  }),
  ...cases('2.6 send', {
    async 'a text to a blocked number exists, is charged, and is marked with its reason'() {
      const path = await freshPair();
      await told('blockSender', { path: { line: path.line }, body: { number: path.number, reason: 'rude' } });
      const { billing } = await told('sendMessage', await send({ to: [path.number] })());
      expect(billing.totalPrice).toBeGreaterThan(0);
      const { messages } = await told('readThread', { path });
      expect(messages).toMatchObject([{ text: 'hello', blocked: true, blockReason: filled }]);
    },
  }),

  ...cases('4.3 read', {
    async 'an API key gets counts of all lines, and their sum'() {
      const counts: { total: number; lines: { line: string; count: number }[] } = await told('countUnread');
      const numbers = (await told('listLines')).map(({ number }: Anything) => number);
      expect(numbers).toEqual(expect.arrayContaining(counts.lines.map(({ line }) => line)));
      expect(counts.total).toBe(counts.lines.reduce((sum, { count }) => sum + count, 0));
    },
  }),
  ...cases('4.3 control', {
    async 'a text counts as unread, for the line and for the user, until it is read by whom the count is for'() {
      const [path, user] = [await freshPair(), await token()];
      const before = await countOf(path.line, user);
      const { id } = await sandbox.emit.sms(path);
      expect(await countOf(path.line, user)).toBe(before + 1);
      await told('markMessages', { path, body: { messageIds: [id] } }, user);
      expect(await countOf(path.line, user)).toBe(before);
    },
    async 'only messages after a moment are counted when one is given'() {
      const path = await freshPair();
      // A day of its own, so that texts of other runs are on one side or the other.
      const day = Date.UTC(2021, 0, Number(path.number.slice(-7)) % 1_000);
      const at = (seconds: number) => new Date(day + seconds * 1000).toISOString();
      const countSince = (seconds: number) => countOf(path.line, undefined, { since: at(seconds) });
      await sandbox.emit.sms({ ...path, sentAt: at(0) });
      const [all, later] = [await countSince(-1), await countSince(30)];
      expect(all - later).toBe(1);
      await sandbox.emit.sms({ ...path, sentAt: at(60) });
      expect(await countSince(30)).toBe(later + 1);
    },
  }),
  ...refusals('4.3 read', 'countUnread', {
    'a since that is no moment is refused': { query: { since: 'yesterday' } },
    'a since without zone is refused': { query: { since: '2026-01-01T00:00:00' } },
  }),
  ...refusals('7 read', 'countUnread', { 'lines that are no numbers are refused': { query: { lines: 'desk' } } }),
  ...rows('4.2 read', 'countUnread', {
    "counting a line that is not the account's is denied": [() => ({ query: { lines: freshNumber() } }), denied],
  }),

  ...cases('4.3 control', {
    async 'marking a line read leaves nothing unread for the user, and for nobody else'() {
      const [path, asker, user] = [await freshPair(), await token(), await userId()];
      await sandbox.emit.sms(path);
      expect(await ask('markLineRead', { path, body: {} }, asker)).toMatchObject({ outcome: '204', text: '' });
      expect(await countOf(path.line, asker)).toBe(0);
      expect((await told('readThread', { path }, asker)).messages).toMatchObject([{ readBy: [user] }]);
    },
    async 'with a moment given, only what came after it is marked'() {
      const [path, asker] = [await freshPair(), await token()];
      const moment = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
      await sandbox.emit.sms({ ...path, text: 'before', sentAt: moment(-60) });
      await sandbox.emit.sms({ ...path, text: 'after', sentAt: moment(-10) });
      await told('markLineRead', { path, body: { since: moment(-30) } }, asker);
      const { messages } = await told('readThread', { path }, asker);
      const read = messages.map(({ text, read }: Anything) => [text, read]);
      expect(Object.fromEntries(read)).toEqual({ before: false, after: true });
    },
  }),
  ...refusals('4.3 write', 'markLineRead', { 'an API key cannot mark a line read': onLine({}) }),
  ...refusals('7 control', 'markLineRead as user', {
    'a since of a marking that is no moment is refused': onLine({ since: 'yesterday' }),
    'an unknown field of a line marking is refused': onLine({ until: '2026-01-01T00:00:00Z' }),
  }),
  ...rows('4.2 control', 'markLineRead as user', {
    "marking a line that is not the account's read is denied": [foreign({}), denied],
  }),
];
