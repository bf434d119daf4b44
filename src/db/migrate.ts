import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CompiledQuery } from 'kysely';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import { blockerName, blockerRemedy, endReaders, readLockHolders } from './blockers.ts';
import { withComments } from './comments.ts';
import {
  createDatabase,
  type Database,
  inTransaction,
  isLockTimeout,
  limitLockWait,
  query,
  sql,
  type Transaction,
} from './database.ts';
import { applyRoutines, applyViews, namesIn, ViewsBlocked } from './repeatable.ts';

/** Holds the migrations. The files in `routines/` and `views/` are applied again when their text changes. */
const releaseFolder = new URL('../../migrations/', import.meta.url);

export interface MigrationOutcome {
  readonly applied: readonly string[];
  /** Applied migrations that this release doesn't know, because it was rolled back. */
  readonly ahead: readonly string[];
  /** Why the reporting views are still those of an earlier release. This only affects reports. */
  readonly viewsBlocked?: string;
}

/**
 * Migrates the schema: migrations, then functions and triggers, then the `reporting` views. Many processes may run it
 * at once. A failed migration is rolled back and throws. Does nothing if a newer release has migrated the database.
 * Throws `OldDatabase` if a migration was applied with another text, and `OtherEncoding` if the database doesn't store
 * UTF-8.
 */
export async function migrate(databaseUrl: string, log: Log, folder = releaseFolder): Promise<MigrationOutcome> {
  await using database = createDatabase({ url: databaseUrl, log, maxConnections: 2, name: 'migrate' });
  const { db } = database;
  refuseOtherEncoding(await query<Encoding>(db, selectEncoding, []));
  const changed = await changedMigrations(db, folder);
  if (changed.length > 0) throw new OldDatabase(changed);
  const ahead = await migrationsAhead(db, folder);
  if (ahead.length > 0) {
    log.warn({ ahead }, 'The database was migrated by a newer release; its schema is left as it is');
    return { applied: [], ahead };
  }
  const isAhead = async () => (await migrationsAhead(db, folder)).length > 0;
  const { applied, routines } = await retryWhileLocked(db, log, () => applySchema(db, folder));
  if (routines.length > 0) log.info({ routines }, 'Functions applied');
  const viewsBlocked = await createViews(db, log, isAhead);
  const sequences = await catchUpSequences(db);
  if (sequences.length > 0) log.warn({ sequences }, 'Sequences were behind their tables and have been advanced');
  return { applied, ahead, ...(viewsBlocked !== undefined && { viewsBlocked }) };
}

/** Creates the views. Returns the reason if somebody blocks that: webhooks and reads don't wait for reports. */
async function createViews(db: Database, log: Log, isAhead: () => Promise<boolean>): Promise<string | undefined> {
  try {
    const views = await retryWhileLocked(db, log, () => applyViews(db, isAhead), { maxMs: maxViewsMs });
    if (views.length > 0) log.info({ views }, 'Views created');
    return undefined;
  } catch (error) {
    let reason: string;
    if (error instanceof ViewsBlocked) reason = `${error.message} ${error.remedy}`;
    else if (isLockTimeout(error)) {
      const holders = await readLockHolders(db);
      const who = holders.length === 0 ? 'somebody' : holders.map(blockerName).join(' and ');
      reason = `Views of reporting are in use by ${who}. ${blockerRemedy(holders)} Then run ${toType('migrate')}.`;
    } else throw error;
    log.error({ reason }, 'The reports stay those of the earlier release; all else is migrated');
    return reason;
  }
}

interface Encoding {
  readonly encoding: string;
}

export const selectEncoding = `select current_setting('server_encoding') as encoding`;

/** Throws `OtherEncoding` if no release can use the database. */
export function refuseOtherEncoding([found]: readonly Encoding[]): void {
  if (found && found.encoding !== 'UTF8') throw new OtherEncoding(found.encoding);
}

/** In other encodings, Postgres would count bytes as characters, or refuse characters it has no code for. */
export class OtherEncoding extends UserError {
  constructor(encoding: string) {
    super(`The database of DATABASE_URL has the encoding ${encoding}, and texts need UTF8.`, {
      remedy: `Create another one with \`create database … encoding 'UTF8' template template0\`, and name it in DATABASE_URL.`,
    });
  }
}

