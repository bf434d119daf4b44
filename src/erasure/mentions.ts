import { query, type Transaction } from '../warehouse/database.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';
import { erasedMark, mentionPattern } from '../warehouse/erasure/mentions.ts';

/** A column that can hold text. */
interface Place {
  readonly table: string;
  readonly column: string;
  readonly type: 'text' | 'text[]' | 'jsonb';
  readonly isKey: boolean;
}

/**
 * Removes the mentions of a number that stand anywhere else, in what others wrote and in tables that know nothing of
 * people: the words around a mention stay. A row whose key holds the number goes.
 */
export async function eraseMentions(tx: Transaction, number: string): Promise<Removed> {
  const removed: Record<string, number> = {};
  const places = Map.groupBy(await placesOfText(tx), ({ table }) => table);
  for (const [table, columns] of places) {
    const keys = columns.filter(({ isKey }) => isKey);
    const others = columns.filter(({ isKey }) => !isKey);
    let count = 0;
    if (keys.length > 0) {
      const rows = await query(tx, `delete from ${table} where ${isIn(keys)} returning 1`, [mentionPattern(number)]);
      count += rows.length;
    }
    if (others.length > 0) {
      const sets = others.map((place) => `${place.column} = ${without(place)}`).join(', ');
      const rows = await query(tx, `update ${table} set ${sets} where ${isIn(others)} returning 1`, [
        mentionPattern(number),
      ]);
      count += rows.length;
    }
    if (count > 0) removed[table] = count;
  }
  return removed;
}

// Partitions and views show what their tables hold; generated columns follow the columns they are made of.
async function placesOfText(tx: Transaction): Promise<Place[]> {
  return query<Place>(
    tx,
    `select a.attrelid::regclass::text as "table", quote_ident(a.attname) as "column",
       format_type(a.atttypid, null) as type, coalesce(a.attnum = any(k.conkey), false) as "isKey"
     from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
       left join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
     where n.nspname in ('warehouse', 'secrets', 'ops', 'reporting') and c.relkind = 'r'
       and c.relname not in ('migrations', 'migrations_lock')
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
       and a.atttypid in ('text'::regtype, 'text[]'::regtype, 'jsonb'::regtype)
     order by 1, a.attnum`,
    [],
  );
}

function isIn(places: readonly Place[]): string {
  return places
    .map(({ column, type }) =>
      type === 'text'
        ? `${column} ~ $1`
        : type === 'jsonb'
          ? `${column}::text ~ $1`
          : `array_to_string(${column}, '|') ~ $1`,
    )
    .join(' or ');
}

function without({ column, type }: Place): string {
  switch (type) {
    case 'text':
      return `regexp_replace(${column}, $1, '${erasedMark}', 'g')`;
    case 'text[]':
      return `array(select regexp_replace(each, $1, '${erasedMark}', 'g') from unnest(${column}) with ordinality e (each, at) order by at)`;
    case 'jsonb':
      // A zero is as good inside a text as in place of a number.
      return `regexp_replace(${column}::text, $1, '0', 'g')::jsonb`;
  }
}
