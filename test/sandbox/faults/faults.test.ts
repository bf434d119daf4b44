import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { FaultInput } from '../../../src/sandbox/faults/spec.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;
let control: Ask;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  ask = caller(sandbox);
  control = caller(sandbox, '/_sandbox');
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

async function statuses(count: number, path = '/users'): Promise<number[]> {
  const found: number[] = [];
  for (let at = 0; at < count; at++) found.push((await ask('GET', path)).status);
  return found;
}

test('a rate strikes its share, the same requests for the same seed, others for another', async () => {
  const faults: FaultInput = { answers: [{ kind: 'error', rate: 0.3 }] };
  sandbox.faults(faults);
  const first = await statuses(60);
  const struck = first.filter((status) => status === 500).length;
  expect(struck).toBeGreaterThan(8);
  expect(struck).toBeLessThan(30);
  sandbox.faults(faults);
  expect(await statuses(60)).toEqual(first);
  const other = await createSandbox({ calls: 0, threads: 0, seed: 2 });
  other.faults(faults);
  const elsewhere = caller(other);
  const found: number[] = [];
  for (let at = 0; at < 60; at++) found.push((await elsewhere('GET', '/users')).status);
  expect(found).not.toEqual(first);
  await other.close();
});

test('what a fault strikes does not depend on requests that it does not concern', async () => {
  const faults: FaultInput = { answers: [{ kind: 'error', rate: 0.5, operations: ['listUsers'] }] };
  sandbox.faults(faults);
  const alone = await statuses(20);
  sandbox.faults(faults);
  const mixed: number[] = [];
  for (let at = 0; at < 20; at++) {
    await ask('GET', '/sms/lines');
    mixed.push(...(await statuses(1)));
  }
  expect(mixed).toEqual(alone);
});

test('a fault that is counted is over after so many times', async () => {
  sandbox.faults({ answers: [{ kind: 'error', times: 2 }] });
  expect(await statuses(4)).toEqual([500, 500, 200, 200]);
});

test('rate and times go together: so many strikes, some requests apart', async () => {
  sandbox.faults({ answers: [{ kind: 'error', rate: 0.5, times: 3 }] });
  const found = await statuses(40);
  expect(found.filter((status) => status === 500)).toHaveLength(3);
  expect(found.indexOf(200)).toBeLessThan(found.lastIndexOf(500));
});

test.each([
  ['an operation', ['listUsers'], [500, 200, 200]],
  ['two operations', ['listUsers', 'listLines'], [500, 500, 200]],
  ['the beginning of a path', ['/sms'], [200, 500, 200]],
  ['a method and a path', ['GET /users', 'POST /webhooks'], [500, 200, 200]],
  ['everything', ['/'], [500, 500, 500]],
])('faults can be narrowed to %s', async (_, operations, expected) => {
  sandbox.faults({ answers: [{ kind: 'error', operations }] });
  const paths = ['/users', '/sms/lines', '/webhooks'];
  expect((await Promise.all(paths.map((path) => ask('GET', path)))).map(({ status }) => status)).toEqual(expected);
});

test('what lies outside the prefix is struck only where it is named', async () => {
  const discover = async () => (await fetch(`${sandbox.url}/.well-known/oauth-authorization-server`)).status;
  sandbox.faults({ answers: [{ kind: 'error' }] });
  expect(await discover()).toBe(200);
  sandbox.faults({ answers: [{ kind: 'error', operations: ['/.well-known'] }] });
  expect(await discover()).toBe(500);
  expect(await statuses(1)).toEqual([200]);
});

test('POST replaces all faults, GET shows them, and nothing ends them', async () => {
  await control('POST', '/faults', { latencyMs: 5, answers: [{ kind: 'html' }] });
  await control('POST', '/faults', { answers: [{ kind: 'drip', times: 3 }] });
  const { data } = (await control('GET', '/faults')).body;
  expect(data).toMatchObject({ latencyMs: 0, answers: [{ kind: 'drip', times: 3, rate: 1 }] });
  expect((await control('POST', '/faults')).status).toBe(200);
  expect((await control('GET', '/faults')).body.data.answers).toEqual([]);
});

test('a reset ends all faults', async () => {
  sandbox.faults({ errorRate: 1, answers: [{ kind: 'html' }], deliveries: [{ kind: 'empty' }] });
  await sandbox.reset();
  expect(await statuses(2)).toEqual([200, 200]);
  expect((await control('GET', '/faults')).body.data).toMatchObject({ errorRate: 0, answers: [], deliveries: [] });
});

test.each([
  [{ answers: [{ kind: 'gremlin' }] }, 'answers[0].kind'],
  [{ answers: [{ kind: 'html', colour: 1 }] }, 'colour'],
  [{ answers: [{ kind: 'html', rate: 2 }] }, 'answers[0].rate'],
  [{ answers: [{ kind: 'html', times: 0 }] }, 'answers[0].times'],
  [{ answers: [{ kind: 'html', operations: ['listUsers', 'listUnicorns'] }] }, 'listUnicorns is unknown'],
  [{ answers: [{ kind: 'html', operations: ['a b'] }] }, 'operationId'],
  [{ answers: [{ kind: 'fields' }] }, 'change'],
  [{ deliveries: [{ kind: 'html' }] }, 'deliveries[0].kind'],
  [{ deliveries: [{ kind: 'empty', types: ['AccountFax'] }] }, 'types'],
])('faults %j are refused with the field named, and change nothing', async (faults, named) => {
  await control('POST', '/faults', { drop: 0.5 });
  const { status, body } = await control('POST', '/faults', faults);
  expect(status).toBe(400);
  expect(body.error.message).toContain(named);
  expect(() => sandbox.faults(faults as FaultInput)).toThrow(named);
  expect((await control('GET', '/faults')).body.data.drop).toBe(0.5);
});
