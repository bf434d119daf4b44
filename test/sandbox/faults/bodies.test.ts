import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller, everything } from '../client/caller.ts';
import { overTcp } from '../client/wire.ts';

type Row = Record<string, unknown>;

let sandbox: Sandbox;
let ask: Ask;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 40, threads: 10 });
  ask = caller(sandbox);
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

async function users(): Promise<Row[]> {
  return (await ask('GET', '/users')).body.data;
}

test('the data can be missing, or stand beside paging state', async () => {
  sandbox.faults({ answers: [{ kind: 'noData' }] });
  expect((await ask('GET', '/users')).body).toEqual({});
  sandbox.faults({ answers: [{ kind: 'siblings' }] });
  const { body } = await ask('GET', '/users');
  expect(body).toMatchObject({ data: expect.any(Array), paging: { hasMore: true } });
});

test('lists can be empty while the rest stays', async () => {
  sandbox.faults({ answers: [{ kind: 'noRows' }] });
  expect(await users()).toEqual([]);
  const { body } = await ask('POST', '/calls/search', everything());
  expect(body.data).toMatchObject({ total: 40, calls: [] });
});

const types = (rows: Row[], field: string) =>
  new Set(rows.map((row) => (row[field] === null ? 'null' : typeof row[field])));

test.each([
  ['drop', 'undefined'],
  ['null', 'null'],
  ['retype', 'object'],
] as const)('a named field can be changed by %s in every row', async (change, type) => {
  sandbox.faults({ answers: [{ kind: 'fields', change, field: 'lastName' }] });
  const rows = await users();
  expect([types(rows, 'lastName'), types(rows, 'firstName')]).toEqual([new Set([type]), new Set(['string'])]);
});

test('every field of a call can be changed, wherever it stands', async () => {
  const { id } = (await ask('POST', '/calls/search', everything())).body.data.calls[0];
  const { data } = (await ask('GET', `/calls/${id}`)).body;
  for (const field of [...Object.keys(data), ...Object.keys(data.legs[0])]) {
    sandbox.faults({ answers: [{ kind: 'fields', change: 'null', field }] });
    const nulls = JSON.stringify((await ask('GET', `/calls/${id}`)).body.data).match(new RegExp(`"${field}":null`));
    expect(nulls).not.toBeNull();
  }
});

test('without a name one field of each row is changed, and the same ones for the same seed', async () => {
  const right = await users();
  const missing = async () => {
    sandbox.faults({ answers: [{ kind: 'fields', change: 'drop' }] });
    return (await users()).map((row, at) => Object.keys(right[at] ?? {}).filter((key) => !(key in row)));
  };
  const first = await missing();
  expect(new Set(first.map((keys) => keys.length))).toEqual(new Set([1]));
  expect(new Set(first.flat()).size).toBeGreaterThan(3);
  expect(await missing()).toEqual(first);
});

test('rows can have unknown keys, and enumerations unknown values', async () => {
  sandbox.faults({ answers: [{ kind: 'newKeys' }, { kind: 'newValues' }] });
  const { calls, total } = (await ask('POST', '/calls/search', everything())).body.data;
  expect(total).toBe(40);
  for (const call of calls)
    expect(call).toMatchObject({ hologram: true, status: 'holographic', direction: 'holographic' });
});

test('call ids can lose their quotes', async () => {
  const { id } = (await ask('POST', '/calls/search', everything())).body.data.calls[0];
  sandbox.faults({ answers: [{ kind: 'unquotedCallIds' }] });
  const { body } = await overTcp(sandbox, { path: `/api/public/v1/calls/${id}` });
  expect(body.toString()).toContain(`"id":${id},`);
  expect(body.toString()).not.toMatch(/":"\d{9,11}\.\d+"/);
});

test('an error is no row to change', async () => {
  sandbox.faults({ answers: [{ kind: 'noData' }, { kind: 'newKeys' }] });
  expect((await ask('GET', '/calls/1700000000.1')).body.error.type).toBe('not_found');
});

test('recordings vanish from a call that stays recorded', async () => {
  const made = await sandbox.emit.call({
    direction: 'inbound',
    status: 'answered',
    durationSeconds: 60,
    recorded: true,
    recordingAfterMs: 0,
  });
  const recordings = async () => (await ask('GET', `/calls/${made.id}/recordings`)).body.data.length;
  await expect.poll(recordings).toBeGreaterThan(0);
  sandbox.faults({ answers: [{ kind: 'noRows', operations: ['listRecordings'], times: 1 }] });
  expect((await ask('GET', `/calls/${made.id}`)).body.data.recorded).toBe(true);
  expect(await recordings()).toBe(0);
  expect(await recordings()).toBeGreaterThan(0);
});
