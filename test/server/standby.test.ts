import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { createDatabase, query, sql } from '../../src/db/database.ts';
import { healthChecks } from '../../src/ops/health-checks.ts';
import { readWithTimeout, takeSnapshot } from '../../src/ops/snapshot.ts';
import { readsFromStandby } from '../../src/server/answering.ts';
import { createLog } from '../../src/shared/log.ts';
import { type DebianPostgres, debianPrograms, startDebianPostgres, startStandby } from '../stores/debian.ts';
import { migrated } from '../world/database.ts';
import { asOwner, createWorld, until } from '../world.ts';

describe.skipIf(debianPrograms() === undefined)('with a hot standby', async () => {
  const primary = await started((folder) => startDebianPostgres(folder, { fsync: 'off' }));
  await migrated(primary.url);
  const standby = await started((folder) =>
    startStandby(folder, primary, { fsync: 'off', max_standby_streaming_delay: '0' }),
  );
  const world = await createWorld({
    backend: 'postgres',
    ...{ databaseUrl: primary.url, workers: null },
    environment: { REPORTING_DATABASE_URL: standby.url },
  });
  afterAll(() => world.close());
  const { context } = world;
  const page = async (path: string) => (await fetch(new URL(path, world.receiver.url), { headers: asOwner })).text();
  const standbyChecks = async () =>
    healthChecks(await takeSnapshot(context)).filter(({ check }) => check.startsWith('standby_'));

  async function started(start: (folder: string) => Promise<DebianPostgres>): Promise<DebianPostgres> {
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-standby-'));
    const server = await start(folder);
    afterAll(async () => {
      await server.stop('immediate');
      await rm(folder, { recursive: true, force: true });
    });
    return server;
  }

  async function onStandby(text: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: standby.superuserUrl });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  test('reports and lists are read from it, and say how late it is', async () => {
    const lag = async () => {
      const { standby: status } = await takeSnapshot(context);
      return status.state === 'known' ? status.value?.lagSeconds : undefined;
    };
    await world.query('create table public.removed (n integer)');
    await until(async () => (await lag()) != null);
    for (const path of ['/reports', '/coverage']) {
      expect(await page(path), path).toMatch(/Read from the standby, which is \d+ \w+ behind\./);
    }
    expect(await page('/coverage?done=paused')).not.toContain('standby');
    expect((await fetch(new URL('/coverage.csv', world.receiver.url), { headers: asOwner })).status).toBe(200);
    const sessions = await onStandby(`select from pg_stat_activity where application_name = 'trunkline standby'`);
    expect(sessions.length).toBeGreaterThan(0);
    expect(await standbyChecks()).toEqual([]);
  });

  test('a database that is no copy of the primary is not read', async () => {
    const log = createLog('silent');
    await using other = createDatabase({ url: primary.superuserUrl, log, maxConnections: 1, name: 'other' });
    const read = readsFromStandby({ database: context.database, standby: other });
    expect(await read(async (_, words) => words)).toContain('cannot be used, so this was read from the primary');
    expect((await takeSnapshot({ ...context, standby: other })).standby).toMatchObject({ state: 'unknown' });
  });

  test('nothing can be written through it', async () => {
    const write = query(context.standby?.db ?? context.database.db, sql`delete from ops.gaps`);
    await expect(write).rejects.toMatchObject({ code: '25006' });
  });

  /** Has the standby cancel what reads it, as soon as it applies that rows were removed. */
  async function cancelled(times: number): Promise<number> {
    const { db } = context.standby ?? context.database;
    let runs = 0;
    await readWithTimeout(db, async (tx) => {
      runs += 1;
      if (runs > times) return;
      await onStandby('select pg_wal_replay_pause()');
      await world.query('insert into public.removed select generate_series(1, 1000)');
      await world.query('delete from public.removed');
      // While a transaction may still see the rows, they stay.
      await until(async () => {
        await world.query('vacuum public.removed');
        return (await world.value(`select pg_relation_size('public.removed')`)) === '0';
      });
      const [{ lsn } = {}] = await world.query<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn');
      await until(
        async () => (await onStandby(`select pg_last_wal_receive_lsn() >= '${lsn}' as is_there`))[0]?.is_there === true,
      );
      await Promise.all([query(tx, sql`select pg_sleep(2.5)`), onStandby('select pg_wal_replay_resume()')]);
    });
    return runs;
  }

  test('what it cancels is read again once, and then told in a sentence', async () => {
    expect(await cancelled(1)).toBe(2);
    await expect(cancelled(2)).rejects.toMatchObject({
      message: expect.stringContaining('The standby cancelled this twice'),
    });
  });

  test('while it is away, the primary is read, pages say so, and a check warns', async () => {
    await standby.stop('immediate');
    for (const path of ['/reports?days=7', '/coverage']) {
      expect(await page(path), path).toContain('cannot be used, so this was read from the primary.');
    }
    expect(await standbyChecks()).toMatchObject([{ check: 'standby_away', level: 'warning' }]);
  });
});
