import { expect, test } from 'vitest';
import type { RequestAttempt } from '../../../src/api-client/client.ts';
import { retryAfterMs } from '../../../src/api-client/transport/refusal.ts';
import { json, listen, listenTcp, open, refusalOf, refuse, unhurried } from '../endpoint.ts';

test('a read that fails is repeated with full jitter, and each try is told', async () => {
  const { url } = await listen((response, _, number) =>
    number < 3 ? refuse(response, 500, 'internal_error') : json(response, 200, { data: [] }),
  );
  const { clock, slept } = unhurried(0.5);
  const moments: RequestAttempt[] = [];
  await open(url, { clock, onAnswer: (moment) => moments.push(moment) }).lines.list();
  expect(slept).toEqual([50, 100]);
  const told = { operation: 'lines.list', milliseconds: expect.any(Number), date: expect.any(String) };
  expect(moments).toEqual([
    { ...told, attempt: 1, outcome: 'server', status: 500 },
    { ...told, attempt: 2, outcome: 'server', status: 500 },
    { ...told, attempt: 3, outcome: 'ok', status: 200 },
  ]);
});

test('waits are drawn from nothing up to a cap', async () => {
  const { url, seen } = await listen((response) => refuse(response, 500, 'internal_error'));
  const { clock, slept } = unhurried(1);
  const retry = { tries: 5, baseMs: 100, capMs: 250 };
  await refusalOf(open(url, { clock, retry }).lines.list());
  expect(slept).toEqual([100, 200, 250, 250]);
  expect(seen).toHaveLength(5);
});

test('no try begins after the time for all of them', async () => {
  const { url, seen } = await listen((response) => refuse(response, 500, 'internal_error'));
  const { clock, slept } = unhurried(1);
  const retry = { tries: 9, baseMs: 1000, capMs: 1000, withinMs: 2500 };
  await refusalOf(open(url, { clock, retry }).lines.list());
  expect({ slept, tries: seen.length }).toEqual({ slept: [1000, 1000], tries: 3 });
});

test('Retry-After is waited out, in seconds and as a date of the server that asks', async () => {
  const { url } = await listen((response, _, number) => {
    if (number === 1) refuse(response, 429, 'rate_limited', {}, { 'retry-after': '2' });
    else if (number === 2) {
      const dates = { date: 'Wed, 22 Apr 2020 10:00:00 GMT', 'retry-after': 'Wed, 22 Apr 2020 10:00:03 GMT' };
      refuse(response, 503, 'internal_error', {}, dates);
    } else json(response, 200, { data: [] });
  });
  const { clock, slept } = unhurried(0.1);
  await open(url, { clock }).lines.list();
  expect(slept).toEqual([2010, 3010]);
});

test('a long Retry-After is left to the caller at once', async () => {
  const { url, seen } = await listen((response) => refuse(response, 429, 'rate_limited', {}, { 'retry-after': '10' }));
  const { clock, slept } = unhurried();
  const error = await refusalOf(open(url, { clock }).lines.list());
  expect(error).toMatchObject({ code: 'rate_limited', retryAfterMs: 10_000 });
  expect({ slept, tries: seen.length }).toEqual({ slept: [], tries: 1 });
});

test.each([
  ['0', undefined, 0],
  ['120', undefined, 120_000],
  [' 1.5 ', undefined, 1500],
  ['Tue, 21 Apr 2026 12:00:30 GMT', undefined, 30_000],
  ['Tue, 21 Apr 2026 11:00:00 GMT', undefined, 0],
  ['Tue, 21 Apr 2026 12:00:30 GMT', 'Tue, 21 Apr 2026 12:00:20 GMT', 10_000],
  ['Tue, 21 Apr 2026 12:00:30 GMT', 'nonsense', 30_000],
  ['-5', undefined, undefined],
  ['soon', undefined, undefined],
  ['', undefined, undefined],
  [undefined, undefined, undefined],
])('Retry-After %j beside Date %j asks for %s ms', (header, date, expected) => {
  expect(retryAfterMs(header, date, Date.parse('2026-04-21T12:00:00Z'))).toBe(expected);
});

