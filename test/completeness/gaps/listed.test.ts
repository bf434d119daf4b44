import { afterAll, beforeEach, expect, test } from 'vitest';
import {
  countPendingReads,
  probingProgress,
  rereadListedNumbers,
} from '../../../src/completeness/gaps/candidate-threads.ts';
import { defaultReadPauses } from '../../../src/inbox/targets.ts';
import { migratedDatabase } from '../../world/database.ts';

const database = await migratedDatabase();
const { db, query } = database;
afterAll(() => database[Symbol.asyncDispose]());

const line = '15550000001';
const number = '12125557777';
const key = `${line}/${number}`;
const listed = [{ line, number }];

beforeEach(async () => {
  await query('truncate ops.sync_targets, ops.thread_candidates, warehouse.sms_lines, warehouse.sms_conversations');
  await query(
    `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ($1, 'h', 'test', 1, now())`,
    line,
  );
  await query(`insert into warehouse.sms_conversations (line, number) values ($1, $2)`, line, number);
});

const reread = () => rereadListedNumbers(db, listed, { max: 10, pauses: defaultReadPauses });
const underWay = async ({ pending }: Awaited<ReturnType<typeof reread>>) =>
  (await countPendingReads(db, pending)) + (await probingProgress(db)).underWay;

test('a thread that was read and is looked at again later has had its read', async () => {
  const asked = await reread();
  expect(await underWay(asked)).toBe(1);
  await query(
    `update ops.sync_targets set clean_version = dirty_version, dirty_version = dirty_version + 1, read_at = now(),
       due_at = now() + interval '15 minutes' where key = $1`,
    key,
  );
  expect(await underWay(asked)).toBe(0);
});

test('a thread that was found by asking waits for its next read like any other, and counts once', async () => {
  await query(
    `insert into ops.thread_candidates (line, number, evidence, probed_at) values ($1, $2, 'import', now() - interval '1 day')`,
    line,
    number,
  );
  await query(
    `insert into ops.sync_targets (kind, key, clean_version, claimed_version, dirty_version, read_at)
     values ('thread', $1, 1, 1, 1, now() - interval '1 hour')`,
    key,
  );
  const asked = await reread();
  expect(await underWay(asked)).toBe(1);
  await query('update ops.sync_targets set attempts = 1 where key = $1', key);
  expect(await underWay(asked)).toBe(1);
});
