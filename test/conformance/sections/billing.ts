import { expect } from 'vitest';
import type { Case } from '../case.ts';
import type { CaseContext } from '../harness/suite.ts';

const operation = 'sendMessage';
const gif = {
  filename: 'a.gif',
  contentType: 'image/gif',
  content: 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
};

async function bill(context: CaseContext, changes: Record<string, unknown>, recipients = 1) {
  const to = Array.from({ length: recipients }, () => context.freshNumber());
  const body = { from: await context.line(), to, message: 'hello', ...changes };
  const { status, data } = await context.ask(operation, { body });
  expect(status).toBe(201);
  return { ...data, ...data.billing, body };
}

/** Text, and the segments that section 2.4 makes of it. */
const segments: readonly [string, string, number][] = [
  ['160 characters', 'a'.repeat(160), 1],
  ['161 characters', 'a'.repeat(161), 2],
  ['306 characters', 'a'.repeat(306), 2],
  ['307 characters', 'a'.repeat(307), 3],
  ['70 characters with one outside', `ж${'a'.repeat(69)}`, 1],
  ['71 characters with one outside', `ж${'a'.repeat(70)}`, 2],
  ['134 characters outside', 'ж'.repeat(134), 2],
  ['135 characters outside', 'ж'.repeat(135), 3],
  ['160 characters with one outside', `${'a'.repeat(159)}中`, 3],
  ['71 characters with a curly quote', `“${'a'.repeat(70)}`, 2],
  ['71 characters with an apostrophe', `’${'a'.repeat(70)}`, 2],
  ['71 characters with an en dash', `–${'a'.repeat(70)}`, 2],
  ['71 characters with an em dash', `—${'a'.repeat(70)}`, 2],
  ['70 Hebrew letters', 'ש'.repeat(70), 1],
  ['71 Arabic letters', 'س'.repeat(71), 2],
  ['35 emoji', '😀'.repeat(35), 1],
  ['36 emoji', '😀'.repeat(36), 2],
  ['160 vowels with accents', 'èéùìòàáíóú'.repeat(16), 1],
  ['160 Greek capitals of GSM-7', 'ΔΦΓΛΩΠΨΣΘΞ'.repeat(16), 1],
  ['80 characters that cost two', '[]{}\\^~|€['.repeat(8), 1],
  ['81 characters that cost two', `${'[]{}\\^~|€['.repeat(8)}]`, 2],
  ['2,000 characters', 'a'.repeat(2_000), 14],
  ['1,000 Hebrew letters', 'ש'.repeat(1_000), 15],
];

/** Section 2.4: what a send costs. */
export const billing: readonly Case[] = [
  ...segments.map(
    ([what, message, units]): Case => ({
      name: `${what} are ${units} segment${units === 1 ? '' : 's'}`,
      section: '2.4',
      operations: [operation],
      needs: 'send',
      async run(context) {
        const sent = await bill(context, { message });
        expect([sent.type, sent.units, sent.messages[0].units]).toEqual(['sms', units, units]);
        expect(sent.totalPrice).toBeCloseTo(sent.messages[0].unitPrice * units, 6);
        expect(sent.messages[0].price).toBeCloseTo(sent.totalPrice, 6);
      },
    }),
  ),
  {
    name: 'one recipient without attachments is an sms at its own rate; a picture or a second one makes an mms',
    section: '2.4',
    operations: [operation],
    needs: 'send',
    async run(context) {
      const sms = await bill(context, {});
      const picture = await bill(context, { attachments: [gif] });
      const group = await bill(context, {}, 2);
      expect([sms, picture, group].map(({ type, units }) => [type, units])).toEqual([
        ['sms', 1],
        ['mms', 1],
        ['mms', 1],
      ]);
      expect(picture.totalPrice).toBe(group.totalPrice);
      expect(picture.messages[0].unitPrice).not.toBe(sms.messages[0].unitPrice);
    },
  },
  {
    name: 'an mms costs the same whatever its length and its recipients',
    section: '2.4',
    operations: [operation],
    needs: 'send',
    async run(context) {
      const small = await bill(context, { message: 'a' }, 2);
      const large = await bill(context, { message: 'ж'.repeat(1_000) }, 20);
      expect([large.units, large.recipientCount, large.totalPrice]).toEqual([1, 20, small.totalPrice]);
      expect(large.messages[0].price).toBe(large.messages[0].unitPrice * large.messages[0].units);
    },
  },
  {
    name: 'a group on different rates pays the highest',
    section: '2.3',
    operations: [operation],
    needs: 'control',
    async run(context) {
      const dear = '442079460123';
      const own = await bill(context, { attachments: [gif] });
      const foreign = await bill(context, { to: [dear], attachments: [gif] });
      const both = await bill(context, { to: [context.freshNumber(), dear] });
      const dearest = Math.max(own.messages[0].unitPrice, foreign.messages[0].unitPrice);
      expect(own.messages[0].unitPrice).not.toBe(foreign.messages[0].unitPrice);
      expect([both.messages[0].unitPrice, both.totalPrice]).toEqual([dearest, dearest]);
    },
  },
  {
    name: 'several recipients are one conversation, which is none of theirs alone',
    section: '2.4',
    operations: [operation, 'readThread'],
    needs: 'send',
    async run(context) {
      const { body, messages } = await bill(context, { message: 'to all of you' }, 3);
      expect(messages).toHaveLength(1);
      expect(new Set(messages[0].to)).toEqual(new Set(body.to));
      const [number] = body.to;
      const path = { line: body.from, number };
      const group = await context.ask('readThread', { path, query: { groupParticipants: body.to.join(',') } });
      expect(group.data.messages).toMatchObject([{ text: 'to all of you', direction: 'out' }]);
      expect(new Set(group.data.messages[0].groupParticipants)).toEqual(new Set(body.to));
      expect((await context.ask('readThread', { path })).data.messages).toEqual([]);
    },
  },
  {
    name: 'recipients are normalised: formatting goes, ten digits get a 1, other countries stay',
    section: '2.4',
    operations: [operation],
    needs: 'control',
    async run(context) {
      const [one, two] = [context.freshNumber(), context.freshNumber()];
      const written = [`(${one.slice(1, 4)}) ${one.slice(4, 7)}-${one.slice(7)}`, `+${two}`, '+44 20 7946 0124'];
      const { messages } = await bill(context, { to: written });
      expect(new Set(messages[0].to)).toEqual(new Set([one, two, '442079460124']));
    },
  },
  {
    name: 'the same number written twice is one recipient and one duplicate',
    section: '2.4',
    operations: [operation],
    needs: 'send',
    async run(context) {
      const number = context.freshNumber();
      const sent = await bill(context, { to: [number, number.slice(1)] });
      expect([sent.type, sent.recipientCount, sent.skippedCount]).toEqual(['sms', 1, 1]);
      expect(sent.skipped).toMatchObject([{ reason: 'duplicate' }]);
    },
  },
];
