import { ServiceError } from '../errors.ts';
import { codeOfWord, shown } from './refusal.ts';

/**
 * Reads where the service sent the browser back to (5.3), and returns the registered address with what it brought: a
 * receiver behind a proxy knows its own address only in part. Throws `ServiceError` when the answer is to another login,
 * is a denial, or brings no code; nothing was exchanged then.
 */
export function readCallback(callbackUrl: string, expected: { state: string; redirectUri: string }): URL {
  const refuse = (code: ServiceError['code'], message: string) =>
    new ServiceError(code, message, { operation: 'oauth.complete', effect: 'none' });
  const { redirectUri, state } = expected;
  if (!URL.canParse(callbackUrl, redirectUri)) throw refuse('invalid_request', 'the callback is not an address');
  const brought = new URL(callbackUrl, redirectUri).searchParams;

  if (brought.get('state') !== state) {
    throw refuse('invalid_request', 'the state is not that of this login: begin anew, and do not follow older links');
  }
  const error = brought.get('error');
  if (error === 'access_denied') throw refuse('permission_denied', 'the user did not allow it (access_denied)');
  if (error !== null) throw refuse(codeOfWord(error), `the service refused the login (${shown(error)})`);
  const code = brought.get('code');
  if (code === null || code === '') throw refuse('invalid_request', 'the callback brings no code');

  const url = new URL(redirectUri);
  for (const [key, value] of Object.entries({ code, state, iss: brought.get('iss') })) {
    if (value !== null) url.searchParams.set(key, value);
  }
  return url;
}
