import { query, type Transaction } from '../../warehouse/database.ts';

export interface Replacement {
  /** A table of the schema `reporting`. */
  readonly table: string;
  /** Its primary key; none of these is ever null. */
  readonly keys: readonly string[];
  readonly values: readonly string[];
  /** Which rows `t` of the table the fresh ones replace. */
  readonly scope: string;
  /** A query for the fresh rows, with columns of these names. */
  readonly fresh: string;
}

/** Replaces a part of a rollup and writes only what differs: most of a busy day's rows stay what they were. */
export async function replaceRows(
  tx: Transaction,
  { table, keys, values, scope, fresh }: Replacement,
  parameters: readonly unknown[],
): Promise<void> {
  const key = keys.join(', ');
  const columns = [...keys, ...values].join(', ');
  const each = (row: string) => values.map((value) => `${row}.${value}`).join(', ');
  // A list that is looked up by hash, whatever the planner expects of the rows.
  await query(
    tx,
    `with fresh as materialized (${fresh}),
     gone as (delete from reporting.${table} t where ${scope} and (${key}) not in (select ${key} from fresh))
     insert into reporting.${table} as t (${columns}) select ${columns} from fresh
     on conflict (${key}) do update set ${values.map((value) => `${value} = excluded.${value}`).join(', ')}
     where (${each('t')}) is distinct from (${each('excluded')})`,
    parameters,
  );
}
