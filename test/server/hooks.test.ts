import { request } from 'node:http';
import { connect } from 'node:net';
import { brotliCompressSync, deflateRawSync, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { routingBelow } from '../../src/server/hooks.ts';
import { maxReferences } from '../../src/webhooks/extract.ts';
import { waitingForLocks } from '../world/database.ts';
import { createWorld, secret, until } from '../world.ts';

const previousSecret = 'the-previous-secret';
const world = await createWorld({ backend: 'postgres', workers: null, previousSecret });
const { query, value } = world;
afterAll(() => world.close());
beforeEach(() => query('truncate ops.deliveries, secrets.bodies, ops.sync_targets'));

const mebibyte = 1_048_576;
const ended = { callId: '1783386668.111111', webhookType: 'AccountEndedCalls', status: 'missed' };
const text = { direction: 'received', fromNumber: '18455008085', toNumber: '18457511133', message: '3rd', id: 1 };
const call = 'call 1783386668.111111';
const thread = 'thread 18457511133/18455008085';
const json = JSON.stringify(ended);
const form = { 'content-type': 'application/x-www-form-urlencoded' };

/** A request below the address of the hooks; a body of bytes brings no content type of its own. */
function send(
  ending: string,
  body?: string | Buffer | null,
  init: RequestInit = {},
  token = secret,
): Promise<Response> {
  const bytes = body === undefined || body === null ? {} : { body: new Uint8Array(Buffer.from(body)) };
  return fetch(`${world.receiver.url}/hooks/${token}${ending}`, { method: 'POST', ...bytes, ...init });
}
const deliveries = () =>
  query<Record<string, unknown>>(
    'select event_type, claimed_type, body, is_recognized, content_type from ops.deliveries order by delivery_id',
  );
const bytesKept = () => value('select bytes from secrets.bodies');
const targets = async () =>
  (await query<{ target: string }>(`select kind || ' ' || key as target from ops.sync_targets order by 1`)).map(
    ({ target }) => target,
  );
/** While deliveries cannot be stored. */
async function whileLocked(work: (commit: () => Promise<unknown>) => Promise<void>): Promise<void> {
  const locker = await world.context.database.pool.connect();
  try {
    await locker.query('begin');
    await locker.query('lock table ops.deliveries in share mode');
    await work(() => locker.query('commit'));
  } finally {
    locker.release();
  }
}

test('202 says that the delivery and its target are committed', () =>
  whileLocked(async (commit) => {
    const answered = world.deliver('AccountEndedCalls', ended);
    const early = await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, 150, 'none'))]);
    expect(early).toBe('none');
    await commit();
    const answer = await answered;
    expect([answer.status, await answer.json()]).toEqual([
      202,
      { received: 1, delivery: expect.stringMatching(/^\d+$/) },
    ]);
    expect(await targets()).toEqual([call]);
  }));

describe('the token', () => {
  test.each<[string, string]>([
    ['a wrong one', 'a-wrong-secret-indeed'],
    ['one of the same length', secret.replace(/.$/, 'X')],
    ['a prefix', secret.slice(0, -1)],
    ['one with more', `${secret}1`],
    ['one that is not ASCII', encodeURIComponent('ä-secret-of-the-world')],
    ['one of endless length', 'x'.repeat(12_000)],
    ...['%', '%zz', '%E0%A4%A', '%00'].map((token): [string, string] => ['one with escapes', token]),
  ])('%s is a plain 404, whatever follows it, and nothing is kept', async (_, token) => {
    for (const ending of ['', '/AccountEndedCalls', '/AccountEndedCalls%', '/%E0%A4%A']) {
      const answer = await send(ending, json, {}, token);
      expect([answer.status, await answer.json()]).toEqual([404, { error: 'not found' }]);
    }
    expect(await deliveries()).toEqual([]);
  });

  test.each([
    ['that is announced', { 'content-length': String(mebibyte + 1) }],
    ['that is not announced', { 'transfer-encoding': 'chunked' }],
  ])('that is wrong is a 404 before a body %s has come', async (_, headers) => {
    const { promise: answered, resolve } = Promise.withResolvers<number | undefined>();
    const stranger = request(`${world.receiver.url}/hooks/a-wrong-secret/AccountSMS`, { method: 'POST', headers });
    stranger.on('response', ({ statusCode }) => resolve(statusCode));
    stranger.write('x');
    expect(await answered).toBe(404);
    stranger.destroy();
  });

  test('of before a rotation is accepted', async () => {
    expect((await send('/AccountEndedCalls', json, {}, previousSecret)).status).toBe(202);
    expect(await targets()).toEqual([call]);
  });
});

