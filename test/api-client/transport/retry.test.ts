import { expect, test } from 'vitest';
import type { RequestAttempt, Service } from '../../../src/api-client/client.ts';
import { retryAfterMs } from '../../../src/api-client/transport/refusal.ts';
import { listenTcp, open, refusalOf, type Scripted, serve, unhurried } from '../endpoint.ts';

const failed = '500 internal_error';
const pausing = (after: string, more = {}): Scripted => ['429 rate_limited', { 'retry-after': after, ...more }];
const dates = { date: 'Wed, 22 Apr 2020 10:00:00 GMT', 'retry-after': 'Wed, 22 Apr 2020 10:00:03 GMT' };
const long = { tries: 9, baseMs: 1000, capMs: 1000, withinMs: 2500 };

/** The waits between the tries of one read; `luck` is what chance gives, of 1. */
test.each<[string, answers: Scripted[], retry: object, luck: number, waits: number[]]>([
  ['a failure is repeated with full jitter', [failed, failed, '200 []'], {}, 0.5, [50, 100]],
  ['waits grow up to a cap', [failed], { tries: 5, baseMs: 100, capMs: 250 }, 1, [100, 200, 250, 250]],
  ['no try begins after the time for all of them', [failed], long, 1, [1000, 1000]],
  ['Retry-After is waited out, in seconds', [pausing('2'), '200 []'], {}, 0.1, [2010]],
  ['Retry-After is waited out, as a date of the server', [['503 internal_error', dates], '200 []'], {}, 0.1, [3010]],
  ['a Retry-After of five seconds is waited out', [pausing('5'), '200 []'], {}, 0, [5000]],
  ['a longer Retry-After is left to the caller at once', [pausing('6')], {}, 0.5, []],
  ['a refused request is not repeated', ['400 invalid_request'], {}, 0.5, []],
  ['a refused credential is not repeated', ['401 unauthenticated'], {}, 0.5, []],
  ['a refused permission is not repeated', ['403 permission_denied'], {}, 0.5, []],
  ['what is not found is not repeated', ['404 not_found'], {}, 0.5, []],
  ['what cannot be processed is not repeated', ['422 invalid_request'], {}, 0.5, []],
])('%s', async (_, answers, retry, luck, waits) => {
  const { url, seen } = await serve(...answers);
  const { clock, slept } = unhurried(luck);
  await open(url, { clock, retry })
    .lines.list()
    .catch(() => undefined);
  expect({ slept, tries: seen.length }).toEqual({ slept: waits, tries: waits.length + 1 });
});

test('a long Retry-After is told to the caller', async () => {
  const { url } = await serve(pausing('10'));
  expect(await refusalOf(open(url).lines.list())).toMatchObject({ code: 'rate_limited', retryAfterMs: 10_000 });
});

test('each try is told', async () => {
  const { url } = await serve(failed, '200 []');
  const moments: RequestAttempt[] = [];
  await open(url, { onAnswer: (moment) => moments.push(moment) }).lines.list();
  const told = { operation: 'lines.list', milliseconds: expect.any(Number), date: expect.any(String) };
  expect(moments).toEqual([
    { ...told, attempt: 1, outcome: 'server', status: 500 },
    { ...told, attempt: 2, outcome: 'ok', status: 200 },
  ]);
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

const created = { name: 'n', url: 'https://example.test', type: 'AccountSMS' } as const;

const list = ({ lines }: Service): Promise<unknown> => lines.list();
const create = ({ webhooks }: Service): Promise<unknown> => webhooks.create(created);
const change = ({ webhooks }: Service): Promise<unknown> => webhooks.update(1, { enabled: true });
const disable = ({ webhooks }: Service): Promise<unknown> => webhooks.disable(1);

test.each([
  ['creating', 1, create],
  ['changing', 3, change],
  ['disabling', 3, disable],
])('%s that fails leaves the effect open, and is asked %i times', async (_, tries, call) => {
  const { url, seen } = await serve(failed);
  expect(await refusalOf(call(open(url)))).toMatchObject({ code: 'server', effect: 'unknown' });
  expect(seen).toHaveLength(tries);
});

test.each([
  ['a read', 3, list],
  ['creating', 1, create],
])('after a reset, %s is tried %i times, and says that the effect is unknown', async (_, tries, call) => {
  let connections = 0;
  const { url } = await listenTcp((socket) => {
    connections += 1;
    socket.once('data', () => socket.resetAndDestroy());
  });
  expect(await refusalOf(call(open(url)))).toMatchObject({ code: 'network', effect: 'unknown' });
  expect(connections).toBe(tries);
});

test('a port where nobody listens is a network failure in which nothing left', async () => {
  const error = await refusalOf(open('http://127.0.0.1:1').lines.list());
  expect(error).toMatchObject({ code: 'network', advice: 'retry', effect: 'none' });
});

test('an error after a try that may have worked proves nothing, whatever it is', async () => {
  const { url } = await serve('reset', '403 permission_denied');
  const error = await refusalOf(open(url).drafts.put('key', 'text'));
  expect(error).toMatchObject({ code: 'permission_denied', advice: 'permission', status: 403, effect: 'unknown' });
  expect(error.message).toMatch(/^drafts\.put: the API key may not do this \(403/);
});

test('deleting what an earlier try of the same call may have deleted succeeds', async () => {
  const { url, seen } = await serve('reset', '404 not_found');
  expect(await open(url).templates.delete(5)).toMatchObject({ status: 204, data: undefined });
  expect(seen.map(({ method }) => method)).toEqual(['DELETE', 'DELETE']);
});

test.each<[string, Scripted[]]>([
  ['at once', ['404 not_found']],
  ['after a pause that was asked for', ['429 rate_limited', '404 not_found']],
])('deleting what is not found %s is refused: no try can have deleted it', async (_, answers) => {
  const { url, seen } = await serve(...answers);
  expect(await refusalOf(open(url).templates.delete(5))).toMatchObject({ code: 'not_found', effect: 'none' });
  expect(seen).toHaveLength(answers.length);
});

test('reading what is not found after a broken try is refused', async () => {
  const { url } = await serve('reset', '404 not_found');
  expect(await refusalOf(open(url).calls.get('1.1'))).toMatchObject({ code: 'not_found' });
});
