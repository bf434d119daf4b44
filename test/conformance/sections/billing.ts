import { expect } from 'vitest';
import { type Case, cases } from '../case.ts';
import { formatted, freshNumber, send, told } from '../service.ts';
import { file } from './sending.ts';

/** The answer of a send, its bill, and what was asked. */
async function bill(changes: Record<string, unknown>, recipients = 1) {
  const { body } = await send(changes, recipients)();
  const answer = await told('sendMessage', { body });
  return { ...answer, ...answer.billing, body };
}
const picture = { attachments: [file()] };

/** Text, and the segments that section 2.4 makes of it. */
const segments: readonly [what: string, message: string, segments: number][] = [
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
  ...segments.flatMap(([what, message, units]) =>
    cases('2.4 send', {
      async [`${what} are ${units} segment${units === 1 ? '' : 's'}`]() {
        const { type, totalPrice, messages, ...bills } = await bill({ message });
        expect([type, bills.units, messages[0].units]).toEqual(['sms', units, units]);
        expect(totalPrice).toBeCloseTo(messages[0].unitPrice * units, 6);
        expect(messages[0].price).toBeCloseTo(totalPrice, 6);
      },
    }),
  ),
  ...cases('2.4 send', {
    async 'one recipient without attachments is an sms at its own rate; a picture or a second one makes an mms'() {
      const [sms, mms, group] = [await bill({}), await bill(picture), await bill({}, 2)];
      const types = [sms, mms, group].map(({ type, units }) => `${units} ${type}`);
      expect(types).toEqual(['1 sms', '1 mms', '1 mms']);
      expect(mms.totalPrice).toBe(group.totalPrice);
      expect(mms.messages[0].unitPrice).not.toBe(sms.messages[0].unitPrice);
    },
    async 'an mms costs the same whatever its length and its recipients'() {
      const small = await bill({ message: 'a' }, 2);
      const large = await bill({ message: 'ж'.repeat(1_000) }, 20);
      expect([large.units, large.recipientCount, large.totalPrice]).toEqual([1, 20, small.totalPrice]);
      expect(large.messages[0].price).toBe(large.messages[0].unitPrice * large.messages[0].units);
    },
  }),
  ...cases('2.3 control', {
    async 'a group on different rates pays the highest'() {
      const dear = '442079460123';
      const own = (await bill(picture)).messages[0].unitPrice;
      const foreign = (await bill({ to: [dear], ...picture })).messages[0].unitPrice;
      const both = await bill({ to: [freshNumber(), dear] });
      expect(own).not.toBe(foreign);
      expect([both.messages[0].unitPrice, both.totalPrice]).toEqual(Array(2).fill(Math.max(own, foreign)));
    },
  }),
  ...cases('2.4 send', {
    async 'several recipients are one conversation, which is none of theirs alone'() {
      const { body, messages } = await bill({ message: 'to all of you' }, 3);
      expect(messages).toHaveLength(1);
      expect(new Set(messages[0].to)).toEqual(new Set(body.to));
      const path = { line: body.from, number: body.to[0] ?? '' };
      const group = await told('readThread', { path, query: { groupParticipants: body.to.join() } });
      expect(group.messages).toMatchObject([{ text: 'to all of you', direction: 'out' }]);
      expect(new Set(group.messages[0].groupParticipants)).toEqual(new Set(body.to));
      expect((await told('readThread', { path })).messages).toEqual([]);
    },
  }),
  ...cases('2.4 control', {
    async 'recipients are normalised: formatting goes, ten digits get a 1, other countries stay'() {
      const [one, two] = [freshNumber(), freshNumber()];
      const { messages } = await bill({ to: [formatted(one), `+${two}`, '+44 20 7946 0124'] });
      expect(new Set(messages[0].to)).toEqual(new Set([one, two, '442079460124']));
    },
  }),
  ...cases('2.4 send', {
    async 'the same number written twice is one recipient and one duplicate'() {
      const number = freshNumber();
      const { type, recipientCount, skippedCount, skipped } = await bill({ to: [number, number.slice(1)] });
      expect([type, recipientCount, skippedCount]).toEqual(['sms', 1, 1]);
      expect(skipped).toMatchObject([{ reason: 'duplicate' }]);
    },
  }),
];