describe('the size', () => {
  const filled = (bytes: number) => `{"callId":"1783386668.111111","pad":"${'x'.repeat(bytes)}"}`;
  const exactly = (bytes: number) => filled(bytes - filled(0).length);
  const gzip = { headers: { 'content-encoding': 'gzip' } };

  test.each<[string, () => string | Buffer, RequestInit, number]>([
    ['one mebibyte', () => exactly(mebibyte), {}, 202],
    ['one byte more', () => exactly(mebibyte + 1), {}, 413],
    ['what opens to one mebibyte', () => gzipSync(exactly(mebibyte)), gzip, 202],
    ['what opens to one byte more', () => gzipSync(exactly(mebibyte + 1)), gzip, 413],
    ['what opens to twenty mebibytes', () => gzipSync(Buffer.alloc(20 * mebibyte)), gzip, 413],
  ])('of %s is answered as it should be', async (_, body, init, status) => {
    expect((await send('/AccountEndedCalls', body(), init)).status).toBe(status);
    expect(await targets()).toEqual(status === 202 ? [call] : []);
    expect(await deliveries()).toHaveLength(status === 202 ? 1 : 0);
  });

  test('that is too large and was not announced is refused too', async () => {
    const body = new ReadableStream({
      start(controller) {
        for (let at = 0; at < 20; at += 1) controller.enqueue(new Uint8Array(100_000));
        controller.close();
      },
    });
    const init = { body, duplex: 'half' } as RequestInit;
    const answer = await send('/AccountEndedCalls', null, init).catch(() => undefined);
    expect([413, undefined]).toContain(answer?.status);
    expect(await deliveries()).toEqual([]);
  });
});

