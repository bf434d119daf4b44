import { request } from 'node:http';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { maxReferences } from '../../src/webhooks/extract.ts';
import { createWorld, secret } from '../world.ts';

const previousSecret = 'the-previous-secret';
const world = await createWorld({ backend: 'postgres', workers: null, previousSecret });
afterAll(() => world.close());
beforeEach(() => world.query('truncate ops.deliveries, secrets.bodies, ops.sync_targets'));

const mebibyte = 1_048_576;
const ended = { callId: '1783386668.111111', webhookType: 'AccountEndedCalls', status: 'missed' };

function send(path: string, init: RequestInit & { duplex?: 'half' } = {}): Promise<Response> {
  return fetch(`${world.receiver.url}${path}`, { method: 'POST', ...init });
}
const deliveries = () =>
  world.query<{ event_type: string; body: string; targets: string[]; is_recognized: boolean; content_type: string }>(
    'select event_type, claimed_type, body, targets, is_recognized, content_type from ops.deliveries order by delivery_id',
  );
const targets = async () =>
  (await world.query<{ target: string }>(`select kind || ' ' || key as target from ops.sync_targets order by 1`)).map(
    ({ target }) => target,
  );

test('202 says that the delivery and its target are committed', async () => {
  const locker = await world.context.database.pool.connect();
  try {
    await locker.query('begin');
    await locker.query('lock table ops.deliveries in share mode');
    const answered = world.deliver('AccountEndedCalls', ended);
    const early = await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, 150, 'none'))]);
    expect(early).toBe('none');
    await locker.query('commit');
    const answer = await answered;
    expect(answer.status).toBe(202);
    expect(await answer.json()).toEqual({ received: 1, delivery: expect.stringMatching(/^\d+$/) });
    expect(await targets()).toEqual(['call 1783386668.111111']);
  } finally {
    locker.release();
  }
});

describe('the token', () => {
  const body = JSON.stringify(ended);

  test.each([
    ['a wrong one', 'a-wrong-secret-indeed'],
    ['one of the same length', secret.replace(/.$/, 'X')],
    ['a prefix', secret.slice(0, -1)],
    ['one with more', `${secret}1`],
    ['one that is not ASCII', encodeURIComponent('ä-secret-of-the-world')],
  ])('%s is a plain 404, and nothing is kept', async (_name, token) => {
    const answer = await send(`/hooks/${token}/AccountEndedCalls`, { body });
    expect(answer.status).toBe(404);
    expect(await answer.text()).not.toContain(token);
    expect(await deliveries()).toEqual([]);
  });

  test('of endless length is a plain 404 like any other', async () => {
    const answer = await send(`/hooks/${'x'.repeat(12_000)}/AccountEndedCalls`, { body });
    expect([answer.status, await answer.json()]).toEqual([404, { error: 'not found' }]);
    expect(await deliveries()).toEqual([]);
  });

  test.each([
    ['that is announced', { headers: { 'content-length': String(mebibyte + 1) } }],
    ['that is not announced', { headers: { 'transfer-encoding': 'chunked' } }],
  ])('that is wrong is a 404 before a body %s has come', async (_name, init) => {
    const { promise: answered, resolve } = Promise.withResolvers<number | undefined>();
    const stranger = request(`${world.receiver.url}/hooks/a-wrong-secret/AccountSMS`, { method: 'POST', ...init });
    stranger.on('response', ({ statusCode }) => resolve(statusCode));
    stranger.write('x');
    expect(await answered).toBe(404);
    stranger.destroy();
  });

  test('that is wrong is a 404 also when the body is too large', async () => {
    const answer = await send('/hooks/a-wrong-secret/AccountSMS', { body: 'x'.repeat(mebibyte + 1) });
    expect(answer.status).toBe(404);
  });

  test('of before a rotation is accepted', async () => {
    expect((await send(`/hooks/${previousSecret}/AccountEndedCalls`, { body })).status).toBe(202);
    expect(await deliveries()).toHaveLength(1);
  });
});

