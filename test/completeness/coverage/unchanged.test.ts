import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { call } from '../../../src/api-client/entities/call-schemas.ts';
import { type MirrorOptions, mirrorPage } from '../../../src/completeness/coverage/call-pages.ts';
import { inTransaction, query, sql } from '../../../src/db/database.ts';
import { priorities } from '../../../src/inbox/targets.ts';
import { markCallsGone } from '../../../src/warehouse/calls.ts';
import { writeCalls } from '../../../src/warehouse/write-calls.ts';
import { asRead, ignored, readNumber } from '../../warehouse/reads.ts';
import { migratedDatabase } from '../../world/database.ts';

/* A listing that finds what the mirror holds costs no write and no lock. */

const database = await migratedDatabase();
const { db } = database;
beforeEach(() =>
  database.query(
    `truncate warehouse.calls, warehouse.call_legs, warehouse.user_endpoints, ops.sync_targets, ops.coverage, ops.account,
       ops.erasures`,
  ),
);

const begin = 1_700_000_000;
const found = (at: number, more: object = {}) => ({
  id: `${begin + at}.1`,
  startTime: new Date((begin + at) * 1_000).toISOString(),
  ...{ direction: 'inbound', status: 'answered', callerType: 'external', callerNumber: '+1 212 555 0101' },
  ...{ calledType: 'user', calledNumber: '201', talkTimeSeconds: 7, odd: { b: 1, a: [2] } },
  ...more,
});
const read = (fetchSeq: number, ...rows: readonly object[]) =>
  inTransaction(db, (tx) =>
    writeCalls(
      tx,
      ignored,
      asRead(call, rows).map((each) => ({ call: each, read: readNumber(fetchSeq) })),
    ),
  );
const gone = (fetchSeq: number) =>
  inTransaction(db, (tx) => markCallsGone(tx, ignored, [{ callId: found(0).id, read: readNumber(fetchSeq) }]));
const options = { readPriority: priorities.live, isWatched: true };
const list = (fetchSeq: number, rows: readonly object[], more: Partial<MirrorOptions> = {}) =>
  mirrorPage(db, asRead(call, rows), readNumber(fetchSeq), { ...options, ...more });
const versions = () => database.query('select call_id, xmin::text as version from warehouse.calls order by call_id');
const held = async (column: string, at = 0) =>
  database.value(`select ${column} from warehouse.calls where call_id = $1`, found(at).id);
/** A listing of these rows writes nothing. */
async function expectUnwritten(fetchSeq: number, ...rows: readonly object[]): Promise<void> {
  const before = await versions();
  await list(fetchSeq, rows);
  expect(await versions()).toEqual(before);
}