describe('a delivery is understood', () => {
  const contentTypes =
    'application/json|application/json; charset=utf-8; charset=utf-8|text/plain|text/html;;;|nonsense|application/|/|;|' +
    'multipart/form-data|application/x-www-form-urlencoded|"|APPLICATION/JSON; =';
  test.each(contentTypes.split('|'))('with the content type %j', async (contentType) => {
    expect((await send('/AccountEndedCalls', json, { headers: { 'content-type': contentType } })).status).toBe(202);
    expect(await targets()).toEqual([call]);
  });

  const endings =
    '/AccountEndedCalls /AccountEndedCalls/ /Account-Ended-Calls /accountendedcalls /account-ended-calls /NeverHeardOf / ' +
    '/AccountEndedCalls/Account-SMS /AccountEndedCalls/Account-Ended-Calls /AccountEndedCalls?secret=x ' +
    '/AccountEndedCalls/a/b/c?x=1 /AccountEndedCalls?a=% /Account%2DEnded%2DCalls ' +
    `/AccountEndedCalls/${'x'.repeat(700)} /${'NeverHeardOf'.repeat(500)}`;
  test.each(['', ...endings.split(' ')])('at …%s', async (ending) => {
    expect((await send(ending, json)).status).toBe(202);
    expect(await deliveries()).toMatchObject([{ event_type: 'AccountEndedCalls', content_type: null }]);
    expect(await targets()).toEqual([call]);
  });

  const many = JSON.stringify([text, { ...text, fromNumber: '18455008086' }]);
  const unknownLine = { id: 1, direction: 'received', fromNumber: '15557770001', toNumber: '15557770002' };
  test.each<[string, string, string | Buffer | null, RequestInit, string[]]>([
    ['by PUT', '/AccountEndedCalls', json, { method: 'PUT' }, [call]],
    ['by GET', `/AccountEndedCalls?callId=${ended.callId}&status=missed`, null, { method: 'GET' }, [call]],
    ['with gzip', '/AccountEndedCalls', gzipSync(json), { headers: { 'content-encoding': 'gzip' } }, [call]],
    ['with GZIP', '/AccountEndedCalls', gzipSync(json), { headers: { 'content-encoding': 'GZIP' } }, [call]],
    ['with identity', '/AccountEndedCalls', json, { headers: { 'content-encoding': 'identity' } }, [call]],
    ['that only calls itself gzip', '/AccountEndedCalls', json, { headers: { 'content-encoding': 'gzip' } }, [call]],
    ['with a byte order mark', '/AccountEndedCalls', `\ufeff${json}`, {}, [call]],
    ['with JSON in a text', '/AccountEndedCalls', JSON.stringify({ data: json }), {}, [call]],
    ['that is a list', '/AccountSMS', many, {}, [thread, thread.replace('8085', '8086')]],
    ['in envelopes', '/AccountSMS', JSON.stringify({ event: { data: { payload: [text] } } }), {}, [thread]],
    ['of a form', '/AccountSMS', String(new URLSearchParams({ ...text, id: '1' })), { headers: form }, [thread]],
    ['of a form with JSON', '/AccountEndedCalls', `payload=${encodeURIComponent(json)}`, {}, [call]],
    ['whose id is no text', '/AccountEndedCalls', '{"callId":1783385492.057900}', {}, ['call 1783385492.057900']],
    ['that contradicts the path', '/AccountSMS', json, {}, [call]],
    ['of an unknown line', '/AccountSMS', JSON.stringify(unknownLine), {}, ['thread 15557770002/15557770001']],
  ])('%s', async (name, ending, body, init, expected) => {
    expect((await send(ending, body, init)).status).toBe(202);
    expect(await targets()).toEqual(expected);
    const both = { event_type: 'AccountSMS', claimed_type: 'AccountEndedCalls' };
    const types = name === 'that contradicts the path' && both;
    expect(await deliveries()).toMatchObject([{ is_recognized: true, ...types }]);
  });

  test('in chunks with an expectation', async () => {
    const { promise: answered, resolve, reject } = Promise.withResolvers<number | undefined>();
    const headers = { expect: '100-continue', 'content-type': 'application/json' };
    const sent = request(`${world.receiver.url}/hooks/${secret}/AccountEndedCalls`, { method: 'PUT', headers });
    sent.on('continue', () => {
      sent.write(json.slice(0, 10));
      sent.end(json.slice(10));
    });
    sent.on('response', (response) => resolve(response.resume().statusCode));
    sent.on('error', reject).flushHeaders();
    expect(await answered).toBe(202);
    expect(await targets()).toEqual([call]);
  });

  test('with all of its events, and of twelve thousand the first', async () => {
    const events = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ ...ended, callId: `1783386668.${at}` }));
    expect(await (await world.deliver('AccountEndedCalls', events(30))).json()).toMatchObject({ received: 30 });
    expect(await targets()).toHaveLength(30);
    await query('truncate ops.deliveries, ops.sync_targets');
    const short = events(12_000).map(({ callId, status }) => ({ callId, status }));
    expect(await (await world.deliver('AccountEndedCalls', short)).json()).toMatchObject({ received: maxReferences });
    expect(await targets()).toHaveLength(maxReferences);
    const [row] = await deliveries();
    expect(row).toMatchObject({ is_recognized: false });
    expect(JSON.parse(String(row?.body))).toHaveLength(12_000);
  });

  test('of a call that still rings, which is due when it may be over', async () => {
    await world.deliver('AccountRealTimeCalls', { callId: '1783386668.222222', status: 'ringing' });
    expect(Number(await value('select extract(epoch from due_at - now()) from ops.sync_targets'))).toBeGreaterThan(50);
  });

  test('of a hundred at once, and each is kept', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        world.deliver('AccountEndedCalls', { ...ended, callId: `1783386668.${at}` }),
      ),
    );
    expect(answers.every(({ status }) => status === 202)).toBe(true);
    expect(await deliveries()).toHaveLength(100);
  });
});

describe('a delivery is accepted and kept whole, unrecognized', () => {
  const odd = Buffer.from([31, 139, 8, 255, 254, 1, 2, 3]);
  const lines = `${json}\n${json}\n`;
  const parts = '--b\r\nContent-Disposition: form-data; name="callId"\r\n\r\n1783386668.1\r\n--b--\r\n';
  test.each<[string, string | Buffer, Record<string, string>]>([
    ...['gzip', 'br', 'aes128gcm', 'gzip, gzip'].map((encoding): [string, Buffer, Record<string, string>] => [
      encoding,
      odd,
      { 'content-encoding': encoding },
    ]),
    ['many parts', parts, { 'content-type': 'multipart/form-data; boundary=b' }],
    ['lines of JSON', lines, { 'content-type': 'application/x-ndjson' }],
    ['a form with brackets', 'call[callId]=1783386668.1&secret=hush', form],
    ['UTF-16', Buffer.from(json, 'utf16le'), { 'content-type': 'application/json; charset=utf-16' }],
    ['compression without a header', deflateRawSync(json), {}],
    ['another compression', brotliCompressSync(json), {}],
    ['a quote in a text', '{"message":"said "call me"","callId":"1783386668.1"}', {}],
    ['garbage', 'not { json', {}],
    ['NUL and half characters', '{"callId":"x\\u0000\\ud83d"}', {}],
    ['a real NUL', 'a\0b', {}],
    ['separators', '\u001e\u001f\u001d', {}],
    ['a nest', '['.repeat(100_000), {}],
    ['a closed nest', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, {}],
    ['a number that is nested deep', `${'{"id":'.repeat(20_000)}1783385492.057900${'}'.repeat(20_000)}`, {}],
    ['a refused key', '{"__proto__":{"x":1},"constructor":{"prototype":{}}}', {}],
  ])('of %s', async (_, body, headers) => {
    const answer = await send('/AccountEndedCalls', body, { headers });
    expect([answer.status, await answer.json()]).toMatchObject([202, { received: 0 }]);
    expect(await targets()).toEqual([]);
    expect(await deliveries()).toMatchObject([{ is_recognized: false, body: '' }]);
    expect(await bytesKept()).toEqual(Buffer.from(body));
    expect(await value('select received_at <= now() from secrets.bodies')).toBe(true);
  });

  test('of nothing', async () => {
    expect((await send('/AccountEndedCalls')).status).toBe(202);
    const kept = { event_type: 'AccountEndedCalls', body: '', is_recognized: false };
    expect(await deliveries()).toMatchObject([kept]);
  });
});

