import { query, type Transaction } from '../database.ts';

/** Facts that hold for a time, such as "this extension is that user's": `valid_to` is infinity while they hold. */
export interface PeriodsRead {
  readonly table: 'warehouse.user_endpoints' | 'warehouse.sms_line_users';
  /** The column whose facts a read lists all at once; it is the first of `columns`. */
  readonly owner: 'user_id' | 'line';
  readonly columns: readonly string[];
  readonly listed: readonly (readonly string[])[];
  /** Owners that the read listed: what they no longer have ends now. */
  readonly owners: readonly string[];
  /** Whether owners that are not listed exist no more. */
  readonly isComplete: boolean;
}

/**
 * Ends what no longer holds and begins what newly does. What stands in the very first read of an owner has held since
 * nobody knows when: its period begins at -infinity.
 */
export async function recordPeriods(tx: Transaction, read: PeriodsRead): Promise<void> {
  const { table, owner, columns } = read;
  const names = columns.join(', ');
  const types = columns.map((column, at) => `$${at + 1}::${column === 'user_id' ? 'bigint' : 'text'}[]`).join(', ');
  const values = columns.map((_, at) => read.listed.map((row) => row[at] ?? null));
  const ownerType = owner === 'user_id' ? 'bigint' : 'text';
  await query(
    tx,
    `with listed as (select distinct * from unnest(${types}) as l (${names}))
     update ${table} p set valid_to = now()
     where p.valid_to = 'infinity' and ($${columns.length + 2} or p.${owner} = any($${columns.length + 1}::${ownerType}[]))
       and not exists (select from listed l where (${columns.map((c) => `l.${c}`).join(', ')}) = (${columns.map((c) => `p.${c}`).join(', ')}))`,
    [...values, read.owners, read.isComplete],
  );
  await query(
    tx,
    `with listed as (select distinct * from unnest(${types}) as l (${names}))
     insert into ${table} (${names}, valid_from)
     select ${columns.map((c) => `l.${c}`).join(', ')},
       case when exists (select from ${table} p where p.${owner} = l.${owner}) then now() else '-infinity' end
     from listed l
     where not exists (select from ${table} p where p.valid_to = 'infinity'
       and (${columns.map((c) => `l.${c}`).join(', ')}) = (${columns.map((c) => `p.${c}`).join(', ')}))`,
    values,
  );
}
