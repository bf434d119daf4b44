import { afterAll, expect, test } from 'vitest';
import { findings, known } from '../../src/checks/checks.ts';
import { takeOverview } from '../../src/checks/overview.ts';
import { renderTable } from '../../src/cli/status.ts';
import { createContext } from '../../src/context.ts';
import { sql } from '../../src/db/database.ts';
import { createLog } from '../../src/shared/log.ts';
import { fill, settingsFor } from '../server/receiver.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { query } = database;
const silent = { log: createLog('silent'), name: 'test', maxConnections: 2 };
const context = await createContext(settingsFor(database.url), silent);
afterAll(async () => {
  await context[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
await fill(context.database.db);
const overview = await takeOverview(context);

const secondsBefore = (at: Date | null | undefined) => at && (overview.takenAt.getTime() - at.getTime()) / 1_000;
const of = <T extends { kind: string }>(rows: readonly T[], kind: string) => rows.find((row) => row.kind === kind);

test('the newest text is the newest one sent, not one that is scheduled', () => {
  const texts = of(known(overview.freshness, []), 'thread');
  expect(secondsBefore(texts?.newestAt)).toBeCloseTo(90, -1);
  expect(secondsBefore(texts?.readAt)).toBeCloseTo(60, -1);
});

test('the newest recording is that of the newest call which has one', () => {
  expect(secondsBefore(of(known(overview.freshness, []), 'call')?.newestAt)).toBeCloseTo(300, -1);
  expect(secondsBefore(of(known(overview.freshness, []), 'recordings')?.newestAt)).toBeCloseTo(600, -1);
  expect(of(known(overview.freshness, []), 'transcripts')).toMatchObject({ newestAt: null, readAt: null });
});

test('what is owed is told apart by when it is due', () => {
  const calls = of(known(overview.backlog, []), 'call');
  expect(calls).toMatchObject({ due: 1, later: 1, failing: 0, isAtLeast: false });
  expect(calls?.oldestDueSeconds).toBeGreaterThanOrEqual(20);
  const failing = { due: 0, later: 1, failing: 1, oldestDueSeconds: null };
  expect(of(known(overview.backlog, []), 'thread')).toMatchObject(failing);
  expect(of(known(overview.backlog, []), 'lines')).toMatchObject({ due: 0, later: 0 });
  expect(of(known(overview.backlog, []), 'recordings')).toMatchObject({ due: 0 });
});

test('what the service does not take is told apart from what is only due later', async () => {
  const kind = `kind, key, dirty_version, clean_version, due_at, read_at, attempts, misses, last_error, state`;
  await query(`insert into ops.sync_targets (${kind}) values
       ('users', 'rests', 2, 1, now() + interval '50 seconds', now() - interval '10 seconds', 0, 0, 'given a rest', 'active'),
       ('users', 'throttled', 2, 1, now() + interval '2 seconds', now() - interval '1 second', 2, 0, 'a pause', 'active'),
       ('users', 'missed', 2, 1, now() + interval '50 seconds', now() - interval '10 seconds', 1, 1, 'not found', 'active'),
       ('users', 'forbidden', 2, 1, now() + interval '1 hour', now() - interval '10 seconds', 0, 0, 'not yours', 'forbidden'),
       ('users', 'looked for', 2, 1, now() + interval '1 hour', now() - interval '10 seconds', 0, 0, null, 'active')`);
  const { backlog, findings: found } = await takeOverview(context);
  await query(`delete from ops.sync_targets where kind = 'users'`);
  const failing = found.filter(({ check, sentence }) => check === 'reads_failing' && sentence.includes('users'));
  expect(failing).toMatchObject([
    { sentence: '3 reads of texts, users failed.', detail: 'The last error was: a pause.' },
  ]);
  const users = of(known(backlog, []), 'users');
  expect(users).toMatchObject({ due: 0, later: 5, putOff: 2 });
});

test('a thread that is refused counts only for a line of ours, while the lines are known', async () => {
  const forbidden = async () => {
    const found = (await findings(context)).map(
      ({ sentence }) => /^The API key may not read (\d+) conv/.exec(sentence)?.[1],
    );
    return Number(found.find((count) => count !== undefined));
  };
  await query(`insert into ops.sync_targets (kind, key, clean_version, state, last_error)
     values ('thread', '18005550100/18455550177', 1, 'forbidden', 'no'), ('thread', '12125550123/12125550100', 1, 'forbidden', 'no')`);
  expect(await forbidden()).toBe(2);
  await query(
    `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ('18005550100', 'h', 'test', 1, now())`,
  );
  expect(await forbidden()).toBe(1);
  await query(`delete from ops.sync_targets where state = 'forbidden' and kind = 'thread'`);
  await query('delete from warehouse.sms_lines');
});

test('deliveries are counted by type', () => {
  const inbox = known(overview.inbox, undefined);
  expect(inbox?.types).toEqual([
    { type: 'AccountSMS', lastHour: 1, lastDay: 2 },
    { type: 'AccountEndedCalls', lastHour: 1, lastDay: 1 },
  ]);
  expect(inbox?.isAtLeast).toBe(false);
});

test('rows and the schema are told', () => {
  expect(known(overview.holdings, [])).toContainEqual({ table: 'warehouse.calls', rows: 2, isExact: true });
  expect(known(overview.schema)?.newestMigration).toMatch(/^0/);
});

test('nothing of it holds a whole number or a body', () => {
  for (const text of [JSON.stringify(overview), renderTable(overview)]) {
    expect(text).not.toMatch(/18005550100|18455550123|what was said|alert\(1\)/);
  }
});

test('a table too large to count is estimated, and says so', async () => {
  // On one connection: statistics of an insert that come after those of the analysis would count its rows twice.
  await database.db.connection().execute(async (db) => {
    await sql`insert into ops.deliveries (body, targets, is_recognized)
      select repeat(md5(i::text), 60), '{}', true from generate_series(1, 6000) i`.execute(db);
    await sql`select pg_stat_force_next_flush()`.execute(db);
    await sql`analyze ops.deliveries`.execute(db);
  });
  const { holdings } = await takeOverview(context);
  expect(known(holdings, [])).toContainEqual({
    table: 'ops.deliveries',
    rows: expect.closeTo(6003, -1),
    isExact: false,
  });
});

test('a part that is locked shows so in its place, and the others are told', async () => {
  await database.db.transaction().execute(async (tx) => {
    await sql`lock table ops.parked_kinds in access exclusive mode`.execute(tx);
    const partial = await takeOverview(context);
    expect(partial.backlog).toMatchObject({ state: 'unknown' });
    expect(partial.inbox).toMatchObject({ state: 'known' });
    const warnings = partial.findings.filter(({ level }) => level === 'warning');
    expect(warnings.at(-1)?.sentence).toBe(
      'Parts of this status couldn’t be read: backlog, reads_refused, mirror_behind.',
    );
  });
});
