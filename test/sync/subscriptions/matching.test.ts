import { expect, test } from 'vitest';
import { hookUrl, receiverOf, sameAddress } from '../../../src/sync/subscriptions/matching.ts';

const base = 'https://mirror.example/in';
const url = hookUrl(base, 'a-secret', 'AccountSMS');

test.each([
  ['with the name of its type at the end', `${url}/Account-SMS`],
  ['with a query', `${url}?source=api`],
  ['with its type in lower case', url.replace('AccountSMS', 'accountsms')],
  ['with a slash, a port and capitals', `HTTPS://MIRROR.example:443/in/hooks/a-secret/AccountSMS/`],
])('an address %s leads to the same place', (_how, shown) => {
  expect(sameAddress(shown, url)).toBe(true);
  expect(receiverOf(shown)).toBe(receiverOf(url));
});

test.each([
  ['another type', hookUrl(base, 'a-secret', 'AccountEndedCalls')],
  ['no type of ours', `${url}x`],
  ['another secret', hookUrl(base, 'another-secret', 'AccountSMS')],
  ['another path', hookUrl('https://mirror.example', 'a-secret', 'AccountSMS')],
  ['no hook', base],
])('an address of %s is another one', (_what, shown) => {
  expect(sameAddress(shown, url)).toBe(false);
});

test('a receiver below a path that ends as a hook does is told by its own secret', () => {
  const below = hookUrl('https://mirror.example/hooks/in', 'a-secret', 'AccountSMS');
  expect(receiverOf(below)).not.toBe(receiverOf(below.replace('a-secret', 'another-secret')));
});
