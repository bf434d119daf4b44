import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import type { ServiceError } from '../../../src/api-client/client.ts';
import { json, listen, open, refusalOf, refuse } from '../endpoint.ts';

const pair = { line: '18457511133', number: '18455008085' };

type Row = [number, string, Partial<ServiceError>];

test.each<Row>([
  [400, 'invalid_request', { code: 'invalid_request', advice: 'refused' }],
  [400, 'unsupported', { code: 'unsupported', advice: 'refused' }],
  [401, 'unauthenticated', { code: 'unauthenticated', advice: 'credential' }],
  [403, 'insufficient_scope', { code: 'insufficient_scope', advice: 'scope' }],
  [403, 'permission_denied', { code: 'permission_denied', advice: 'permission' }],
  [404, 'not_found', { code: 'not_found', advice: 'not_found' }],
  [422, 'invalid_request', { code: 'invalid_request', advice: 'refused' }],
  [429, 'rate_limited', { code: 'rate_limited', advice: 'retry' }],
  [403, 'a_new_word', { code: 'permission_denied', advice: 'permission' }],
])('%i %s is named for what the caller should do, and proves that nothing happened', async (status, type, expected) => {
  const { url } = await listen((response) => refuse(response, status, type));
  const error = await refusalOf(open(url, { retry: { tries: 1 } }).calls.get('1.1'));
  expect(error).toMatchObject({ ...expected, status, operation: 'calls.get', effect: 'none' });
});

test.each<Row>([
  [500, 'internal_error', { code: 'server', advice: 'retry' }],
  [503, 'internal_error', { code: 'server', advice: 'retry' }],
  [409, 'a_new_word', { code: 'unexpected_status', advice: 'refused' }],
  [408, 'a_new_word', { code: 'unexpected_status', advice: 'retry' }],
  [307, 'a_new_word', { code: 'redirect', advice: 'retry' }],
])('%i %s is named, and proves nothing: section 7 promises nothing about it', async (status, type, expected) => {
  const { url } = await listen((response) => refuse(response, status, type));
  const error = await refusalOf(open(url, { retry: { tries: 1 } }).conversations.reopen(pair));
  expect(error).toMatchObject({ ...expected, status, operation: 'conversations.reopen', effect: 'unknown' });
});

test.each([400, 403, 404, 410])('a %i without the error envelope proves nothing', async (status) => {
  const bodies = ['<html>blocked</html>', '', '{"error":"not found"}', '{"error":{"message":"no type"}}', '{"err'];
  const { url, seen } = await listen((response, _, number) => response.writeHead(status).end(bodies[number - 1]));
  const { calls } = open(url);
  for (const _ of bodies) {
    const error = await refusalOf(calls.get('1.1'));
    expect(error).toMatchObject({ code: 'unexpected_status', advice: 'retry', status, effect: 'unknown' });
  }
  expect(seen).toHaveLength(bodies.length);
});

test('a 502 page is a failure of the server that leaves the effect open', async () => {
  const { url } = await listen((response) => response.writeHead(502).end('<html>Bad gateway</html>'));
  const error = await refusalOf(open(url).calls.get('1.1'));
  expect(error).toMatchObject({ code: 'server', status: 502, effect: 'unknown' });
});

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

test('a 401 says which scope the endpoint wanted', async () => {
  const challenge = { 'www-authenticate': 'Bearer realm="x", error="invalid_token", scope="reports:read"' };
  const { url } = await listen((response) => refuse(response, 401, 'unauthenticated', {}, challenge));
  const error = await refusalOf(open(url).calls.get('1.1'));
  expect(error).toMatchObject({ code: 'unauthenticated', advice: 'credential', scope: 'reports:read' });
});

test('a bare 401 counts as the service only when it carries a challenge', async () => {
  const { url } = await listen((response, _, number) =>
    response.writeHead(401, number === 1 ? { 'www-authenticate': 'Bearer scope=sms:read' } : {}).end(),
  );
  const { lines } = open(url);
  expect(await refusalOf(lines.list())).toMatchObject({ code: 'unauthenticated', scope: 'sms:read' });
  expect(await refusalOf(lines.list())).toMatchObject({ code: 'unexpected_status' });
});

test('a text that a bare challenge answered may have been sent, whatever the credential', async () => {
  const { url } = await listen((response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end());
  const text = { from: '12125550100', to: ['12125550123'], message: 'Hello' };
  expect(await refusalOf(open(url).messages.send(text))).toMatchObject({ code: 'unauthenticated', effect: 'unknown' });
});

test.each([301, 302, 307, 308, 304])('a %i is not followed', async (status) => {
  const { url, seen } = await listen((response) => response.writeHead(status, { location: '/elsewhere' }).end());
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
