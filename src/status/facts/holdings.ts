import { type Database, query } from '../../warehouse/database.ts';

/** How many rows a table holds. */
export interface Holding {
  readonly table: string;
  readonly rows: number;
  /** Counted; else Postgres's own estimate, which follows the table at some distance. */
  readonly isExact: boolean;
}

/** Tables up to this size are counted, in milliseconds each. */
const countedBytes = 8 * 1024 * 1024;

const tables = [
  'warehouse.sms_conversations',
  'warehouse.sms_messages',
  'warehouse.calls',
  'warehouse.call_legs',
  'warehouse.recordings',
  'warehouse.transcripts',
  'warehouse.users',
  'warehouse.sms_lines',
  'ops.deliveries',
  'ops.sync_targets',
] as const;

export async function readHoldings(db: Database): Promise<Holding[]> {
  const sizes = await query<{ table: string; bytes: number; estimate: number }>(
    db,
    `select t.name as table, pg_relation_size(c.oid)::float8 as bytes,
       greatest(c.reltuples, pg_stat_get_live_tuples(c.oid), 0)::float8 as estimate
     from unnest($1::text[]) with ordinality t (name, at) join pg_class c on c.oid = t.name::regclass order by t.at`,
    [tables],
  );
  const small = sizes.filter(({ bytes }) => bytes <= countedBytes).map(({ table }) => table);
  const counted = new Map<string, number>();
  if (small.length > 0) {
    const rows = await query<{ table: string; rows: number }>(
      db,
      small.map((table) => `select '${table}' as table, count(*)::int as rows from ${table}`).join(' union all '),
      [],
    );
    for (const row of rows) counted.set(row.table, row.rows);
  }
  return sizes.map(({ table, estimate }) => {
    const exact = counted.get(table);
    return { table, rows: exact ?? Math.round(estimate), isExact: exact !== undefined };
  });
}
