import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { assignedLine, type Cast, castOf, foreignLine, line, refusal } from './account.ts';

let sandbox: Sandbox;
let cast: Cast;
let clock = Date.parse('2026-05-04T12:00:00Z');

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0, now: () => new Date(clock) });
  cast = await castOf(sandbox);
});
afterAll(() => sandbox.close());

const block = (body: unknown, token?: string, of = line) => cast.ask('POST', `/sms/lines/${of}/blocked`, body, token);
const look = (number: string, token?: string, of = line) =>
  cast.ask('GET', `/sms/lines/${of}/blocked/${number}`, undefined, token);

test('a block is there once it is made, and a 404 before', async () => {
  const number = '13125550501';
  expect(refusal(await look(number))).toEqual([404, 'not_found']);
  const made = await block({ number, reason: 'abusive' });
  expect(made.status).toBe(201);
  expect(made.body).toEqual({ data: { line, number, reason: 'abusive', blockedAt: '2026-05-04T12:00:00Z' } });
  const found = await look(number);
  expect([found.status, found.body]).toEqual([200, made.body]);
});

test('a block without a reason has an empty one', async () => {
  expect((await block({ number: '13125550502' })).body.data.reason).toBe('');
});

test('blocking again is 201 with the first reason and time', async () => {
  const number = '13125550503';
  const first = await block({ number, reason: 'spam' });
  clock += 60_000;
  for (const body of [{ number }, { number, reason: 'other' }]) {
    const again = await block(body, cast.other.token);
    expect([again.status, again.body]).toEqual([201, first.body]);
  }
  expect((await look(number)).body).toEqual(first.body);
});

test('numbers are normalized wherever they stand', async () => {
  const made = await block({ number: '(312) 555-0504' }, undefined, '+1 646 555 0100');
  expect(made.body.data).toMatchObject({ line, number: '13125550504' });
  expect((await look('312.555.0504', undefined, '6465550100')).body).toEqual(made.body);
});

test('a number is blocked on one line only', async () => {
  await block({ number: '13125550505' });
  expect(refusal(await look('13125550505', undefined, assignedLine))).toEqual([404, 'not_found']);
});

test.each([
  [undefined, 'number'],
  [{}, 'number'],
  [{ reason: 'spam' }, 'number'],
  [{ number: 'someone' }, 'number'],
  [{ number: '' }, 'number'],
  [{ number: 13125550506 }, 'number'],
  [{ number: '13125550506', reason: null }, 'reason'],
  [{ number: '13125550506', until: 'tomorrow' }, 'until'],
])('%j is a 400 that names %s', async (body, field) => {
  const answer = await block(body);
  expect(refusal(answer)).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toContain(field);
});

test('what is no phone number in the path is a 400', async () => {
  expect(refusal(await look('someone'))).toEqual([400, 'invalid_request']);
  expect(refusal(await block({ number: '13125550506' }, undefined, 'ours'))).toEqual([400, 'invalid_request']);
});

test('both want a line that the credential may use', async () => {
  const number = '13125550507';
  for (const [token, of] of [
    [undefined, foreignLine],
    [cast.other.token, foreignLine],
    [cast.other.token, assignedLine],
  ] as const) {
    expect(refusal(await block({ number }, token, of))).toEqual([403, 'permission_denied']);
    expect(refusal(await look(number, token, of))).toEqual([403, 'permission_denied']);
  }
  expect((await block({ number }, cast.assigned.token, assignedLine)).status).toBe(201);
  expect((await look(number, cast.assigned.token, assignedLine)).status).toBe(200);
});

test('looking wants sms:read and blocking sms:write', async () => {
  const keyOf = async (scope: string) =>
    (await cast.control('POST', '/keys', { name: `only ${scope}`, scopes: [scope] })).body.data.key;
  const [reader, writer] = [await keyOf('sms:read'), await keyOf('sms:write')];
  expect((await block({ number: '13125550508' }, reader)).body.error).toMatchObject({
    type: 'insufficient_scope',
    scope: 'sms:write',
  });
  expect((await look('13125550508', writer)).body.error).toMatchObject({
    type: 'insufficient_scope',
    scope: 'sms:read',
  });
  expect((await block({ number: '13125550508' }, writer)).status).toBe(201);
  expect((await look('13125550508', reader)).status).toBe(200);
});