export class OldDatabase extends UserError {
  /** `changed`: the migrations whose text was edited since. */
  constructor(changed: readonly string[]) {
    super(
      `A version from before the first release created this database, and its schema cannot be upgraded (since then ${changed.join(', ')} changed): point DATABASE_URL at an empty database (\`start\` without DATABASE_URL: set DATA_DIR to an empty folder) and let Trunkline mirror the account again. Keep a dump of this one: opt-outs, contacts, sends and versions of rules are nowhere else.`,
    );
  }
}

/** Whether all migrations of this release are applied, with their present texts. */
export async function isMigrated(db: Database): Promise<boolean> {
  const [known, applied] = await Promise.all([namesIn(releaseFolder), appliedMigrations(db)]);
  return known.every((name) => applied.has(name)) && (await changedMigrations(db, releaseFolder)).length === 0;
}

async function changedMigrations(db: Database, folder: URL): Promise<string[]> {
  const [known, applied] = await Promise.all([namesIn(folder), appliedMigrations(db)]);
  const both = known.filter((name) => applied.has(name));
  const texts = await Promise.all(both.map((name) => readMigration(folder, name)));
  return both.filter((name, at) => texts[at]?.textHash !== applied.get(name));
}

async function readMigration(folder: URL, name: string) {
  const text = await readFile(new URL(`${name}.sql`, folder), 'utf8');
  return { text, textHash: hash('sha256', text.replaceAll('\r\n', '\n'), 'base64url') };
}

/** Whether a newer release has migrated the database. */
export async function isAhead(db: Database): Promise<boolean> {
  return (await migrationsAhead(db, releaseFolder)).length > 0;
}

async function migrationsAhead(db: Database, folder: URL): Promise<string[]> {
  const [known, applied] = await Promise.all([namesIn(folder), appliedMigrations(db)]);
  return [...applied.keys()].filter((name) => !known.includes(name));
}

/** Whether the database has ever been migrated. */
async function hasMigrations(db: Database | Transaction): Promise<boolean> {
  // Not to_regclass: after a wait for another process's migration, it may answer from the session's cache.
  const [found] = await query(
    db,
    sql`select from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'ops' and c.relname = 'migrations'`,
  );
  return found !== undefined;
}

/** Error codes for a schema that exists already, or was just committed by another transaction. */
const duplicateCodes = new Set<unknown>(['42P06', '23505']);

function isDuplicate(error: unknown): boolean {
  return error instanceof Error && 'code' in error && duplicateCodes.has(error.code);
}

/** The applied migrations with the hashes of their texts. */
async function appliedMigrations(db: Database | Transaction): Promise<ReadonlyMap<string, string>> {
  if (!(await hasMigrations(db))) return new Map();
  const rows = await query(db, sql<{ name: string; text_hash: string }>`select name, text_hash from ops.migrations`);
  return new Map(rows.map((row) => [row.name, row.text_hash]));
}

const lockRetryMs = 3_000;
/** After this time, sessions that only read reports are ended: a reporting role must not block a release. */
const defaultPoliteMs = 60_000;
/** How long to try to replace the views. */
const maxViewsMs = 90_000;

/** Repeats `work` while it can't get a lock. Meanwhile, logs who holds the lock and what to do. */
export async function retryWhileLocked<T>(
  db: Database,
  log: Log,
  work: () => Promise<T>,
  { maxMs = Number.POSITIVE_INFINITY, politeMs = defaultPoliteMs } = {},
): Promise<T> {
  const begun = performance.now();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const waited = performance.now() - begun;
      if (!isLockTimeout(error) || waited > maxMs) throw error;
      if (waited > politeMs) {
        const ended = await endReaders(db).catch(() => []);
        if (ended.length > 0)
          log.warn({ ended }, 'Sessions that read reports held the schema for a minute; they were ended');
      }
      const holders = await readLockHolders(db);
      const since = Object.fromEntries(holders.map((each) => [blockerName(each), each.since]));
      const remedy = holders.length > 0 && blockerRemedy(holders);
      log.warn({ since, ...(remedy && { remedy }) }, 'Other transactions hold the schema; retrying in 3 seconds');
      await sleep(lockRetryMs);
    }
  }
}

