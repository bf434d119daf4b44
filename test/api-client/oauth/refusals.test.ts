import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import type { ServiceError } from '../../../src/api-client/client.ts';
import { createOAuth } from '../../../src/api-client/oauth/oauth.ts';
import { createLog } from '../../../src/shared/log.ts';
import { json, listenTcp, refusalOf, refuse } from '../endpoint.ts';
import { before, callback, client, login, openOAuth, type Respond, startService, tokens } from './service.ts';

const oauthError =
  (status: number, error: string): Respond =>
  (response) =>
    json(response, status, { error, error_description: 'as the service says' });

test.each<[string, Respond, Partial<ServiceError>]>([
  [
    'invalid_grant',
    oauthError(400, 'invalid_grant'),
    { code: 'unauthenticated', advice: 'credential', effect: 'none' },
  ],
  [
    'invalid_client',
    oauthError(401, 'invalid_client'),
    { code: 'unauthenticated', advice: 'credential', effect: 'none' },
  ],
  ['invalid_scope', oauthError(400, 'invalid_scope'), { code: 'insufficient_scope', advice: 'scope', effect: 'none' }],
  [
    'invalid_request',
    oauthError(400, 'invalid_request'),
    { code: 'invalid_request', advice: 'refused', effect: 'none' },
  ],
  ['a new word', oauthError(400, 'novelty'), { code: 'invalid_request', advice: 'refused', effect: 'none' }],
  ['unsupported_grant_type', oauthError(400, 'unsupported_grant_type'), { code: 'unsupported', effect: 'none' }],
  ['temporarily_unavailable', oauthError(400, 'temporarily_unavailable'), { code: 'server', effect: 'unknown' }],
  [
    'the envelope of section 7',
    (response) => refuse(response, 400, 'invalid_request'),
    { code: 'unauthenticated', advice: 'credential', effect: 'none' },
  ],
  [
    'the envelope with permission_denied',
    (response) => refuse(response, 403, 'permission_denied'),
    { code: 'permission_denied', effect: 'none' },
  ],
  [
    'a failure',
    (response) => refuse(response, 500, 'internal_error'),
    { code: 'server', advice: 'retry', effect: 'unknown', status: 500 },
  ],
  [
    'a pause',
    (response) => refuse(response, 429, 'rate_limited', {}, { 'retry-after': '7' }),
    { code: 'rate_limited', effect: 'none', retryAfterMs: 7000 },
  ],
  [
    'the page of a proxy',
    (response) => response.writeHead(403).end('<html>no</html>'),
    { code: 'unexpected_status', advice: 'retry', effect: 'unknown' },
  ],
  [
    'a page in place of tokens',
    (response) => response.writeHead(200).end('<html>fine</html>'),
    { code: 'unreadable', effect: 'unknown' },
  ],
  ['an empty body', (response) => response.writeHead(200).end(), { code: 'unreadable', effect: 'unknown' }],
  [
    'half an answer',
    (response) => {
      response.writeHead(200, { 'content-length': '500' }).write('{"access_token":"acc');
      response.socket?.end();
    },
    { code: 'network', effect: 'unknown' },
  ],
  ['a cut connection', (response) => response.socket?.destroy(), { code: 'network', effect: 'unknown' }],
])('a refresh that is answered with %s says what to do, and what is in doubt', async (_, token, expected) => {
  const { url } = await startService({ token });
  expect(await refusalOf(openOAuth(url).refresh(client, before))).toMatchObject({
    operation: 'oauth.refresh',
    ...expected,
  });
});

test('a redirect is not followed, wherever it leads', async () => {
  const elsewhere = await startService();
  for (const status of [301, 302, 303, 307, 308]) {
    const { url } = await startService({
      token: (response) => response.writeHead(status, { location: `${elsewhere.url}/token` }).end(),
    });
    const error = await refusalOf(openOAuth(url).refresh(client, before));
    expect(error).toMatchObject({ code: 'redirect', status, effect: 'unknown' });
  }
  const { url } = await startService({
    discovery: (response) => response.writeHead(302, { location: elsewhere.url }).end(),
  });
  expect(await refusalOf(openOAuth(url).discover())).toMatchObject({ code: 'redirect', effect: 'none' });
  expect(elsewhere.seen).toEqual([]);
});

test('an answer that does not come in time is given up, and in doubt', async () => {
  const { url, seen } = await startService({ token: () => {} });
  const error = await refusalOf(openOAuth(url, { limits: { answerMs: 150 } }).refresh(client, before));
  expect(error).toMatchObject({ code: 'timeout', advice: 'retry', effect: 'unknown' });
  expect(seen.filter((one) => one.url === '/token')).toHaveLength(1);
});