describe('calls that are listed as they are held', () => {
  test('are neither written nor locked', async () => {
    const rows = Array.from({ length: 500 }, (_, at) => found(at));
    await read(1, ...rows.map((row) => ({ ...row, legs: [{ uniqueId: row.id }] })));
    const before = await versions();
    const listed = await inTransaction(db, async (tx) => {
      await query(tx, sql`select from warehouse.calls for update`);
      return Promise.race([list(2, rows), sleep(5_000, 'it waits for a lock')]);
    });
    expect(listed).toEqual({ due: [], changed: 0 });
    expect(await versions()).toEqual(before);
  });

  test('may lack fields of the whole call', async () => {
    await read(1, found(0, { transferred: 2, recorded: true, endTime: '2023-11-14T22:14:00Z' }));
    await expectUnwritten(2, found(0));
  });

  test('leave those beside them that changed to be written', async () => {
    await read(1, ...[0, 1, 2, 3].map((at) => found(at)));
    const before = await versions();
    const rows = [found(0), found(1, { talkTimeSeconds: 8 }), found(2, { odd: 'x' }), found(4)];
    const { changed, due } = await list(2, rows);
    expect(changed).toBe(2);
    expect(due.map(({ key }) => key).sort()).toEqual([found(1).id, found(4).id]);
    const after = await versions();
    expect([0, 1, 2, 3].map((at) => after[at]?.version === before[at]?.version)).toEqual([true, false, false, true]);
    expect([await held('talk_seconds', 1), await held('extra', 2)]).toEqual([8, { odd: 'x' }]);
  });

  test('are written when the directory says something else of their numbers', async () => {
    const row = found(0, { callerType: 'mailbox', callerNumber: '12125550102' });
    await read(1, row);
    await expectUnwritten(2, row);
    expect(await held('is_internal')).toBe(false);
    await database.query(
      `insert into warehouse.user_endpoints (user_id, kind, endpoint) values (1, 'number', '12125550102')`,
    );
    await list(3, [row]);
    expect(await held('is_internal')).toBe(true);
  });

  test('come back when they were marked deleted', async () => {
    await read(1, found(0));
    await gone(2);
    expect(await held('deleted_at')).not.toBeNull();
    expect(await list(3, [found(0)])).toMatchObject({ changed: 1 });
    expect(await held('deleted_at')).toBeNull();
  });

  test('are newer than a read that has begun and not ended', async () => {
    await read(1, found(0));
    await database.query(
      `insert into ops.sync_targets (kind, key, dirty_version, claimed_version, claimed_until)
       values ('call', $1, 1, 1, now() + interval '5 seconds')`,
      found(0).id,
    );
    await list(3, [found(0)]);
    await read(2, found(0, { talkTimeSeconds: 5 }));
    await gone(2);
    expect([await held('talk_seconds'), await held('deleted_at')]).toEqual([7, null]);
    await database.query('update ops.sync_targets set clean_version = 1');
    await expectUnwritten(4, found(0));
  });

  test('vouch for an account that was accepted after they were read', async () => {
    await read(1, found(0));
    await database.query('insert into ops.account (accepted_at) values ($1)', readNumber(2).fetchedAt);
    await list(3, [found(0)]);
    expect(await held('fetch_seq')).toBe('3');
    await expectUnwritten(4, found(0));
  });

  test('stay as an erasure left them', async () => {
    await database.query(`insert into ops.erasures (number_hash) values (ops.erasure_hash('12125550101'))`);
    await read(1, found(0));
    expect([await held('is_erased'), await held('caller_number')]).toEqual([true, null]);
    await expectUnwritten(2, found(0));
  });

  test('are read once more for their legs when a back-fill wants them', async () => {
    await read(1, found(0), found(1, { legs: [] }));
    const { due } = await list(2, [found(0), found(1)], { readsMissingLegs: true });
    expect(due.map(({ key }) => key)).toEqual([found(0).id]);
  });
});

test('a call that nothing announced is counted once, however often it is listed', async () => {
  await database.query(
    `insert into ops.coverage (stream, from_at, to_at, is_watched, due_at)
     values ('calls', to_timestamp($1), to_timestamp($1) + interval '1 hour', true, 'infinity')`,
    begin - (begin % 3_600),
  );
  await database.query(`insert into ops.sync_targets (kind, key) values ('call', $1)`, found(1).id);
  for (const fetchSeq of [1, 2]) await list(fetchSeq, [found(0), found(1)]);
  expect(await database.value('select unannounced_count from ops.coverage')).toBe(1);
});

test('a page waits for live reads, but not for long, and not for those that something else holds up', async () => {
  const waitedMs = async (due: string) => {
    await database.query('truncate ops.sync_targets');
    await database.query(
      `insert into ops.sync_targets (kind, key, due_at) values ('call', '1.1', now() - $1::interval)`,
      due,
    );
    const began = performance.now();
    await list(1, [found(0)]);
    return performance.now() - began;
  };
  expect(await waitedMs('2 seconds')).toBeGreaterThan(900);
  for (const due of ['0 seconds', '2 minutes']) expect(await waitedMs(due)).toBeLessThan(900);
});