test('the content type and the user agent keep no secret', async () => {
  await world.deliver('AccountEndedCalls', ended, {
    'content-type': `application/json; sig=HUSH; of="${secret}"`,
    'user-agent': `Sender/1.0 (+https://sender.example/?token=HUSH) sig=HUSH ${secret}`,
  });
  await world.deliver('AccountEndedCalls', ended, { 'content-type': 'text/weird; a=b' });
  expect((await deliveries()).map((each) => each.content_type)).toEqual(['application/json', 'text/weird']);
  expect(await value('select user_agent from ops.deliveries order by delivery_id')).toBe('Sender/1.0');
});

test.each([
  ['GET', '', 200],
  ['GET', '/AccountEndedCalls', 200],
  ['HEAD', '', 200],
  ['HEAD', '/AccountEndedCalls?a=b', 200],
  ['DELETE', '/AccountEndedCalls', 404],
])('%s …%s is no delivery, and is answered %i', async (method, ending, status) => {
  expect((await send(ending, null, { method })).status).toBe(status);
  expect((await send(ending, null, { method }, 'another')).status).toBe(404);
  expect(await deliveries()).toEqual([]);
});

test('below the path of PUBLIC_URL hooks are reached, whether or not a proxy takes that away, and nothing else is', () => {
  const routed = routingBelow('https://mirror.example/in/here/');
  const alike = routingBelow('https://mirror.example/hooks');
  const elsewhere = ['/in/hereafter', '/in/here?hooks/s/AccountSMS', '/in/here/', '/in/here/metrics', '/in/here/hooks'];
  expect([
    ...['/in/here/hooks/s/AccountSMS?x=1', '/hooks/s/AccountSMS', ...elsewhere].map(routed),
    ...['/hooks/s/AccountSMS', '/hooks/hooks/s/AccountSMS', '/hooks/metrics'].map(alike),
    routingBelow('https://mirror.example')('/healthz'),
  ]).toEqual([
    ...['/hooks/s/AccountSMS?x=1', '/hooks/s/AccountSMS', ...elsewhere],
    ...['/hooks/s/AccountSMS', '/hooks/s/AccountSMS', '/hooks/metrics'],
    '/healthz',
  ]);
});

test('a delivery on a connection that is still open while the receiver closes is taken like any other', async () => {
  const own = await createWorld({
    backend: 'postgres',
    workers: null,
    databaseUrl: world.context.settings.databaseUrl,
  });
  const post = (at: number) =>
    `POST /hooks/${secret}/AccountEndedCalls HTTP/1.1\r\nHost: x\r\nContent-Length: 25\r\n\r\n{"callId":"1783386668.${at}"}`;
  let answered = '';
  await whileLocked(async (commit) => {
    const socket = connect(own.receiver.port, '127.0.0.1', () => socket.write(post(1)));
    const ended = new Promise((resolve) => socket.on('close', resolve));
    socket.on('data', (data) => {
      answered += data;
    });
    const waiting = async (count: number) => until(async () => Number(await value(waitingForLocks)) >= count);
    await waiting(1);
    const closed = own.receiver.close();
    socket.write(post(2));
    await waiting(2);
    await commit();
    await Promise.all([closed, ended]);
  });
  await own.close();
  expect(answered.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 202', 'HTTP/1.1 202']);
  expect(await deliveries()).toHaveLength(2);
});
