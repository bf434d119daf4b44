import { expect, test } from 'vitest';
import {
  type Bill,
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

test('one reached destination without a rate stops the whole send, and is named', () => {
  expect(bill([ann, berlin, london])).toEqual({ outcome: 'unrated', numbers: [berlin] });
  expect(bill([ann], { rates: [] })).toEqual({ outcome: 'unrated', numbers: [ann] });
});

test('three times ten cents is thirty cents', () => {
  expect(JSON.stringify(bill([jamaica], { text: 'a'.repeat(400) }))).toContain('"totalPrice":0.3,');
});
