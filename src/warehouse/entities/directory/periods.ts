import { type Database, query, type Transaction } from '../../database.ts';

/** Facts that hold for a time, such as "this extension is that user's": `valid_to` is infinity while they hold. */
export interface PeriodsRead {
  readonly table: 'warehouse.user_endpoints' | 'warehouse.sms_line_users';
  /** The columns that name a fact; the first one is its owner. */
  readonly columns: readonly ('user_id' | 'line' | 'kind' | 'endpoint')[];
  readonly listed: readonly (readonly string[])[];
  /**
   * What the read listed whole, by the first columns: facts of these that are not listed end. A list that was not
   * reported is not among them, so that its facts go on.
   */
  readonly scopes: readonly (readonly string[])[];
  /**
   * Owners that stood in an earlier read: what is new with them begins now. With others it has held since nobody knows when,
   * but for what somebody else was seen to have, who keeps the credit until then.
   */
  readonly knownOwners: readonly string[];
  /** All owners, when the read surely listed them all: those that are not among them have nothing any more. */
  readonly owners: readonly string[] | undefined;
}

/**
 * Ends what no longer holds and begins what newly does. What comes back to a user, and nobody else's began in between,
 * has held all the time: a read may leave out what was there, and history keeps its credit.
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
  // An extension that stood in one list of a user can stand in another of the next.
  const credited = shared.filter((name) => name !== 'kind');
  const ofOthers = (row: string, names: readonly string[]) =>
    [...names.map((name) => `o.${name} = ${row}.${name}`), `o.user_id <> ${row}.user_id`].join(' and ');
  const own = columns.map((name) => `o.${name} = p.${name}`);
  // Written anew, so that what found nobody in between is credited.
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

/** The owners of a directory that were held before this read is written. */
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

/**
 * Whether this read of a whole directory is newer than what is held; reads of one directory are written one after the
 * other.
 */
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
