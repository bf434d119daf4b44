import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { spellingsOf } from '../warehouse/phone-numbers.ts';

/*
 * Decisions of people about texts that may opt out (`unsure`).
 *
 *   unsure text ──▶ waiting: no automatic text to the number, on any line
 *                     ├── confirm ──▶ opted out on every line, until a later START there, or clear
 *                     ├── clear   ──▶ no opt-out, until the next unsure text
 *                     └── START   ──▶ no longer waiting on that line
 */

/** A number that needs a decision. */
export interface WaitingNumber {
  readonly number: string;
  /** The lines that received the texts. */
  readonly lines: readonly string[];
  readonly textCount: number;
  /** When the first and the last of these texts were sent. */
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** When the last of them became known here. Pass it to {@link decideOptOut}. */
  readonly seenAt: Date;
  /** The last text; null if it was removed. */
  readonly text: string | null;
}

/** Reads the numbers that wait, the newest first. */
export function listWaiting(db: Database | Transaction, limit: number): Promise<WaitingNumber[]> {
  return query(
    db,
    sql<WaitingNumber>`
      select w.number, array_agg(distinct w.line) as lines, count(*)::integer as "textCount", min(w.changed_at) as "firstAt",
        max(w.changed_at) as "lastAt", max(w.seen_at) as "seenAt",
        (array_agg(m.body order by w.changed_at desc, w.message_id desc))[1] as text
      from ops.opt_outs_waiting w left join warehouse.sms_messages m using (conversation_id, message_id)
      group by w.number order by "lastAt" desc, w.number limit ${limit}`,
  );
}

/** How many numbers wait for a decision. */
export async function countWaiting(db: Database | Transaction): Promise<number> {
  const [row] = await query(
    db,
    sql<{ count: number }>`select count(distinct number)::integer as count from ops.opt_outs_waiting`,
  );
  return row?.count ?? 0;
}

export type OptOutDecision = 'confirm' | 'clear';

/**
 * `not_waiting`: there is nothing to clear. `newer_text`: the person has written after `seenAt`. Both change nothing.
 */
export type DecisionResult = 'done' | 'not_waiting' | 'newer_text';

/**
 * Records a manual decision about a number, for all lines. `confirm` works for any number. `clear` only works for a
 * number that waits or was confirmed manually: it doesn't end an opt-out by keyword. `seenAt` comes from {@link
 * listWaiting}. The decision covers every form in which the number waits or was decided on.
 */
export function decideOptOut(
  db: Database,
  number: string,
  decision: OptOutDecision,
  { by, seenAt }: { readonly by: string; readonly seenAt?: Date },
): Promise<DecisionResult> {
  const forms = spellingsOf(number);
  return inTransaction(db, async (tx) => {
    const [state] = await query(
      tx,
      sql<{ isWaiting: boolean; isNewer: boolean; isConfirmed: boolean }>`
        select count(*) > 0 as "isWaiting",
          coalesce(date_trunc('milliseconds', max(seen_at)) > ${seenAt ?? null}::timestamptz, false) as "isNewer",
          coalesce((select decision = 'opt_out' from ops.opt_outs where number = any(${forms}) and source = 'person'
            order by decided_at desc limit 1), false) as "isConfirmed"
        from ops.opt_outs_waiting where number = any(${forms})`,
    );
    if (state?.isNewer) return 'newer_text';
    if (decision === 'clear' && !state?.isWaiting && !state?.isConfirmed) return 'not_waiting';
    await query(
      tx,
      sql`insert into ops.opt_outs (number, decision, source, decided_by)
        select number, ${decision === 'confirm' ? 'opt_out' : 'clear'}, 'person', ${by} from (
          select ${number}::text as number union select number from ops.opt_outs_waiting where number = any(${forms})
          union select number from ops.opt_outs where number = any(${forms}) and source = 'person') decided`,
    );
    return 'done';
  });
}
