import { query, sql, type Transaction } from '../db/database.ts';
import { costOf, maxSegments, releaseBudget, reserveAnyway } from './budgets.ts';
import { readControl } from './control.ts';
import { defaultRuleLimits } from './limits.ts';
import { findMessage, settleAs, writesLost } from './reconcile.ts';
import { readLimits } from './rules-in-force.ts';
import { lockSend, type SendPlan, transition } from './send.ts';

/** The reason of all else that is stopped, doubted or searched since the database went back. */
export const lostReason = 'the database went back in time';

/*
 * When the database went back in time (`ops/lost-writes`), sends of the lost time may have left without a row that says so. Each
 * counts as one whose answer was lost: its message is looked for in the thread, and nothing is sent again.
 */

/**
 * Doubts the live sends that may have left before a moment. The caller holds the switch. If one that waits for approval has
 * left, its text in the thread refuses it later (`gate:answered`).
 */
export async function doubtLostSends(tx: Transaction, until: Date): Promise<void> {
  const rows = await query(
    tx,
    sql<{ send_id: string }>`select send_id from ops.sends
      where mode = 'live' and (state in ('PLANNED', 'RESERVED') and planned_at <= ${until} or state = 'HELD' and due_at <= ${until})
      order by send_id for update`,
  );
  for (const { send_id: sendId } of rows) await doubtSend(tx, sendId, until);
}

/** A time whose writes are lost, by the database's clock. */
export interface LostSpan {
  /** The last report that the database still has. */
  readonly from: Date;
  /** After it, nobody can have written what is lost. */
  readonly until: Date;
}

/** Whether what is planned may have left in a lost time, without a row that says so. */
export function mayHaveLeft({ from, until }: LostSpan, { trigger: { at }, limits }: SendPlan): boolean {
  const maxAgeSeconds = limits?.maxAgeSeconds ?? defaultRuleLimits.maxAgeSeconds;
  return at <= until && at.getTime() + maxAgeSeconds * 1_000 > from.getTime();
}

/** To UNKNOWN with a reserved budget, or at once to SENT if its message is mirrored. `until`: it has not left later. */
export async function doubtSend(tx: Transaction, sendId: string, until: Date): Promise<void> {
  const send = await lockSend(tx, sendId);
  if (!send) return;
  if (send.reservedMicros > 0) await releaseBudget(tx, send);
  const units = send.units ?? maxSegments(send.text);
  const { highestUnitMicros } = await readControl(tx);
  const { micros } = costOf(units, highestUnitMicros, await readLimits(tx));
  const budgetDate = await reserveAnyway(tx, send, micros, send.trigger.at);
  await transition(tx, {
    sendId,
    from: ['PLANNED', 'HELD', 'RESERVED'],
    to: 'UNKNOWN',
    reason: writesLost,
    dueInMs: 0,
    set: { units, message_type: 'sms', reserved_micros: micros, budget_date: budgetDate, dispatched_at: until },
  });
  const doubted = await lockSend(tx, sendId);
  if (!doubted) return;
  const { match } = await findMessage(tx, doubted);
  if (match) await settleAs(tx, doubted, match);
}