test.each([
  [400, 'invalid_request'],
  [401, 'unauthenticated'],
  [403, 'permission_denied'],
  [404, 'not_found'],
  [422, 'invalid_request'],
])('a %i is not repeated', async (status, type) => {
  const { url, seen } = await listen((response) => refuse(response, status, type));
  await refusalOf(open(url).lines.list());
  expect(seen).toHaveLength(1);
});

test('creating is never repeated; changing and disabling are', async () => {
  const { url, seen } = await listen((response) => refuse(response, 500, 'internal_error'));
  const { webhooks } = open(url, { circuit: { failures: 99 } });
  const created = { name: 'n', url: 'https://example.test', type: 'AccountSMS' } as const;
  expect(await refusalOf(webhooks.create(created))).toMatchObject({ code: 'server', effect: 'unknown' });
  expect(seen).toHaveLength(1);
  await refusalOf(webhooks.update(1, { enabled: true }));
  await refusalOf(webhooks.disable(1));
  expect(seen).toHaveLength(7);
});

test('creating is not repeated when the connection breaks, and says that the effect is unknown', async () => {
  let connections = 0;
  const { url } = await listenTcp((socket) => {
    connections += 1;
    socket.once('data', () => socket.resetAndDestroy());
  });
  const created = { name: 'n', url: 'https://example.test', type: 'AccountSMS' } as const;
  const error = await refusalOf(open(url).webhooks.create(created));
  expect(error).toMatchObject({ code: 'network', effect: 'unknown' });
  expect(connections).toBe(1);
});

test('a connection that is reset is tried again', async () => {
  let connections = 0;
  const { url } = await listenTcp((socket) => {
    connections += 1;
    const isLast = connections === 3;
    socket.once('data', () => {
      if (isLast) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"data":[]}');
      else socket.resetAndDestroy();
    });
  });
  expect((await open(url).lines.list()).data).toEqual([]);
  expect(connections).toBe(3);
});

test('a port where nobody listens is a network failure in which nothing left', async () => {
  const { url } = await listenTcp(() => {});
  const closed = new URL(url);
  closed.port = '1';
  const error = await refusalOf(open(closed.href).lines.list());
  expect(error).toMatchObject({ code: 'network', advice: 'retry', effect: 'none' });
});

test('an error after a try that may have worked proves nothing, whatever it is', async () => {
  const { url } = await listen((response, _, number) =>
    number === 1 ? response.destroy() : refuse(response, 403, 'permission_denied'),
  );
  const error = await refusalOf(open(url).drafts.put('key', 'text'));
  expect(error).toMatchObject({ code: 'permission_denied', advice: 'permission', status: 403, effect: 'unknown' });
  expect(error.message).toMatch(/^drafts\.put: refused with permission_denied/);
});

test('deleting what an earlier try of the same call may have deleted succeeds', async () => {
  const { url, seen } = await listen((response, _, number) =>
    number === 1 ? response.destroy() : refuse(response, 404, 'not_found'),
  );
  expect(await open(url).templates.delete(5)).toMatchObject({ status: 204, data: undefined });
  expect(seen.map(({ method }) => method)).toEqual(['DELETE', 'DELETE']);
});

test.each([
  ['at once', 1],
  ['after a pause that was asked for', 2],
])('deleting what is not found %s is refused: no try can have deleted it', async (_, tries) => {
  const { url, seen } = await listen((response, _request, number) =>
    number < tries ? refuse(response, 429, 'rate_limited') : refuse(response, 404, 'not_found'),
  );
  expect(await refusalOf(open(url).templates.delete(5))).toMatchObject({ code: 'not_found', effect: 'none' });
  expect(seen).toHaveLength(tries);
});

test('reading what is not found after a broken try is refused', async () => {
  const { url } = await listen((response, _, number) =>
    number === 1 ? response.destroy() : refuse(response, 404, 'not_found'),
  );
  expect(await refusalOf(open(url).calls.get('1.1'))).toMatchObject({ code: 'not_found' });
});