describe('the size', () => {
  const filled = (bytes: number) => `{"callId":"1783386668.111111","pad":"${'x'.repeat(bytes)}"}`;
  const exactly = (bytes: number) => filled(bytes - filled(0).length);

  test('of one mebibyte is accepted', async () => {
    expect((await world.deliver('AccountEndedCalls', exactly(mebibyte))).status).toBe(202);
    expect(await targets()).toEqual(['call 1783386668.111111']);
  });

  test('of one byte more is answered 413', async () => {
    expect((await world.deliver('AccountEndedCalls', exactly(mebibyte + 1))).status).toBe(413);
    expect(await deliveries()).toEqual([]);
  });

  test('that was not announced is answered 413 too', async () => {
    const chunks = new ReadableStream({
      start(controller) {
        for (let at = 0; at < 20; at += 1) controller.enqueue(new Uint8Array(100_000));
        controller.close();
      },
    });
    const answer = await send(`/hooks/${secret}/AccountEndedCalls`, { body: chunks, duplex: 'half' }).catch(
      () => undefined,
    );
    expect([413, undefined]).toContain(answer?.status);
    expect(await deliveries()).toEqual([]);
  });

  test('of nothing is accepted and kept', async () => {
    expect((await send(`/hooks/${secret}/AccountEndedCalls`)).status).toBe(202);
    expect(await deliveries()).toMatchObject([{ event_type: 'AccountEndedCalls', body: '', is_recognized: false }]);
  });
});

describe('the content type', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8; charset=utf-8',
    'text/plain',
    'text/html;;;',
    'nonsense',
    'application/',
    '/',
    ';',
    'multipart/form-data',
    'application/x-www-form-urlencoded',
    '"',
    'APPLICATION/JSON; =',
  ])('%j is taken for what the body is', async (contentType) => {
    const answer = await send(`/hooks/${secret}/AccountEndedCalls`, {
      body: Buffer.from(JSON.stringify(ended)),
      headers: { 'content-type': contentType },
    });
    expect(answer.status).toBe(202);
    expect(await targets()).toEqual(['call 1783386668.111111']);
  });

  test('need not be named', async () => {
    const answer = await send(`/hooks/${secret}/AccountEndedCalls`, { body: Buffer.from(JSON.stringify(ended)) });
    expect(answer.status).toBe(202);
    expect(await targets()).toEqual(['call 1783386668.111111']);
    expect(await deliveries()).toMatchObject([{ content_type: null }]);
  });

  test('and the user agent keep no secret', async () => {
    const headers = {
      'content-type': `application/json; sig=HUSH; of="${secret}"`,
      'user-agent': `Sender/1.0 (+https://sender.example/?token=HUSH) sig=HUSH ${secret}`,
    };
    await world.deliver('AccountEndedCalls', ended, headers);
    expect(await deliveries()).toMatchObject([{ content_type: 'application/json' }]);
    const [{ agent } = { agent: '' }] = await world.query<{ agent: string }>(
      'select user_agent as agent from ops.deliveries',
    );
    expect(agent).toBe('Sender/1.0');
  });

  test('is kept without its parameters', async () => {
    await world.deliver('AccountEndedCalls', ended, { 'content-type': 'text/weird; a=b' });
    expect(await deliveries()).toMatchObject([{ content_type: 'text/weird' }]);
  });
});

describe('the method', () => {
  test('PUT delivers', async () => {
    const answer = await send(`/hooks/${secret}/AccountEndedCalls`, { method: 'PUT', body: JSON.stringify(ended) });
    expect(answer.status).toBe(202);
    expect(await targets()).toEqual(['call 1783386668.111111']);
  });

  test('GET with a query delivers', async () => {
    const answer = await send(`/hooks/${secret}/AccountEndedCalls?callId=1783386668.111111&status=missed`, {
      method: 'GET',
    });
    expect(answer.status).toBe(202);
    expect(await targets()).toEqual(['call 1783386668.111111']);
  });

  test('GET without one answers 200 and keeps nothing', async () => {
    const answer = await send(`/hooks/${secret}/AccountEndedCalls`, { method: 'GET' });
    expect(answer.status).toBe(200);
    expect(await deliveries()).toEqual([]);
  });

  test('DELETE is no delivery', async () => {
    expect((await send(`/hooks/${secret}/AccountEndedCalls`, { method: 'DELETE' })).status).toBe(404);
  });
});

