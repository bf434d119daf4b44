import { expect, test } from 'vitest';
import { maskKey, maskNumbers, withoutPassword } from '../../src/shared/masking.ts';
import { growthOf } from '../busy.ts';

test.each([
  ['18005550100/18455550123', '…0100/…0123'],
  ['18005550100/18455550123/18455550123,18455550199', '…0100/…0123/…0123,…0199'],
  ['18005550100/74663', '…0100/…4663'],
])('the key of thread %s shows last digits only', (key, shown) => {
  expect(maskKey('thread', key)).toBe(shown);
});

test('the key of a call stays, since it names no one', () => {
  expect(maskKey('call', '1783385492.057900')).toBe('1783385492.057900');
});

test.each([
  ['no such line: 18005550100.', 'no such line: …0100.'],
  ['+18005550100 and 8455550123', '+…0100 and …0123'],
  ['call 1783385492.057900 took 20000 ms', 'call 1783385492.057900 took 20000 ms'],
  ['thread/18005550100%2F18455550123', 'thread/…0100%2F…0123'],
  ['+1 (415) 555-0177', '+…0177'],
  ['(415) 555-0177, 415-555-0177; 415.555.0177', '…0177, …0177; …0177'],
  ['call 415 555 0177 at 08:15', 'call …0177 at 08:15'],
  ['+44 20 7946 0958 or 020/7946/0958', '+…0958 or …0958'],
  ['1-415-555-0177 / 18005550100', '…0177 / …0100'],
  ['415\u2011555\u20110177', '…0177'],
  ['٤١٥ ٥٥٥ ٠١٧٧', '…٠١٧٧'],
  ['4155550 177', '…0177'],
  ['[415] 555 0177 x45', '[…0177 x45'],
  ['18005550100 2026-11-01 08:00', '…0100 2026-11-01 08:00'],
  ['2026-11-01T08:00:05.123Z, 11/01/2026', '2026-11-01T08:00:05.123Z, 11/01/2026'],
  [
    '10.0.0.255:5432 and 550e8400-e29b-41d4-a716-446655440000',
    '10.0.0.255:5432 and 550e8400-e29b-41d4-a716-446655440000',
  ],
  ['12 of 3,400 rows in 1.5 s', '12 of 3,400 rows in 1.5 s'],
])('numbers in a text are masked: %s', (text, shown) => {
  expect(maskNumbers(text)).toBe(shown);
});

test.each([
  ['postgres://app:hunter2@db.example:5432/app?sslmode=require', 'postgres://app@db.example:5432/app?sslmode=require'],
  ['postgres://app:hunter2%40%2F@db.example/app', 'postgres://app@db.example/app'],
  ['postgres://app:hunter2@/app?host=/run/postgresql', 'postgres://app@/app?host=/run/postgresql'],
  ['postgres://db.example/app?user=app&password=hunter2', 'postgres://db.example/app?user=app'],
  ['rediss://:hunter2@cache.example:6380/1', 'rediss://cache.example:6380/1'],
  ['postgres://127.0.0.1/app', 'postgres://127.0.0.1/app'],
])('an address is shown without its password: %s', (address, shown) => {
  expect(withoutPassword(address)).toBe(shown);
});

test.each(['1', '1 ', '1-', '(', '12/', '1.', '2026-11-01 ', '(1)'])(
  'masks many %j in time linear in their number',
  (unit) => {
    expect(growthOf((times) => maskNumbers(unit.repeat(20_000 * times)))).toBeLessThan(60);
  },
);
