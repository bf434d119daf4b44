import type { RawBuilder } from 'kysely';
import { query, relation, sql, type Transaction } from '../db/database.ts';

type Column = 'user_id' | 'line' | 'kind' | 'endpoint';

/**
 * One read of facts that are valid for a period, from `valid_from` to `valid_to`, such as "this extension belongs to
 * that user". `valid_to` is infinity while a fact is valid. Rows are lists of texts, one per column.
 */
interface PeriodsRead {
  readonly table: 'warehouse.user_endpoints' | 'warehouse.sms_line_users';
  /** The columns that identify a fact. The first is its owner. */
  readonly columns: readonly Column[];
  /** All facts that the read listed. */
  readonly listed: readonly (readonly string[])[];
  /** The lists that were read, by their first columns. Facts that are missing in these lists end; other facts don't. */
  readonly lists: readonly (readonly string[])[];
  /**
   * The owners that earlier reads listed: their new facts start now. A new fact of another owner starts when a previous
   * owner's ended, or at -infinity.
   */
  readonly knownOwners: readonly string[];
  /** All owners, if the read is complete: the facts of other owners end. */
  readonly owners: readonly string[] | undefined;
}

/** A fact that is valid from a moment on, and wasn't known before. `-infinity` is before all times. */
export interface BegunPeriod {
  readonly kind?: string;
  readonly endpoint?: string;
  readonly valid_from: Date | number;
}

/**
 * Ends facts that are no longer listed, and adds new ones. If a fact is listed again, its old period continues, because
 * a read may have left it out by mistake, unless another user had it in between. Resolves to the added and resumed
 * facts.
 */
export async function recordPeriods(tx: Transaction, read: PeriodsRead): Promise<BegunPeriod[]> {
  const { columns, lists } = read;
  const [owner = 'line'] = columns;
  const ownerType = sql.raw(scalarOf(owner));
  const table = sql.table(read.table);
  const listed = rowsOf(columns, read.listed);
  const listColumns = columns.slice(0, lists[0]?.length ?? 1);

  await query(
    tx,
    sql`update ${table} p set valid_to = now()
     where p.valid_to = 'infinity'
       and not exists (select from ${listed} where ${areEqual(columns, 'l', 'p')})
       and (exists (select from ${rowsOf(listColumns, lists)} where ${areEqual(listColumns, 'l', 'p')})
         or p.${sql.ref(owner)} <> all(${read.owners ?? null}::${ownerType}[]))`,
  );
  const names = sql.raw(columns.join(', '));
  const shared = columns.filter((name) => name !== 'user_id');
  const resumed = await query<BegunPeriod>(
    tx,
    sql`update ${table} p set valid_to = 'infinity' from ${listed}
       where ${areEqual(columns, 'l', 'p')} and p.valid_to < 'infinity'
         and p.valid_to = (select max(o.valid_to) from ${table} o where ${areEqual(columns, 'o', 'p')})
         and not exists (
           select from ${table} o
           where ${areEqual(shared, 'o', 'p')} and o.user_id <> p.user_id
             and o.valid_to > p.valid_to and o.valid_from >= p.valid_to)
       returning p.*`,
  );
  // An extension can move from one kind of list of a user to another kind of list of the next user.
  const transferable = shared.filter((name) => name !== 'kind');
  const added = await query<BegunPeriod>(
    tx,
    sql`insert into ${table} (${names}, valid_from)
     select distinct ${sql.raw(columns.map((name) => `l.${name}`).join(', '))},
       case when l.${sql.ref(owner)} = any(${read.knownOwners}::${ownerType}[]) then now()
         else coalesce((
           select max(least(o.valid_to, now())) from ${table} o
           where ${areEqual(transferable, 'o', 'l')} and o.user_id <> l.user_id), '-infinity') end
     from ${listed}
     where not exists (select from ${table} p where p.valid_to = 'infinity' and ${areEqual(columns, 'l', 'p')})
     returning *`,
  );
  return [...resumed, ...added];
}

function rowsOf(columns: readonly Column[], rows: readonly (readonly string[])[]): RawBuilder<unknown> {
  const values = columns.map((name, at) => [name, [scalarOf(name), (row: readonly string[]) => row[at]]] as const);
  return relation('l', rows, Object.fromEntries(values));
}

function areEqual(columns: readonly Column[], left: string, right: string): RawBuilder<unknown> {
  return sql.raw(columns.map((name) => `${left}.${name} = ${right}.${name}`).join(' and '));
}

function scalarOf(column: Column): 'bigint' | 'text' {
  return column === 'user_id' ? 'bigint' : 'text';
}
