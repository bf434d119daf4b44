import { withFields } from '../../api-client/client.ts';
import { type Database, hotQuery, query, relation, sql, type Transaction } from '../../db/database.ts';
import { numbersMentioned, withoutNumbers } from './mentions.ts';

/** Caches {@link hasErasures} per transaction. */
const cached = new WeakMap<Transaction, Promise<boolean>>();

/** Whether anybody was ever erased. Takes a lock: until the transaction ends, no new erasure removes rows. */
export function hasErasures(tx: Transaction): Promise<boolean> {
  const answer =
    cached.get(tx) ??
    hotQuery<{ has_any: boolean }>(tx, 'select ops.hold_erasures() as has_any', []).then(
      ([row]) => row?.has_any === true,
    );
  cached.set(tx, answer);
  return answer;
}

const nobody: ReadonlySet<string> = new Set();
/** Numbers per query: a long text of single digits has many thousand candidates. */
const maxPerQuery = 10_000;

/** The erased ones among normalised numbers. `numbers` is called only if anybody was ever erased. */
export async function erasedAmong(
  tx: Transaction,
  numbers: () => Iterable<string | undefined>,
): Promise<ReadonlySet<string>> {
  if (!(await hasErasures(tx))) return nobody;
  const distinct = [...new Set(numbers())].filter((number) => number !== undefined && number !== '');
  const erased = new Set<string>();
  for (let at = 0; at < distinct.length; at += maxPerQuery) {
    const asked = distinct.slice(at, at + maxPerQuery);
    const rows = await hotQuery<{ number: string }>(tx, 'select ops.erased_among($1::text[]) as number', [asked]);
    for (const { number } of rows) erased.add(number);
  }
  return erased;
}

/** Removes all mentions of erased numbers from values. Returns values without such mentions unchanged. */
export async function withoutMentions<T>(tx: Transaction, values: readonly T[]): Promise<readonly T[]> {
  const erased = await erasedAmong(tx, () => numbersIn(textsIn(values)));
  if (erased.size === 0) return values;
  return values.map((value) => blanked(value, (number) => erased.has(number)) as T);
}

function* numbersIn(texts: readonly string[]): Generator<string> {
  for (const text of texts) yield* numbersMentioned(text);
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

function blanked(value: unknown, isErased: (number: string) => boolean): unknown {
  if (typeof value === 'string') return withoutNumbers(value, isErased);
  if (typeof value === 'number') return numbersMentioned(String(value)).some(isErased) ? null : value;
  if (Array.isArray(value)) return value.map((each) => blanked(each, isErased));
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, blanked(inner, isErased)]));
  return 'raw' in value && !Object.hasOwn(copy, 'raw') ? withFields(value as { raw: unknown }, copy) : copy;
}

/** Counts unread texts of lines that are never mirrored because their sender was erased. Stores no numbers. */
export async function withholdUnread(
  db: Database | Transaction,
  withheld: readonly { readonly line: string; readonly unread: number }[],
): Promise<void> {
  if (withheld.length === 0) return;
  await query(
    db,
    sql`
      insert into ops.erased_unread as e (line, unread_count)
      select line, sum(unread)::integer
      from ${relation('withheld', withheld, { line: 'text', unread: 'integer' })}
      group by line order by line
      on conflict (line) do update set unread_count = e.unread_count + excluded.unread_count, changed_at = now()`,
  );
}

/**
 * How many of a line's missing unread texts were withheld by an erasure. `lacking` is the service's unread count minus the
 * held one; if it is below the stored count, somebody read them at the service, and the stored count is lowered.
 */
export async function withheldUnread(
  db: Database | Transaction,
  lacking: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const rows = await query(
    db,
    sql<{ line: string; unread: number }>`
      with lacking as (
        select * from ${relation('l', [...lacking], { line: ['text', ([line]) => line], lacking: ['integer', ([, count]) => count] })}
      ),
      read as (
        update ops.erased_unread e set unread_count = greatest(0, l.lacking), changed_at = now()
        from lacking l where e.line = l.line and e.unread_count > greatest(0, l.lacking)
      )
      select line, least(e.unread_count, greatest(0, l.lacking)) as unread
      from ops.erased_unread e join lacking l using (line)`,
  );
  return new Map(rows.map(({ line, unread }) => [line, unread]));
}
