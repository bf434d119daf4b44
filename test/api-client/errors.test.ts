import { expect, test } from 'vitest';
import { codeIn, type ErrorCode, meaningOf, ServiceError } from '../../src/api-client/client.ts';

/** The types of section 7 that a caller can do something about, and what that is. */
test.each<[ErrorCode, RegExp]>([
  ['unauthenticated', /^Set API_KEY/],
  ['insufficient_scope', /^Grant /],
  ['permission_denied', /portal/],
  ['not_found', /deleted/],
  ['invalid_request', /^Correct /],
  ['rate_limited', /^Wait/],
  ['server', /^Wait/],
  ['network', /API_BASE_URL/],
  ['redirect', /API_BASE_URL/],
  ['account_unrecognized', /account accept/],
])('%s has a cure', (code, cure) => {
  const { sentence, remedy } = meaningOf({ code });
  expect(sentence).toMatch(/^[A-Z].+\.$/);
  expect(remedy).toMatch(cure);
});

test('the scope that the service names is the one to grant', () => {
  const error = new ServiceError('insufficient_scope', 'no', {
    operation: 'users.list',
    effect: 'none',
    scope: 'users',
  });
  expect(meaningOf(error)).toEqual({
    sentence: 'The API key lacks the scope users.',
    remedy: 'Grant users to the API key.',
  });
});

test('a call that may have been carried out is looked for before it is repeated', () => {
  const details = { operation: 'messages.send', effect: 'unknown', advice: 'reconcile' } as const;
  expect(meaningOf(new ServiceError('timeout', 'no answer', details)).remedy).toMatch(/before you repeat it/);
});

test('a stored reason is known by the code that it begins with', () => {
  expect(codeIn('permission_denied: the line is not yours')).toBe('permission_denied');
  expect(codeIn('timeout')).toBe('timeout');
  for (const other of ['', 'the note may have been posted: timeout', 'constructor: no', 'timeouts']) {
    expect(codeIn(other), other).toBeUndefined();
  }
});