/** A migration failed, and all of them were rolled back. */
export class MigrationFailed extends UserError {
  readonly code = 'migration_failed';

  constructor(message: string, cause: unknown) {
    super(message, { cause, remedy: `It was rolled back: remove the cause, then run ${toType('migrate')} again.` });
  }
}

/** Applies migrations and routines in one transaction: workers that wait for a migration also need its triggers. */
async function applySchema(db: Database, folder: URL): Promise<{ applied: string[]; routines: string[] }> {
  let failed = '';
  let wasEmpty = false;
  try {
    return await inTransaction(db, async (tx) => {
      // Only the daemon may lock this table. Before it exists, `create schema` lets only one process through.
      wasEmpty = !(await hasMigrations(tx));
      if (!wasEmpty) await query(tx, sql`lock table ops.migrations in exclusive mode`);
      const known = await appliedMigrations(tx);
      const names = await namesIn(folder);
      // A newer release may have migrated while this one waited for the lock.
      if ([...known.keys()].some((name) => !names.includes(name))) return { applied: [], routines: [] };
      await limitLockWait(tx);
      const applied = names.filter((name) => !known.has(name));
      for (const name of applied) {
        failed = `Migration ${name} failed`;
        const { text, textHash } = await readMigration(folder, name);
        await tx.executeQuery(CompiledQuery.raw(withComments(text)));
        await query(tx, sql`insert into ops.migrations (name, text_hash) values (${name}, ${textHash})`);
      }
      failed = 'The functions and triggers could not be applied';
      return { applied, routines: await applyRoutines(tx) };
    });
  } catch (error) {
    if (wasEmpty && isDuplicate(error)) return applySchema(db, folder);
    if (failed === '' || isLockTimeout(error)) throw error;
    throw new MigrationFailed(`${failed}: ${(error as Error).message}.`, error);
  }
}

interface Numbered {
  readonly sequence: string;
  readonly table: string;
  readonly column: string;
}

/** The first rows of a table are the oldest. If the sequence restarted, their numbers exceed its current value. */
const sampledRows = 1_000;

/**
 * Advances sequences that are behind the numbers in their tables, and returns their names. Restores and logical
 * replication can leave a sequence behind. New reads would then count as older than the mirrored rows and be dropped,
 * and inserts would fail.
 */
async function catchUpSequences(db: Database): Promise<string[]> {
  const lagging = new Set<string>();
  const numbered = Map.groupBy(await numberedColumns(db), ({ sequence }) => sequence);
  for (const [sequence, columns] of numbered) {
    const highest = (rows: (each: Numbered) => string) =>
      `greatest(${columns.map((each) => `(select max(${each.column}) from ${rows(each)} t)`).join(', ')})`;
    const last = `coalesce(pg_sequence_last_value($1::regclass), 0)`;
    const first = highest(({ table, column }) => `(select ${column} from ${table} limit ${sampledRows})`);
    const [found] = await query<{ is_behind: boolean }>(db, `select ${first} > ${last} as is_behind`, [sequence]);
    if (!found?.is_behind) continue;
    await query(db, `select setval($1::regclass, greatest(${highest(({ table }) => table)}, ${last}))`, [sequence]);
    lagging.add(sequence);
  }
  return [...lagging];
}

/** The columns that a sequence numbers. `fetch_seq` has no default: a read takes its number before it has rows. */
function numberedColumns(db: Database): Promise<Numbered[]> {
  return query<Numbered>(
    db,
    `select * from (
       select a.attrelid::regclass::text as "table", quote_ident(a.attname) as "column",
         case a.attname when 'fetch_seq' then 'ops.fetch_seq'
         else coalesce(pg_get_serial_sequence(a.attrelid::regclass::text, a.attname),
           substring(pg_get_expr(d.adbin, d.adrelid) from $$^nextval\\('(.+)'::regclass\\)$$)) end as sequence
       from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
         left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
       where n.nspname in ('warehouse', 'secrets', 'ops', 'rollups', 'reporting', 'bullmq') and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
     ) s where sequence is not null order by 1, 2`,
    [],
  );
}
