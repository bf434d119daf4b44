import { type Database, query, type Transaction } from '../db/database.ts';

/** A read of facts with a validity period, such as "this extension belongs to that user". `valid_to` is infinity while valid. */
interface PeriodsRead {
  readonly table: 'warehouse.user_endpoints' | 'warehouse.sms_line_users';
  /** The columns that identify a fact; the first is its owner. */
  readonly columns: readonly ('user_id' | 'line' | 'kind' | 'endpoint')[];
  readonly listed: readonly (readonly string[])[];
  /**
   * The lists that the read reported, by the first columns: facts of these lists that are not listed end. Facts of lists
   * that were not reported stay valid.
   */
  readonly scopes: readonly (readonly string[])[];
  /**
   * Owners of an earlier read: their new facts begin now. New facts of other owners begin at -infinity, or at the end of
   * the previous holder's period.
   */
  readonly knownOwners: readonly string[];
  /** All owners, when the read is complete: the facts of all others end. Undefined when it may be partial. */
  readonly owners: readonly string[] | undefined;
}

/**
 * Ends facts that are no longer listed, and begins new ones. A fact that returns to its user is resumed without a break if
 * nobody else held it in between: a read may have left it out by mistake.
 */
export async function recordPeriods(tx: Transaction, read: PeriodsRead): Promise<void> {
  const { table, columns, listed, scopes } = read;
  const [owner = 'line'] = columns;
  const scoped = columns.slice(0, scopes[0]?.length ?? 1);
  const relation = (names: readonly string[], from: number) =>
    `unnest(${names.map((name, at) => `$${from + at}::${typeOf(name)}[]`).join(', ')}) as l (${names.join(', ')})`;
  const same = (names: readonly string[]) => names.map((name) => `l.${name} = p.${name}`).join(' and ');
  const transposed = (rows: readonly (readonly string[])[], names: readonly string[]) =>
    names.map((_, at) => rows.map((row) => row[at] ?? null));

  await query(
    tx,
    `update ${table} p set valid_to = now()
     where p.valid_to = 'infinity'
       and not exists (select from ${relation(columns, 1)} where ${same(columns)})
       and (exists (select from ${relation(scoped, 1 + columns.length)} where ${same(scoped)})
         or p.${owner} <> all($${1 + columns.length + scoped.length}::${typeOf(owner)}[]))`,
    [...transposed(listed, columns), ...transposed(scopes, scoped), read.owners ?? null],
  );
  const shared = columns.filter((name) => name !== 'user_id');
  // An extension can move from one kind of list of a user to another kind of the next user.
  const credited = shared.filter((name) => name !== 'kind');
  const ofOthers = (row: string, names: readonly string[]) =>
    [...names.map((name) => `o.${name} = ${row}.${name}`), `o.user_id <> ${row}.user_id`].join(' and ');
  const own = columns.map((name) => `o.${name} = p.${name}`);
  // Deleted and inserted, so that the triggers attribute the calls of the interruption.
  await query(
    tx,
    `with returned as (
       delete from ${table} p using ${relation(columns, 1)}
       where ${same(columns)}
         and p.valid_to < 'infinity' and p.valid_to = (select max(o.valid_to) from ${table} o where ${own.join(' and ')})
         and not exists (
           select from ${table} o
           where ${ofOthers('p', shared)} and o.valid_to > p.valid_to and o.valid_from >= p.valid_to)
       returning p.*
     )
     insert into ${table} (${columns.join(', ')}, valid_from) select ${columns.join(', ')}, valid_from from returned`,
    transposed(listed, columns),
  );
  await query(
    tx,
    `insert into ${table} (${columns.join(', ')}, valid_from)
     select distinct ${columns.map((name) => `l.${name}`).join(', ')},
       case when l.${owner} = any($${1 + columns.length}::${typeOf(owner)}[]) then now()
         else coalesce((select max(least(o.valid_to, now())) from ${table} o where ${ofOthers('l', credited)}), '-infinity') end
     from ${relation(columns, 1)}
     where not exists (select from ${table} p where p.valid_to = 'infinity' and ${same(columns)})`,
    [...transposed(listed, columns), read.knownOwners],
  );
}

function typeOf(column: string): string {
  return column === 'user_id' ? 'bigint' : 'text';
}

/** The owners held in a directory table. Call it before the read is written. */
export async function heldOwners(tx: Transaction, table: 'warehouse.users' | 'warehouse.sms_lines'): Promise<string[]> {
  const key = table === 'warehouse.users' ? 'user_id' : 'line';
  const rows = await query<{ owner: string }>(tx, `select ${key}::text as owner from ${table}`, []);
  return rows.map((row) => row.owner);
}

/** Whether any user or line is held and not deleted. */
export async function holdsAny(db: Database, table: 'warehouse.users' | 'warehouse.sms_lines'): Promise<boolean> {
  const [row] = await query<{ any: boolean }>(
    db,
    `select exists (select from ${table} where deleted_at is null) as any`,
    [],
  );
  return row?.any === true;
}

/** Whether this read of a directory is newer than what is held. Its lock serializes the writes of one directory. */
export async function isCurrent(
  tx: Transaction,
  table: 'warehouse.users' | 'warehouse.sms_lines' | 'warehouse.webhook_subscriptions',
  fetchSeq: string,
): Promise<boolean> {
  await query(tx, 'select pg_advisory_xact_lock(hashtext($1))', [table]);
  const [row] = await query<{ is_current: boolean }>(
    tx,
    `select coalesce(max(fetch_seq) <= $1, true) as is_current from ${table}`,
    [fetchSeq],
  );
  return row?.is_current === true;
}
