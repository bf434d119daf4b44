import { expect, test } from 'vitest';
import type { EventType } from '../../src/shared/event-types.ts';
import { maxReferences } from '../../src/webhooks/extract.ts';
import { received } from './fixtures.ts';
import { call, ended, ours, ringing } from './references.ts';

const mebibyte = 1_048_576;
const many = (event: (at: number) => string) => {
  const events: string[] = [];
  for (let bytes = 2, at = 0; ; at += 1) {
    const next = event(at);
    bytes += next.length + 1;
    if (bytes > mebibyte) return events;
    events.push(next);
  }
};
const nth = (at: number) => `1783385492.${at + 100_000}`;

test.each<[string, EventType, (at: number) => string]>([
  ['calls', 'AccountEndedCalls', (at) => `{"callId":"${nth(at)}"}`],
  ['calls in envelopes', 'AccountEndedCalls', (at) => `{"data":{"callId":"${nth(at)}"}}`],
  ['texts', 'AccountSMS', (at) => `{"id":${at},"from":"${18_450_000_000 + at}","to":"${ours}"}`],
  ['texts of an unknown line', 'AccountSMS', (at) => `{"line":"15550001111","number":"${18_450_000_000 + at}"}`],
  ['receipts', 'AccountSMS', (at) => `{"id":${at + 100_000}}`],
])('of a mebibyte of %s, the first count', (_fact, type, event) => {
  const events = many(event);
  const { references, isTruncated } = received(`[${events.join()}]`, type);
  expect(references).toHaveLength(maxReferences);
  expect(references).toEqual(received(`[${events.slice(0, maxReferences).join()}]`, type).references);
  expect(isTruncated).toBe(true);
});

test('as many references as a delivery may name are taken whole', () => {
  const named = (count: number) =>
    received(
      JSON.stringify({ callIds: Array.from({ length: count }, (_, at) => nth(at % maxReferences)) }),
      'AccountEndedCalls',
    );
  expect(named(maxReferences)).toMatchObject({ references: { length: maxReferences }, isTruncated: false });
  expect(named(maxReferences + 1)).toMatchObject({ references: { length: maxReferences }, isTruncated: false });
});

test('repeats do not crowd out what follows them', () => {
  const calls = Array.from({ length: 600 }, (_, index) => ({ callId: index < 599 ? ended : ringing }));
  const { references } = received(JSON.stringify(calls), 'AccountEndedCalls');
  expect(references).toEqual([call(ended, 'ended'), call(ringing, 'ended')]);
});

test('many texts that only begin like JSON do not hide the one that is', () => {
  const texts = [...Array.from({ length: 5_000 }, () => '[sic]'), JSON.stringify({ callId: ended })];
  expect(received(JSON.stringify({ data: texts }), 'AccountEndedCalls').references).toEqual([call(ended, 'ended')]);
});
