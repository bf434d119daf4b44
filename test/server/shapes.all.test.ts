import { request } from 'node:http';
import { brotliCompressSync, deflateRawSync, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { routingBelow } from '../../src/server/hooks.ts';
import { createWorld, secret, until } from '../world.ts';

const world = await createWorld({ backend: 'postgres', workers: null });
afterAll(() => world.close());
beforeEach(() => world.query('truncate ops.deliveries, secrets.bodies, ops.sync_targets'));

const mebibyte = 1_048_576;
const ended = { callId: '1783386668.111111', webhookType: 'AccountEndedCalls', status: 'missed' };
const text = { direction: 'received', fromNumber: '18455008085', toNumber: '18457511133', message: '3rd', id: 1 };
const call = 'call 1783386668.111111';
const thread = 'thread 18457511133/18455008085';
const json = Buffer.from(JSON.stringify(ended));

function send(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${world.receiver.url}/hooks/${secret}${path}`, { method: 'POST', ...init });
}
const encoded = (body: Buffer, encoding: string) =>
  send('/AccountEndedCalls', { body: new Uint8Array(body), headers: { 'content-encoding': encoding } });
const kept = () => world.query<{ body: string }>('select body, is_recognized from ops.deliveries');
const targets = async () =>
  (await world.query<{ target: string }>(`select kind || ' ' || key as target from ops.sync_targets order by 1`)).map(
    ({ target }) => target,
  );

describe('a compressed body', () => {
  test.each([
    ['gzip', gzipSync(json)],
    ['GZIP', gzipSync(json)],
    ['identity', json],
  ])('is read when it is sent as %s', async (encoding, body) => {
    expect((await encoded(body, encoding)).status).toBe(202);
    expect(await targets()).toEqual([call]);
    expect(await kept()).toMatchObject([{ body: JSON.stringify(ended) }]);
  });

  test('may open to one mebibyte, and is answered 413 beyond', async () => {
    const filled = (bytes: number) => Buffer.from(`{"callId":"1783386668.111111","pad":"${'x'.repeat(bytes)}"}`);
    const most = mebibyte - filled(0).length;
    expect((await encoded(gzipSync(filled(most)), 'gzip')).status).toBe(202);
    await world.query('truncate ops.deliveries');
    expect((await encoded(gzipSync(filled(most + 1)), 'gzip')).status).toBe(413);
    expect((await encoded(gzipSync(Buffer.alloc(20 * mebibyte)), 'gzip')).status).toBe(413);
    expect(await kept()).toEqual([]);
  });

  test('that only calls itself compressed is taken as it is', async () => {
    expect((await encoded(json, 'gzip')).status).toBe(202);
    expect(await targets()).toEqual([call]);
  });

  test.each(['gzip', 'br', 'aes128gcm', 'gzip, gzip'])(
    'of %s that nobody can open is kept, and not understood',
    async (encoding) => {
      const body = Buffer.from([31, 139, 8, 255, 254, 1, 2, 3]);
      expect((await encoded(body, encoding)).status).toBe(202);
      expect(await kept()).toMatchObject([{ is_recognized: false, body: '' }]);
      expect(await world.value('select bytes from secrets.bodies')).toEqual(body);
    },
  );

  test('that opens to much is sent away while many such wait, and nothing that was accepted is lost', async () => {
    const bomb = gzipSync(Buffer.alloc(mebibyte, ' '));
    const locker = await world.context.database.pool.connect();
    const answered: number[] = [];
    try {
      await locker.query('begin');
      await locker.query('lock table ops.deliveries in share mode');
      // Some more than there is room for: all have to arrive before the first insert gives up waiting for the lock.
      const sent = Array.from({ length: 40 }, async () => answered.push((await encoded(bomb, 'gzip')).status));
      await until(() => answered.length > 0);
      expect(new Set(answered)).toEqual(new Set([503]));
      await locker.query('commit');
      await Promise.all(sent);
    } finally {
      locker.release();
    }
    const accepted = answered.filter((status) => status === 202).length;
    expect(accepted).toBeGreaterThan(20);
    expect(await world.value('select count(*)::integer from ops.deliveries')).toBe(accepted);
  });
});

describe('a body', () => {
  test.each<[string, string, string, string | undefined, string[]]>([
    ['with a byte order mark', 'AccountEndedCalls', `\ufeff${JSON.stringify(ended)}`, 'application/json', [call]],
    ['of plain text that is JSON', 'AccountSMS', JSON.stringify(text), 'text/plain', [thread]],
    [
      'that is a list',
      'AccountSMS',
      JSON.stringify([text, { ...text, fromNumber: '18455008086' }]),
      undefined,
      [thread, thread.replace('8085', '8086')],
    ],
    [
      'in nested envelopes',
      'AccountSMS',
      JSON.stringify({ event: { data: { payload: [text] } } }),
      undefined,
      [thread],
    ],
    ['with JSON in a text', 'AccountEndedCalls', JSON.stringify({ data: JSON.stringify(ended) }), undefined, [call]],
    [
      'of a form',
      'AccountSMS',
      new URLSearchParams({ ...text, id: '1' }).toString(),
      'application/x-www-form-urlencoded',
      [thread],
    ],
    [
      'of a form with JSON in it',
      'AccountEndedCalls',
      `payload=${encodeURIComponent(JSON.stringify(ended))}`,
      undefined,
      [call],
    ],
  ])('%s is understood', async (_name, type, body, contentType, expected) => {
    const headers = contentType === undefined ? {} : { 'content-type': contentType };
    expect((await send(`/${type}`, { body: new Uint8Array(Buffer.from(body)), headers })).status).toBe(202);
    expect(await targets()).toEqual(expected.toSorted());
  });

  test.each<[string, string, string | Buffer]>([
    [
      'of many parts',
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="callId"\r\n\r\n1783386668.1\r\n--b--\r\n',
    ],
    ['of lines of JSON', 'application/x-ndjson', `${JSON.stringify(ended)}\n${JSON.stringify(ended)}\n`],
    ['of a form with brackets', 'application/x-www-form-urlencoded', 'call[callId]=1783386668.1&secret=hush'],
    ['in UTF-16', 'application/json; charset=utf-16', Buffer.from(JSON.stringify(ended), 'utf16le')],
    ['compressed without a header', 'application/json', deflateRawSync(json)],
    ['compressed in another way', 'application/json', brotliCompressSync(json)],
    ['with a quote in a text', 'application/json', '{"message":"said "call me"","callId":"1783386668.1"}'],
  ])('%s is accepted, kept whole, and named as not recognized', async (_name, contentType, sent) => {
    const body = Buffer.from(sent);
    const answer = await send('/AccountEndedCalls', {
      body: new Uint8Array(body),
      headers: { 'content-type': contentType },
    });
    expect([answer.status, await answer.json()]).toMatchObject([202, { received: 0 }]);
    expect(await targets()).toEqual([]);
    expect(await kept()).toEqual([{ body: '', is_recognized: false }]);
    expect(await world.query('select bytes, received_at <= now() as is_dated from secrets.bodies')).toEqual([
      { bytes: body, is_dated: true },
    ]);
  });
});

describe('an address', () => {
  test.each([
    '/AccountEndedCalls',
    '/AccountEndedCalls/',
    '/Account-Ended-Calls',
    '/accountendedcalls',
    '/AccountEndedCalls/Account-SMS',
    '/AccountEndedCalls?secret=x',
    '/AccountEndedCalls/a/b/c',
    '/AccountEndedCalls/100%',
    '/AccountEndedCalls%',
    '/AccountEndedCalls%?a=%',
    '/Account%2DEnded%2DCalls',
    '/%zz',
    '/%E0%A4%A/AccountSMS',
    '/AccountEndedCalls/%E0%A4%A',
    `/AccountEndedCalls/${'x'.repeat(700)}`,
    '',
    '/',
  ])('may end in %j', async (ending) => {
    expect((await send(ending, { body: JSON.stringify(ended) })).status).toBe(202);
    expect(await targets()).toEqual([call]);
  });

  test.each(['another', '%', '%zz', '%E0%A4%A', '%00'])(
    'of the token %j is a plain 404, whatever its escapes',
    async (token) => {
      for (const ending of ['', '/AccountEndedCalls', '/AccountEndedCalls%', '/%E0%A4%A']) {
        const answer = await fetch(`${world.receiver.url}/hooks/${token}${ending}`, { method: 'POST', body: json });
        expect([answer.status, await answer.json()]).toEqual([404, { error: 'not found' }]);
      }
    },
  );

  test('below the path of PUBLIC_URL is the same, whether or not a proxy takes that away', () => {
    const routed = routingBelow('https://mirror.example/in/here/');
    expect(routed('/in/here/hooks/s/AccountSMS/more?x=1')).toBe('/hooks/s/AccountSMS?x=1');
    expect(routed('/hooks/s/AccountSMS')).toBe('/hooks/s/AccountSMS');
    expect(routed('/in/hereafter')).toBe('/in/hereafter');
    expect(routed('/in/here?hooks/s/AccountSMS')).toBe('/in/here?hooks/s/AccountSMS');
    expect(routingBelow('https://mirror.example')('/healthz')).toBe('/healthz');
    const alike = routingBelow('https://mirror.example/hooks');
    expect(alike('/hooks/s/AccountSMS')).toBe('/hooks/s/AccountSMS');
    expect(alike('/hooks/hooks/s/AccountSMS')).toBe('/hooks/s/AccountSMS');
  });

  test.each(['/hooks', '/in/hooks', '/api', '/queues', '/reports', '/oauth', '/metrics', '/in/here', '/%68ooks'])(
    'below the path %s of PUBLIC_URL leads to no page',
    (path) => {
      const routed = routingBelow(`https://mirror.example${path}`);
      for (const page of ['/', '/api/status', '/metrics', '/reports', '/reports/volume.csv', '/targets'])
        expect(routed(`${path}${page}`).startsWith(`${path}/`)).toBe(true);
    },
  );

  test('is there for whoever looks at its head, and only with the right token', async () => {
    for (const path of ['', '/AccountEndedCalls', '/AccountEndedCalls?a=b']) {
      const answer = await send(path, { method: 'HEAD' });
      expect(answer.status).toBe(200);
    }
    expect((await fetch(`${world.receiver.url}/hooks/another`, { method: 'HEAD' })).status).toBe(404);
    expect(await kept()).toEqual([]);
  });
});

test('a body in chunks with an expectation is read', async () => {
  const answered = new Promise<number | undefined>((resolve, reject) => {
    const sent = request(`${world.receiver.url}/hooks/${secret}/AccountEndedCalls`, {
      method: 'PUT',
      headers: { expect: '100-continue', 'content-type': 'application/json' },
    });
    sent.on('continue', () => {
      sent.write(json.subarray(0, 10));
      sent.end(json.subarray(10));
    });
    sent.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject);
    sent.flushHeaders();
  });
  expect(await answered).toBe(202);
  expect(await targets()).toEqual([call]);
});
