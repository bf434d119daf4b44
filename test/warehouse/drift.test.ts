import { afterAll, expect, test } from 'vitest';
import { createDriftLog } from '../../src/warehouse/drift.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const drift = (count: number) => [{ path: 'calls[].mood', what: 'unknown_key', sample: 'text', count }] as const;
const seen = () => database.query('select operation, path, what, sample, seen_count from ops.drift');

test('what answers show beyond the specification is counted across processes', async () => {
  const logs = [createDriftLog(database.db), createDriftLog(database.db)];
  for (const log of logs) for (let turn = 0; turn < 3; turn += 1) log.add('calls.search', drift(2));
  await Promise.all(logs.map((log) => log.flush()));
  await logs[0]?.flush();
  expect(await seen()).toEqual([
    { operation: 'calls.search', path: 'calls[].mood', what: 'unknown_key', sample: 'text', seen_count: '12' },
  ]);
});

test('what could not be written is counted the next time', async () => {
  const log = createDriftLog(database.db);
  log.add('calls.get', drift(1));
  await database.query('alter table ops.drift rename to drift_elsewhere');
  await expect(log.flush()).rejects.toThrow();
  log.add('calls.get', drift(4));
  await database.query('alter table ops.drift_elsewhere rename to drift');
  await log.flush();
  expect(await database.value(`select seen_count from ops.drift where operation = 'calls.get'`)).toBe('5');
});
