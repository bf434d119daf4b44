import { query, type Transaction } from '../warehouse/database.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';
import { erasedMark, mentionPattern, roughMentionPattern } from '../warehouse/erasure/mentions.ts';

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
    const count = await eraseFrom(tx, table, columns, number);
    if (count > 0) removed[table] = count;
  }
  return removed;
}

// The look is a statement of its own, since only one that writes nothing is shared among the cores; whoever moved a row
// between the two has it looked for once more.
async function eraseFrom(tx: Transaction, table: string, columns: readonly Place[], number: string): Promise<number> {
  const [keys, others] = [columns.filter(({ isKey }) => isKey), columns.filter(({ isKey }) => !isKey)];
  const patterns = [mentionPattern(number), roughMentionPattern(number)];
  let count = 0;
  for (;;) {
    const found = await query<{ at: string; is_key: boolean }>(
      tx,
      `select ctid::text as at, ${keys.length > 0 ? isIn(keys) : 'false'} as is_key from ${table} where ${isIn(columns)}`,
      patterns,
    );
    if (found.length === 0) return count;
    const [rows, texts] = [found.filter((each) => each.is_key), found.filter((each) => !each.is_key)];
    const at = (some: typeof found) => some.map((each) => each.at);
    const gone =
      rows.length === 0
        ? []
        : await query(tx, `delete from ${table} where ctid = any($1::tid[]) returning 1`, [at(rows)]);
    const sets = others.map((place) => `${place.column} = ${without(place)}`).join(', ');
    const mended =
      texts.length === 0
        ? []
        : await query(tx, `update ${table} set ${sets} where ctid = any($2::tid[]) returning 1`, [
            patterns[0],
            at(texts),
          ]);
    count += gone.length + mended.length;
    if (gone.length + mended.length === found.length) return count;
  }
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

/** Whether a number is mentioned: `$1` is the pattern, `$2` the rough one that decides nearly always, and sooner. */
function isIn(places: readonly Place[]): string {
  const text = ({ column, type }: Place) =>
    type === 'text' ? column : type === 'jsonb' ? `${column}::text` : `array_to_string(${column}, '|')`;
  return places.map((place) => `(${text(place)} ~ $2 and ${text(place)} ~ $1)`).join(' or ');
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
