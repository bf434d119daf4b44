import { query as ask, createDatabase, type Database, type OpenDatabase } from '../../src/db/database.ts';
import { migrateAll } from '../../src/migrations.ts';
import { createLog } from '../../src/shared/log.ts';
import { atEnd } from '../at-end.ts';
import { databaseForTest } from '../stores/databases.ts';

/** What every process finds after a release. */
export async function migrated(databaseUrl: string): Promise<void> {
  await migrateAll(databaseUrl, createLog('silent'));
}

export interface TestDatabase extends OpenDatabase {
  readonly url: string;
  query<Row = Record<string, unknown>>(text: string, ...parameters: readonly unknown[]): Promise<Row[]>;
  /** The only value of the only row; undefined without a row. */
  value(text: string, ...parameters: readonly unknown[]): Promise<unknown>;
}

/** A migrated database of its own for the test file that calls this at its top level, or for the test that calls it. */
export async function migratedDatabase(): Promise<TestDatabase> {
  const database = openDatabase(await databaseForTest(migrated));
  atEnd(() => database[Symbol.asyncDispose]());
  return database;
}

export function openDatabase(url: string): TestDatabase {
  const opened = createDatabase({ url, log: createLog('silent'), maxConnections: 6, name: 'test' });
  return { ...opened, ...asking(opened.db), url };
}

/**
 * The rows of pg_locks of this database: the view shows all databases of the server, and the test files that run beside have
 * theirs on it, cloned from one template, with the same identifiers.
 */
export const locksHere = `(select l.* from pg_locks l join pg_database d on d.oid = l.database
  where d.datname = current_database()) locks`;

/** Counts the sessions of this database that wait for a lock. */
export const waitingForLocks = `select count(*)::integer from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;

export function asking(db: Database): Pick<TestDatabase, 'query' | 'value'> {
  return {
    query: (text, ...parameters) => ask(db, text, parameters),
    async value(text, ...parameters) {
      const [row] = await ask<Record<string, unknown>>(db, text, parameters);
      return row && Object.values(row)[0];
    },
  };
}
