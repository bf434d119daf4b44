import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CompiledQuery } from 'kysely';
import { type Migration, type MigrationProvider, Migrator } from 'kysely/migration';
import type { Log } from '../log.ts';
import { createDatabase, type Database, isLockTimeout, query, retryDeadlock, waitBriefly } from './database.ts';
import { catchUpSequences } from './sequences.ts';
import { applyViews } from './views.ts';

const folder = new URL('../../migrations/', import.meta.url);
const where = {
  migrationTableSchema: 'ops',
  migrationTableName: 'migrations',
  migrationLockTableName: 'migrations_lock',
};

export interface MigrationOutcome {
  readonly applied: readonly string[];
  /** Migrations that the database has and this release does not know: it was rolled back. */
  readonly ahead: readonly string[];
}

/**
 * Brings the warehouse's schema up to this release, the views of `reporting` last. Safe to run from many processes at
 * once; each migration is applied whole or not at all, and a failed one throws. A database that a newer release has
 * migrated is left as it is.
 */
export async function migrate(databaseUrl: string, log: Log): Promise<MigrationOutcome> {
  await using database = createDatabase({ url: databaseUrl, log, maxConnections: 2, name: 'migrate' });
  const ahead = await migrationsAhead(database.db);
  if (ahead.length > 0) {
    log.warn({ ahead }, 'The database was migrated by a newer release; its schema is left as it is');
    return { applied: [], ahead };
  }
  const applied = await givingWay(database.db, log, () => applyMissing(database.db));
  const isAhead = async () => (await migrationsAhead(database.db)).length > 0;
  const views = await givingWay(database.db, log, () => applyViews(database.db, isAhead));
  if (views.length > 0) log.info({ views }, 'Views made');
  const sequences = await catchUpSequences(database.db);
  if (sequences.length > 0) log.warn({ sequences }, 'Sequences lagged behind the rows, and were set');
  return { applied, ahead };
}

const pauseMs = 3_000;

/** Does a piece of work that waits briefly, from its beginning again until nobody holds what it needs; says who does. */
async function givingWay<T>(db: Database, log: Log, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      log.warn(
        { since: await longestAtWork(db) },
        'The schema is in use; its change is tried again when others had their turn',
      );
      await sleep(pauseMs);
    }
  }
}

/** Who has been in a transaction for more than a second: since when, by role, application and process of Postgres. */
async function longestAtWork(db: Database): Promise<Record<string, Date>> {
  const rows = await query<{ who: string; since: Date }>(
    db,
    `select concat_ws(', ', usename, nullif(application_name, ''), 'pid ' || pid) as who, xact_start as since from pg_stat_activity
     where datname = current_database() and xact_start < now() - interval '1 second' order by xact_start limit 3`,
    [],
  );
  return Object.fromEntries(rows.map(({ who, since }) => [who, since]));
}

/** Applies what is missing, from its beginning again when Postgres ends it in favour of the processes that run meanwhile. */
async function applyMissing(db: Database): Promise<string[]> {
  const migrator = new Migrator({
    db,
    provider: sqlFiles,
    // Releases are made side by side: one may bring a migration that is older than the newest applied.
    allowUnorderedMigrations: true,
    ...where,
  });
  let failed = '';
  try {
    return await retryDeadlock(async () => {
      const { error, results = [] } = await migrator.migrateToLatest();
      failed = results.find((result) => result.status === 'Error')?.migrationName ?? '';
      if (error) throw error;
      return results.map((result) => result.migrationName);
    });
  } catch (error) {
    if (isLockTimeout(error)) throw error;
    throw new Error(`Migration ${failed} failed: ${(error as Error).message}`, { cause: error });
  }
}

/** Whether the database has every migration of this release: the readiness of the schema. */
export async function isMigrated(db: Database): Promise<boolean> {
  const [known, applied] = await Promise.all([migrationNames(), appliedMigrations(db)]);
  return known.every((name) => applied.includes(name));
}

async function migrationsAhead(db: Database): Promise<string[]> {
  const [known, applied] = await Promise.all([migrationNames(), appliedMigrations(db)]);
  return applied.filter((name) => !known.includes(name));
}

async function appliedMigrations(db: Database): Promise<string[]> {
  const [found] = await query<{ found: boolean }>(db, `select to_regclass('ops.migrations') is not null as found`, []);
  if (!found?.found) return [];
  const rows = await query<{ name: string }>(db, 'select name from ops.migrations', []);
  return rows.map((row) => row.name);
}

async function migrationNames(): Promise<string[]> {
  const files = await readdir(folder);
  return files.flatMap((file) => (file.endsWith('.sql') ? [file.slice(0, -'.sql'.length)] : [])).sort();
}

const sqlFiles: MigrationProvider = {
  async getMigrations(): Promise<Record<string, Migration>> {
    const names = await migrationNames();
    const texts = await Promise.all(names.map((name) => readFile(new URL(`${name}.sql`, folder), 'utf8')));
    return Object.fromEntries(
      names.map((name, at) => [
        name,
        {
          up: async (db) => {
            await waitBriefly(db);
            await db.executeQuery(CompiledQuery.raw(texts[at] ?? ''));
          },
        },
      ]),
    );
  },
};
