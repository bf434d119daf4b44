import { inTransaction, query, sql } from '../db/database.ts';
import type { Pair } from '../shared/thread.ts';
import { erasedAmong } from '../warehouse/erasure/erased.ts';
import { sameNumbers } from '../warehouse/phone-numbers.ts';
import type { Ledger } from './ledger.ts';

/**
 * Reads the other threads of a person, in each form of the number, that were never read whole: a person who wrote STOP
 * to one line gets no text from any. Resolves to false while the list of lines was never read, or if one of the threads
 * couldn't be read whole. A pair without a thread is kept as a probed candidate, so that it's read once.
 */
export async function readOtherLines(
  { db, readThread }: Pick<Ledger, 'db' | 'readThread'>,
  { line, number }: Pair,
): Promise<boolean> {
  const [row] = await query(
    db,
    sql<{ is_listed: boolean; others: Pair[] }>`
      select not exists (select from ops.sync_targets where kind = 'lines' and clean_version = 0) as is_listed,
        coalesce(jsonb_agg(jsonb_build_object('line', l.line, 'number', n.number)), '[]') as others
      from warehouse.sms_lines l cross join unnest(${sameNumbers(number)}::text[]) as n (number)
      where l.deleted_at is null and l.line <> n.number and (l.line, n.number) <> (${line}, ${number})
        and not exists (select from warehouse.sms_conversations c
          where c.line = l.line and c.number = n.number and c.participants_key = '' and c.is_thread_complete)
        and not exists (select from ops.thread_candidates p
          where p.line = l.line and p.number = n.number and p.probed_at is not null and not exists (
            select from ops.sync_targets t
            where t.kind = 'thread' and t.key = p.line || '/' || p.number and t.dirty_version > t.clean_version))`,
  );
  if (!row?.is_listed) return false;
  for (const other of row.others) {
    if (!(await readThread({ ...other, participants: [] }))) return false;
    await inTransaction(db, async (tx) => {
      if ((await erasedAmong(tx, () => [other.number])).size > 0) return;
      await query(
        tx,
        sql`insert into ops.thread_candidates (line, number, evidence, probed_at)
          select ${other.line}, ${other.number}, 'contact', now() where not exists (
            select from warehouse.sms_conversations
            where line = ${other.line} and number = ${other.number} and participants_key = '')
          on conflict (line, number) do update set probed_at = now()`,
      );
    });
  }
  return true;
}
