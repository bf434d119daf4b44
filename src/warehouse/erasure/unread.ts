import { type Database, query, type Transaction } from '../database.ts';

/** Notes that so many unread texts of a line will never be held: whose they are is not kept. */
export async function withholdUnread(
  db: Database | Transaction,
  withheld: readonly { readonly line: string; readonly unread: number }[],
): Promise<void> {
  if (withheld.length === 0) return;
  await query(
    db,
    `insert into ops.erased_unread as e (line, unread_count)
     select line, sum(unread)::integer from unnest($1::text[], $2::integer[]) as w (line, unread) group by line order by line
     on conflict (line) do update set unread_count = e.unread_count + excluded.unread_count, changed_at = now()`,
    [withheld.map(({ line }) => line), withheld.map(({ unread }) => unread)],
  );
}

/**
 * How many of the texts that a line lacks were withheld. `lacking` are more unread texts at the service than are held;
 * where that is less than was withheld, somebody has read them there, and the rest is forgotten.
 */
export async function withheldUnread(
  db: Database | Transaction,
  lacking: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const rows = await query<{ line: string; unread: number }>(
    db,
    `with lacking as (select * from unnest($1::text[], $2::integer[]) as l (line, lacking)),
     read as (
       update ops.erased_unread e set unread_count = greatest(0, l.lacking), changed_at = now()
       from lacking l where e.line = l.line and e.unread_count > greatest(0, l.lacking)
     )
     select line, least(e.unread_count, greatest(0, l.lacking)) as unread
     from ops.erased_unread e join lacking l using (line)`,
    [[...lacking.keys()], [...lacking.values()]],
  );
  return new Map(rows.map(({ line, unread }) => [line, unread]));
}
