import { type Database, query } from './database.ts';

interface Numbered {
  readonly sequence: string;
  readonly table: string;
  readonly column: string;
}

/** Rows of a table that stand first: those from before a sequence began anew have higher numbers than it gives out. */
const looked = 1_000;

/**
 * Sets the sequences that lag behind the numbers that rows have, and answers with their names. Who copies rows into
 * another server, or replicates them, leaves sequences behind: reads would count as older than what is held, and be
 * dropped, and rows would be refused.
 */
export async function catchUpSequences(db: Database): Promise<string[]> {
  const lagging = new Set<string>();
  const numbered = Map.groupBy(await numberedColumns(db), ({ sequence }) => sequence);
  for (const [sequence, columns] of numbered) {
    const highest = (rows: (each: Numbered) => string) =>
      `greatest(${columns.map((each) => `(select max(${each.column}) from ${rows(each)} t)`).join(', ')})`;
    const last = `coalesce(pg_sequence_last_value($1::regclass), 0)`;
    const first = highest(({ table, column }) => `(select ${column} from ${table} limit ${looked})`);
    const [found] = await query<{ is_behind: boolean }>(db, `select ${first} > ${last} as is_behind`, [sequence]);
    if (!found?.is_behind) continue;
    await query(db, `select setval($1::regclass, greatest(${highest(({ table }) => table)}, ${last}))`, [sequence]);
    lagging.add(sequence);
  }
  return [...lagging];
}

/** Columns that a sequence numbers; reads are numbered before it is known which rows they bring. */
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
       where n.nspname in ('warehouse', 'secrets', 'ops', 'reporting', 'bullmq') and c.relkind = 'r'
         and a.attnum > 0 and not a.attisdropped
     ) s where sequence is not null order by 1, 2`,
    [],
  );
}
