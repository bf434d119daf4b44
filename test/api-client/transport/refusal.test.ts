import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { json, listen, open, refusalOf, refuse, type Scripted, serve } from '../endpoint.ts';

const pair = { line: '18457511133', number: '18455008085' };
const once = { retry: { tries: 1 } };
const page = '<html>Bad gateway</html>';
const challenge = { 'www-authenticate': 'Bearer realm="x", error="invalid_token", scope="reports:read"' };

/** A read, which may be repeated: an answer of the service below 500 proves that nothing happened. */
test.each<[answer: string, code: string, advice: string]>([
  ['400 invalid_request', 'invalid_request', 'refused'],
  ['400 unsupported', 'unsupported', 'refused'],
  ['401 unauthenticated', 'unauthenticated', 'credential'],
  ['403 insufficient_scope', 'insufficient_scope', 'scope'],
  ['403 permission_denied', 'permission_denied', 'permission'],
  ['404 not_found', 'not_found', 'not_found'],
  ['422 invalid_request', 'invalid_request', 'refused'],
  ['429 rate_limited', 'rate_limited', 'retry'],
  ['403 a_new_word', 'permission_denied', 'permission'],
])('%s is %s for what the caller should do, and proves that nothing happened', async (answer, code, advice) => {
  const { url } = await serve(answer);
  const error = await refusalOf(open(url, once).calls.get('1.1'));
  const told = { code, advice, status: Number.parseInt(answer, 10), operation: 'calls.get', effect: 'none' };
  expect(error).toMatchObject(told);
});

test.each<[answer: string, code: string, advice: string]>([
  ['500 internal_error', 'server', 'retry'],
  ['503 internal_error', 'server', 'retry'],
  [`502 ${page}`, 'server', 'retry'],
  ['409 a_new_word', 'unexpected_status', 'refused'],
  ['408 a_new_word', 'unexpected_status', 'retry'],
  ['307 a_new_word', 'redirect', 'retry'],
  ...[400, 403, 404, 410].map((status): [string, string, string] => [
    `${status} ${page}`,
    'unexpected_status',
    'retry',
  ]),
  ['404', 'unexpected_status', 'retry'],
])('%s is %s, and proves nothing: section 7 promises nothing about it', async (answer, code, advice) => {
  const { url, seen } = await serve(answer);
  const error = await refusalOf(open(url, once).conversations.reopen(pair));
  expect(error).toMatchObject({ code, advice, status: Number.parseInt(answer, 10), effect: 'unknown' });
  expect(seen).toHaveLength(1);
});

test.each(['{"error":"not found"}', '{"error":{"message":"no type"}}', '{"err'])(
  '%s is no error envelope',
  async (body) => {
    const { url } = await listen((response) => response.writeHead(404).end(body));
    expect(await refusalOf(open(url).calls.get('1.1'))).toMatchObject({ code: 'unexpected_status', effect: 'unknown' });
  },
);

test('the scope that is missing is found inside the error, beside it, or in the challenge', async () => {
  const { url } = await listen((response, _, number) => {
    const type = 'insufficient_scope';
    if (number === 1) refuse(response, 403, type, { scope: 'reports:read' });
    else if (number === 2) json(response, 403, { error: { type, message: '' }, scope: 'users:read' });
    else refuse(response, 403, type, {}, { 'www-authenticate': 'Bearer realm="x", scope="sms:read messages:read"' });
  });
  const { calls } = open(url);
  const scopes = [];
  for (let i = 0; i < 3; i += 1) scopes.push((await refusalOf(calls.get('1.1'))).scope);
  expect(scopes).toEqual(['reports:read', 'users:read', 'sms:read messages:read']);
});

test.each<[Scripted, object]>([
  [['401 unauthenticated', challenge], { code: 'unauthenticated', advice: 'credential', scope: 'reports:read' }],
  [['401', { 'www-authenticate': 'Bearer scope=sms:read' }], { code: 'unauthenticated', scope: 'sms:read' }],
  ['401', { code: 'unexpected_status' }],
  [['403', { 'www-authenticate': 'Bearer scope=sms:read' }], { code: 'unexpected_status' }],
])('only a 401 counts as the service by its challenge alone, which says the scope: %j', async (answer, told) => {
  const { url } = await serve(answer);
  expect(await refusalOf(open(url).lines.list())).toMatchObject(told);
});

test('a text that a bare challenge answered may have been sent, whatever the credential', async () => {
  const { url } = await serve(['401', { 'www-authenticate': 'Bearer' }]);
  const text = { from: '12125550100', to: ['12125550123'], message: 'Hello' };
  expect(await refusalOf(open(url).messages.send(text))).toMatchObject({ code: 'unauthenticated', effect: 'unknown' });
});

test.each([301, 302, 307, 308, 304])('a %i is not followed', async (status) => {
  const { url, seen } = await serve([String(status), { location: '/elsewhere' }]);
  expect(await refusalOf(open(url).lines.list())).toMatchObject({ code: 'redirect', status });
  expect(seen.map((request) => request.url)).toEqual(['/api/public/v1/sms/lines']);
});

test('an error shows neither the credential, nor addresses, nor the body', async () => {
  const message = `Bearer key-7f3a may not\nread https://media.test/secret.mp3 of +1 (415) 555-0177 ${'x'.repeat(500)}`;
  const { url } = await listen((response) =>
    refuse(response, 400, 'invalid_request', { message, note: 'only-in-body' }),
  );
  const error = await refusalOf(open(url).lines.list());
  const shown = `${inspect(error, { depth: 9, showHidden: true })} ${JSON.stringify(error)}`;
  expect(error.message).toContain('Bearer [credential] may not read [address] of +…0177 xxx');
  expect(error.message.length).toBeLessThan(300);
  for (const secret of ['key-7f3a', 'media.test', 'only-in-body']) expect(shown).not.toContain(secret);
});
