import { query, relation, sql, type Transaction } from '../db/database.ts';

/** A text that came in, was changed or was deleted: the thread's two parties, and when it was sent. */
interface TheirText {
  readonly line: string;
  readonly number: string;
  readonly at: Date;
}

/**
 * Marks the days of sends that these texts of theirs may answer, for `reporting/outcomes.ts` to count their replies again. To be
 * called in the transaction that writes the texts; of a text whose time changed, with both times.
 */
export async function markReplies(tx: Transaction, texts: readonly TheirText[]): Promise<void> {
  if (texts.length === 0) return;
  await query(
    tx,
    sql`
      insert into ops.send_markers (planned_at)
      select distinct s.planned_at
      from ${relation('t', texts, { line: 'text', number: 'text', at: 'timestamptz' })}
      join ops.sends s on s.line = t.line and s.number = t.number and s.state = 'SENT'
        and s.dispatched_at < t.at and s.dispatched_at >= t.at - interval '24 hours'`,
  );
}
