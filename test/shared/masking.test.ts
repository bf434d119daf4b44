import { expect, test } from 'vitest';
import { maskKey, maskNumbers, withoutPassword } from '../../src/shared/masking.ts';

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