describe('the path', () => {
  test.each([
    ['/AccountEndedCalls/', 'AccountEndedCalls'],
    ['/AccountEndedCalls/Account-Ended-Calls', 'AccountEndedCalls'],
    ['/AccountEndedCalls/a/b/c?x=1', 'AccountEndedCalls'],
    ['/account-ended-calls', 'AccountEndedCalls'],
    ['', 'AccountEndedCalls'],
    ['/', 'AccountEndedCalls'],
    ['/NeverHeardOf', 'AccountEndedCalls'],
    [`/${'NeverHeardOf'.repeat(500)}`, 'AccountEndedCalls'],
  ])('…%s is tolerated', async (rest, type) => {
    expect((await send(`/hooks/${secret}${rest}`, { body: JSON.stringify(ended) })).status).toBe(202);
    expect(await deliveries()).toMatchObject([{ event_type: type }]);
    expect(await targets()).toEqual(['call 1783386668.111111']);
  });

  test('of no hook is a plain 404', async () => {
    expect((await send('/hooks')).status).toBe(404);
    expect((await send('/nothing/here')).status).toBe(404);
  });
});

describe('the body', () => {
  test('of a call id that is not quoted keeps its last zero', async () => {
    await world.deliver('AccountEndedCalls', '{"callId":1783385492.057900,"status":"missed"}');
    expect(await targets()).toEqual(['call 1783385492.057900']);
  });

  test('of a form is read', async () => {
    await world.deliver('AccountEndedCalls', 'callId=1783386668.111111&status=missed', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(await targets()).toEqual(['call 1783386668.111111']);
  });

  test('of many events counts them all', async () => {
    const events = Array.from({ length: 30 }, (_, at) => ({ ...ended, callId: `1783386668.${at}` }));
    const answer = await world.deliver('AccountEndedCalls', events);
    expect(await answer.json()).toMatchObject({ received: 30 });
    expect(await targets()).toHaveLength(30);
  });

  test('of twelve thousand events is kept whole, and the first of them are read', async () => {
    const events = Array.from({ length: 12_000 }, (_, at) => ({
      callId: `1783386668.${at}`,
      status: 'missed',
      direction: 'incoming',
    }));
    const answer = await world.deliver('AccountEndedCalls', events);
    expect(await answer.json()).toMatchObject({ received: maxReferences });
    expect(await world.value('select count(*)::integer from ops.sync_targets')).toBe(maxReferences);
    expect(await world.query('select cardinality(targets) as named, is_recognized from ops.deliveries')).toEqual([
      { named: maxReferences, is_recognized: false },
    ]);
    expect(JSON.parse(String(await world.value('select body from ops.deliveries')))).toHaveLength(12_000);
  });

  test('of a text of a line that is not known yet points at the thread that its direction says', async () => {
    await world.deliver('AccountSMS', {
      id: 1,
      direction: 'received',
      fromNumber: '15557770001',
      toNumber: '15557770002',
    });
    expect(await targets()).toEqual(['thread 15557770002/15557770001']);
  });

  test('that contradicts the path is kept with both types', async () => {
    await world.deliver('AccountSMS', ended);
    expect(await deliveries()).toMatchObject([{ event_type: 'AccountSMS', claimed_type: 'AccountEndedCalls' }]);
    expect(await targets()).toEqual(['call 1783386668.111111']);
  });

  test.each([
    ['garbage', 'not { json'],
    ['NUL and half characters', '{"callId":"x\\u0000\\ud83d"}'],
    ['a real NUL', 'a\0b'],
    ['separators', '\u001e\u001f\u001d'],
    ['a nest', '['.repeat(100_000)],
    ['a closed nest', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['a number that is nested deep', `${'{"id":'.repeat(20_000)}1783385492.057900${'}'.repeat(20_000)}`],
    ['a refused key', '{"__proto__":{"x":1},"constructor":{"prototype":{}}}'],
  ])('of %s is kept whole, unrecognized', async (_name, body) => {
    expect((await world.deliver('AccountEndedCalls', body)).status).toBe(202);
    expect(await deliveries()).toMatchObject([{ is_recognized: false, body: '' }]);
    expect(await world.value('select bytes from secrets.bodies')).toEqual(Buffer.from(body));
  });

  test('of a call that still rings is due when it may be over', async () => {
    await world.deliver('AccountRealTimeCalls', { callId: '1783386668.222222', status: 'ringing' });
    expect(
      Number(await world.value('select extract(epoch from due_at - now()) from ops.sync_targets')),
    ).toBeGreaterThan(50);
  });
});

test('every delivery of a hundred at once is kept', async () => {
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      world.deliver('AccountEndedCalls', { ...ended, callId: `1783386668.${at}` }),
    ),
  );
  expect(answers.every(({ status }) => status === 202)).toBe(true);
  expect(await deliveries()).toHaveLength(100);
});
