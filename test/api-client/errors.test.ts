import { expect, test } from 'vitest';
import { codeIn, type ErrorCode, meaningOf, reasonOf, ServiceError, wordsOf } from '../../src/api-client/client.ts';

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

test('what happened is said once, with the detail that its code does not say', () => {
  const refused = new ServiceError('network', 'ECONNREFUSED', { operation: 'users.list', effect: 'none' });
  expect(refused.message).toBe('users.list: the service can’t be reached (ECONNREFUSED)');
  expect(wordsOf(new ServiceError('stalled', undefined, refused))).toBe('it was too late to ask the service');
});

test('a stored reason is known by the code that it begins with', () => {
  const details = { operation: 'messages.send', effect: 'none', status: 403 } as const;
  const error = new ServiceError('permission_denied', '403: the line is not yours', details);
  expect(reasonOf(error, true)).toBe('permission_denied (403: the line is not yours)');
  expect(reasonOf(error, false)).toBe('permission_denied (403)');
  expect(codeIn(reasonOf(error, true))).toBe('permission_denied');
  expect(codeIn('timeout')).toBe('timeout');
  for (const other of ['', 'the note may have been posted: timeout', 'constructor: no', 'timeouts']) {
    expect(codeIn(other), other).toBeUndefined();
  }
});
