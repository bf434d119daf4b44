import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Bill,
  countSegments,
  dollars,
  type PricedSend,
  priceSend,
  rateFor,
  selectRecipients,
} from '../../../src/sandbox/sending/billing.ts';

const rates = [
  { prefix: '1', smsMicros: 10_000, mmsMicros: 30_000 },
  { prefix: '1876', smsMicros: 100_000, mmsMicros: 20_000 },
  { prefix: '44', smsMicros: 45_000, mmsMicros: 90_000 },
];
const ann = '12125550100';
const bob = '12125550101';
const jamaica = '18765550100';
const london = '442079460000';
const berlin = '493012345678';

const bill = (to: string[], rest: Partial<PricedSend> & { stopped?: string[] } = {}): Bill => {
  const { stopped = [], ...order } = rest;
  const recipients = selectRecipients(to, (number) => stopped.includes(number));
  return priceSend({ recipients, text: 'Hello', attachmentCount: 0, rates, ...order });
};

test.each([
  [ann, '1'],
  [jamaica, '1876'],
  [london, '44'],
  [berlin, undefined],
  ['4', undefined],
])('the longest prefix decides: %s goes by %s', (number, prefix) => {
  expect(rateFor(rates, number)?.prefix).toBe(prefix);
  expect(rateFor(rates.toReversed(), number)?.prefix).toBe(prefix);
});

test('an empty prefix is the rate of everyone else', () => {
  const card = [{ prefix: '', smsMicros: 1, mmsMicros: 2 }, ...rates];
  expect(rateFor(card, berlin)?.prefix).toBe('');
  expect(rateFor(card, ann)?.prefix).toBe('1');
});

test('one recipient without attachments is an sms, charged by the segment', () => {
  expect(bill([ann], { text: 'a'.repeat(307) })).toEqual({
    outcome: 'charged',
    billing: {
      billed: true,
      currency: 'USD',
      type: 'sms',
      units: 3,
      totalPrice: 0.03,
      recipientCount: 1,
      skippedCount: 0,
    },
    unitPrice: 0.01,
    totalMicros: 30_000,
  });
});

test('who is skipped makes no group of it', () => {
  const { billing } = bill([ann, '(212) 555-0100', 'Ann', bob], { stopped: [bob] }) as Bill & { outcome: 'charged' };
  expect(billing).toMatchObject({ type: 'sms', units: 1, totalPrice: 0.01, recipientCount: 1, skippedCount: 3 });
});

test.each([
  ['two recipients', [ann, bob], 0, 'Hello', 0.03],
  ['one recipient and a file', [ann], 1, 'Hello', 0.03],
  ['a file and no text', [ann], 1, '', 0.03],
  ['ten files and a long text', [ann], 10, 'a'.repeat(2000), 0.03],
  ['recipients on different rates, at the highest', [ann, london, bob], 0, 'Hello', 0.09],
  ['recipients whose longer prefix is cheaper', [jamaica, ann], 0, 'Hello', 0.03],
])('%s is an mms, charged once', (_, to, attachmentCount, text, price) => {
  const charged = bill(to, { attachmentCount, text });
  expect(charged).toMatchObject({ outcome: 'charged', unitPrice: price });
  expect(charged).toMatchObject({ billing: { type: 'mms', units: 1, totalPrice: price, recipientCount: to.length } });
});

test.each([
  ['one opted out', [ann], 0, 'sms'],
  ['one opted out, supplied twice', [ann, '2125550100'], 0, 'sms'],
  ['one that is no number', ['Ann'], 0, 'sms'],
  ['one opted out and a file', [ann], 1, 'mms'],
  ['two opted out', [ann, bob], 0, 'mms'],
  ['one opted out and one that is no number', [ann, 'Bob'], 0, 'mms'],
])('%s cost nothing, and the type is what was asked for', (_, to, attachmentCount, type) => {
  expect(bill(to, { attachmentCount, stopped: [ann, bob] })).toEqual({
    outcome: 'nothing',
    billing: {
      billed: true,
      currency: 'USD',
      type,
      units: 0,
      totalPrice: 0,
      recipientCount: 0,
      skippedCount: to.length,
    },
  });
});

test('one reached destination without a rate stops the whole send, and is named', () => {
  expect(bill([ann, berlin, london])).toEqual({ outcome: 'unrated', numbers: [berlin] });
  expect(bill([ann], { rates: [] })).toEqual({ outcome: 'unrated', numbers: [ann] });
});

test('a skipped destination needs no rate', () => {
  expect(bill([ann, berlin], { stopped: [berlin] })).toMatchObject({ outcome: 'charged' });
  expect(bill([berlin], { stopped: [berlin] })).toMatchObject({ outcome: 'nothing' });
});

test('three times ten cents is thirty cents', () => {
  expect(JSON.stringify(bill([jamaica], { text: 'a'.repeat(400) }))).toContain('"totalPrice":0.3,');
});

/** Micro-dollars written out by hand. */
function decimal(micros: bigint): string {
  const places = micros.toString().padStart(7, '0');
  return `${places.slice(0, -6)}.${places.slice(-6)}`.replace(/\.?0+$/, '');
}

test('prices are exact decimals in JSON, and unit price times units', () => {
  const micros = fc.integer({ min: 10, max: 5_000_000 });
  fc.assert(
    fc.property(micros, fc.string({ minLength: 1, maxLength: 2000, size: 'max' }), (smsMicros, text) => {
      const card = [{ prefix: '1', smsMicros, mmsMicros: 0 }];
      const charged = bill([ann], { text, rates: card });
      if (charged.outcome !== 'charged') throw new Error(`expected a charge, got ${charged.outcome}`);
      const units = countSegments(text).segments;
      const price = decimal(BigInt(smsMicros) * BigInt(units));
      expect(charged.billing.units).toBe(units);
      expect(JSON.stringify(charged.unitPrice)).toBe(decimal(BigInt(smsMicros)));
      expect(JSON.stringify(charged.billing.totalPrice)).toBe(price);
    }),
  );
});

test.each([
  [0, '0'],
  [1_000_000, '1'],
  [7_900, '0.0079'],
  [123_456_789, '123.456789'],
])('%i micro-dollars are %s dollars', (micros, text) => {
  expect(JSON.stringify(dollars(micros))).toBe(text);
});
