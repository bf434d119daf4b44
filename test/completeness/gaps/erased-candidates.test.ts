import { afterAll, beforeEach, expect, test } from 'vitest';
import {
  addCallers,
  addContacts,
  addNumbers,
  type Evidence,
} from '../../../src/completeness/gaps/candidate-threads.ts';
import { locksHere, migratedDatabase } from '../../world/database.ts';
import { until } from '../../world.ts';
import { line, otherLine, startCountingService } from './counting-service.ts';

const database = await migratedDatabase();
const { db, query } = database;
const service = await startCountingService(database);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const erased = '12125558888';
const other = '12125557777';
const period = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 60_000) };

beforeEach(async () => {
  await service.begin();
  await query('insert into ops.erasures (number_hash) values (ops.erasure_hash($1))', erased);
  // What was held when the erasure began may still be read by a transaction that began before.
  for (const [at, number] of [erased, other].entries()) {
    await query(
      `insert into warehouse.calls (call_id, started_at, external_number, account_number, content_hash, source, fetch_seq, fetched_at)
       values ($1, now(), $2, $3, 'h', 'test', 1, now())`,
      `2.${at}`,
      number,
      line,
    );
    await query(`insert into warehouse.sms_conversations (line, number) values ($1, $2)`, otherLine, number);
  }
});

const callers = (evidence: Evidence) => () => addCallers(db, period, { evidence, line });

test.each<[Evidence, () => Promise<number>]>([
  [
    'import',
    () =>
      addNumbers(
        db,
        [erased, other].map((number) => ({ number, line })),
      ),
  ],
  ['contact', () => addContacts(db)],
  ['call', callers('call')],
  ['gap', callers('gap')],
  ['unread', callers('unread')],
])('who was erased is no candidate by evidence of kind %s', async (evidence, add) => {
  expect(await add()).toBe(1);
  expect(await query('select line, number, evidence from ops.thread_candidates')).toEqual([
    { line, number: other, evidence },
  ]);
});

test('an erasure waits for a search that may not know of it', async () => {
  const isHeldOff = async () =>
    (await database.value(
      `select exists (select from ${locksHere} where relation = 'ops.erasures'::regclass and mode = 'RowShareLock')`,
    )) === true;
  expect(await isHeldOff()).toBe(false);
  const elsewhere = await database.pool.connect();
  try {
    await elsewhere.query('begin');
    const pair = 'insert into ops.thread_candidates (line, number, evidence) values ($1, $2, $3)';
    await elsewhere.query(pair, [line, other, 'call']);
    const search = addNumbers(db, [{ number: other, line }]);
    await until(isHeldOff);
    await elsewhere.query('commit');
    await search;
  } finally {
    elsewhere.release();
  }
});
