import { afterAll, expect, test } from 'vitest';
import { call } from '../../src/api-client/entities/calls.ts';
import { message } from '../../src/api-client/entities/texts.ts';
import { createDatabase, query } from '../../src/db/database.ts';
import { type Claim, claimTargets } from '../../src/inbox/claims.ts';
import { markDirty, type Target } from '../../src/inbox/targets.ts';
import { createLog } from '../../src/shared/log.ts';
import { createWriter, type FinishedRead } from '../../src/sync/writer.ts';
import { databaseForTest } from '../stores/databases.ts';
import { asRead } from '../warehouse/reads.ts';
import { migrated } from '../world/database.ts';
import { callId, shownCall } from './call-service.ts';

/*
 * A prepared statement can keep the plan of the empty table on which it first ran. The first burst or back-fill of an installation
 * must not read whole tables for each batch, before any ANALYZE, on connections that were there from the start.
 */

const url = await databaseForTest(migrated);
const { db, ...opened } = createDatabase({ url, log: createLog('silent'), maxConnections: 1, name: 'test' });
afterAll(() => opened[Symbol.asyncDispose]());

const pauses = { activeMs: 0, refusedMs: 0 };
const writer = createWriter({ db, pauses, notify: () => undefined });

function readOf(claim: Claim): FinishedRead {
  const read = { fetchSeq: claim.fetchSeq, fetchedAt: claim.claimedAt.toISOString(), source: 'test' };
  if (claim.kind === 'call') {
    const [found] = asRead(call, [shownCall(claim.key, { status: 'missed' })]);
    if (!found) throw new Error('no call');
    return { claim, state: 'active', result: { entity: { kind: 'call', read: { call: found, read } } } };
  }
  const [line = '', number = ''] = claim.key.split('/');
  const messages = asRead(message, [
    { id: Number(number.slice(-6)), direction: 'in', text: 'hi', time: new Date().toISOString() },
  ]);
  const thread = { line, number, participants: [] };
  return {
    claim,
    state: 'active',
    result: { entity: { kind: 'thread', read: { thread, messages, isComplete: false, read } } },
  };
}

async function mirror(targets: readonly Target[]): Promise<void> {
  for (let at = 0; at < targets.length; at += 200) {
    const some = targets.slice(at, at + 200);
    await markDirty(db, some, pauses);
    await Promise.all((await claimTargets(db, some)).map((claim) => writer.write(readOf(claim))));
  }
}

/** Rows that scans of whole tables have read so far, by table. */
async function scanned(): Promise<Map<string, number>> {
  await query(db, 'select pg_stat_force_next_flush()', []);
  const rows = await query<{ name: string; read: string }>(
    db,
    `select schemaname || '.' || relname as name, seq_tup_read as read from pg_stat_user_tables where schemaname in ('warehouse', 'ops')`,
    [],
  );
  return new Map(rows.map(({ name, read }) => [name, Number(read)]));
}

test('what is mirrored on a fresh database reads no table whole, however much it grows', {
  timeout: 240_000,
}, async () => {
  const calls = Array.from({ length: 20_000 }, () => ({ kind: 'call', key: callId() }) as const);
  const threads = Array.from(
    { length: 10_000 },
    (_, at) => ({ kind: 'thread', key: `15550000001/1555${1_000_000 + at}` }) as const,
  );
  // Seven times each: Postgres decides after the fifth whether a statement keeps a plan.
  for (let at = 0; at < 7; at += 1) await mirror([...calls.slice(at, at + 1), ...threads.slice(at, at + 1)]);
  await mirror([...calls, ...threads]);

  const before = await scanned();
  for (let at = 0; at < 10; at += 1) await mirror([...calls.slice(at * 5, at * 5 + 5), ...threads.slice(at, at + 1)]);
  const after = await scanned();
  const grown = [...after].map(([name, read]) => [name, read - (before.get(name) ?? 0)] as const);
  // Tables of a few rows are read whole by right.
  expect(grown.filter(([, read]) => read > 1_000)).toEqual([]);
});