test('a document that does not come in time harmed nothing', async () => {
  const { url } = await startService({ discovery: () => {} });
  const error = await refusalOf(openOAuth(url, { limits: { answerMs: 150 } }).refresh(client, before));
  expect(error).toMatchObject({ code: 'timeout', effect: 'none' });
});

test('an answer of any size is cut off at the limit', async () => {
  const { url } = await startService({ token: (response) => response.end('x'.repeat(300_000)) });
  expect(await refusalOf(openOAuth(url).refresh(client, before))).toMatchObject({
    code: 'too_large',
    effect: 'unknown',
  });
});

test('a service that is not there had no effect', async () => {
  const { url } = await listenTcp((socket) => socket.destroy());
  const gone = url.replace(/\d+$/, '1');
  expect(await refusalOf(openOAuth(gone).refresh(client, before))).toMatchObject({ code: 'network', effect: 'none' });
});

test.each([
  ['another state', 'code=c&state=other', 'invalid_request'],
  ['no state', 'code=c', 'invalid_request'],
  ['a denial with another state', 'error=access_denied&state=other', 'invalid_request'],
  ['no code', `state=${login.state}`, 'invalid_request'],
  ['a denial', `error=access_denied&state=${login.state}`, 'permission_denied'],
  ['an unknown scope', `error=invalid_scope&state=${login.state}`, 'insufficient_scope'],
  ['a failure of the service', `error=server_error&state=${login.state}`, 'server'],
  ['an error that nobody knows', `error=<script>&state=${login.state}`, 'invalid_request'],
])('a callback with %s is refused before anything is sent', async (_, query, code) => {
  const { url, seen } = await startService();
  const error = await refusalOf(openOAuth(url).complete(login, `/callback?${query}`));
  expect(error).toMatchObject({ code, effect: 'none', operation: 'oauth.complete' });
  expect(error.message).not.toContain('<');
  expect(seen).toEqual([]);
});

const everySecret = [
  before.refreshToken,
  'code-77aa',
  login.verifier,
  login.state,
  tokens.access_token,
  tokens.refresh_token,
];

test.each<[string, Respond]>([
  [
    'repeats what was sent',
    (response, { body }) =>
      json(response, 400, { error: 'invalid_grant', error_description: decodeURIComponent(body) }),
  ],
  [
    'repeats it in the envelope',
    (response, { body }) => json(response, 400, { error: { type: 'x', message: decodeURIComponent(body) } }),
  ],
  ['gives tokens that cannot be used', (response) => json(response, 200, { ...tokens, token_type: 'mac' })],
  ['gives tokens in broken JSON', (response) => response.end(JSON.stringify(tokens).slice(0, -1))],
  ['gives tokens with a status of its own', (response) => json(response, 418, tokens)],
])('no error carries a secret when the service %s', async (_, token) => {
  const { url } = await startService({ token });
  const oauth = openOAuth(url);
  const errors = [await refusalOf(oauth.refresh(client, before)), await refusalOf(oauth.complete(login, callback))];
  const shown = inspect(errors, { depth: 20, showHidden: true });
  for (const secret of everySecret) expect(shown).not.toContain(secret);
});

test('no log line carries a secret', async () => {
  const lines: string[] = [];
  const log = createLog('trace', { write: (line) => void lines.push(line) });
  const { url } = await startService({ token: (response) => json(response, 200, { ...tokens, scope: 'sms:read' }) });
  const oauth = openOAuth(url, { log });
  await oauth.register({ name: 'Trunkline', redirectUri: login.client.redirectUri });
  const begun = await oauth.begin({ client: login.client, scopes: login.scopes });
  await oauth.complete(login, callback);
  await oauth.refresh(client, before);
  expect(lines.join('')).toContain('The user did not grant all requested scopes');
  for (const secret of [...everySecret, begun.state, begun.verifier]) expect(lines.join('')).not.toContain(secret);
});

test('over TLS, no endpoint without it is used', async () => {
  const { readEndpointBody, UnusableAnswer } = await import('../../../src/api-client/oauth/endpoints.ts');
  const plain = { authorization_endpoint: 'https://a.test/login', token_endpoint: 'http://a.test/token' };
  const read = (allowsHttp: boolean) =>
    readEndpointBody('discovery', JSON.stringify(plain), { issuer: 'https://a.test', allowsHttp });
  expect(() => read(false)).toThrow(UnusableAnswer);
  expect(read(true)).toMatchObject(plain);
});

test.each(['', 'ftp://host', 'https://user@host', 'https://host?x=1'])('%j cannot be a base address', (baseUrl) => {
  expect(() => createOAuth({ baseUrl, log: createLog('silent') })).toThrow(/base address/);
});
