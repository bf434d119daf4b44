import { type Database, hotQuery, sql } from '../db/database.ts';
import { endAutomaticPause, isPausedByLedger } from './control.ts';
import { type DispatchResult, dispatch, endExpiredLease, reserveSend } from './dispatch.ts';
import { defaultLedgerTiming, type Ledger, type LedgerDeps } from './ledger.ts';
import { isUnreleased, releaseAllSuperseded } from './plans.ts';
import { isRefuted, isUnlinked, linkMessages, reconcile, settleAllFound } from './reconcile.ts';
import { findSend } from './send.ts';

/** `nothing_due`: another worker has the send, or it isn't due. */
export type AdvanceResult = DispatchResult | 'nothing_due' | 'needs_human';

/** Moves sends through their states. Any number of workers may run one, and each may crash at any time. */
export interface Dispatcher {
  /** Takes a send as far as possible now. Rejects if the database fails; a later sweep then returns the send again. */
  advance(sendId: string): Promise<AdvanceResult>;
  /** Whether `sweep` might find anything. This cheap statement saves the others while nothing is being sent. */
  hasWork(): Promise<boolean>;
  /**
   * Returns up to `max` due sends to advance. First links mirrored messages to their sends, releases the budgets of
   * superseded sends, and ends an automatic pause whose cause is gone. If one of these fails, the due sends are
   * returned all the same.
   */
  sweep(max: number): Promise<string[]>;
}

export function createDispatcher(deps: LedgerDeps): Dispatcher {
  const ledger: Ledger = { ...deps, timing: { ...defaultLedgerTiming, ...deps.timing } };

  async function advance(sendId: string): Promise<AdvanceResult> {
    const send = await findSend(ledger.db, sendId);
    if (!send?.isDue) return 'nothing_due';
    switch (send.state) {
      case 'PLANNED':
      case 'HELD':
      case 'AWAITING_APPROVAL': {
        const reserved = await reserveSend(ledger, sendId);
        return typeof reserved === 'string' ? reserved : dispatch(ledger, reserved);
      }
      case 'RESERVED':
      case 'DISPATCHED':
        return endExpiredLease(ledger, sendId);
      case 'UNKNOWN':
        return reconcile(ledger, send);
      default:
        return 'nothing_due';
    }
  }

  async function sweep(max: number): Promise<string[]> {
    const failures: unknown[] = [];
    for (const chore of [linkMessages, settleAllFound, releaseAllSuperseded, endPause]) {
      await chore(ledger).catch((error: unknown) => void failures.push(error));
    }
    const due = await takeDueSends(ledger, max);
    // Without a database, the previous line has thrown.
    for (const err of failures) ledger.log.warn({ err }, 'A chore of the ledger failed; other sends are not affected');
    return due;
  }

  return { advance, hasWork: () => hasWork(ledger.db), sweep };
}

async function endPause({ db, log }: Ledger): Promise<void> {
  if (await endAutomaticPause(db)) log.info('Sends are resumed: too few outcomes are unknown now to pause them');
}

/** SQL: a send in progress. */
export const isOpen = sql`state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'RESERVED', 'DISPATCHED', 'UNKNOWN')`;

/** SQL: a send that may be advanced now. */
export const isDueSend = sql`${isOpen} and due_at <= now()`;

async function hasWork(db: Database): Promise<boolean> {
  const [row] = await hotQuery(
    db,
    sql<{ has_work: boolean }>`select exists (select from ops.sends where ${isOpen})
        or exists (select from ops.sends where ${isUnlinked})
        or exists (select from ops.sends where ${isUnreleased})
        or exists (select from ops.sends where ${isRefuted})
        or exists (select from ops.send_control where ${isPausedByLedger}) as has_work`,
  );
  return row?.has_work === true;
}

/**
 * Marks up to `max` due sends as taken up and returns them: sends that no worker took up yet, or whose worker died.
 * During a pause, and in a worker that isn't live, waiting live sends stay untouched until they expire. An UNKNOWN send
 * becomes due as soon as its thread was read after the last reconciliation, for example because of a delivery.
 */
async function takeDueSends({ db, mode, timing: { lostAfterMs } }: Ledger, max: number): Promise<string[]> {
  await hotQuery(
    db,
    sql`update ops.sends s set due_at = now()
      where state = 'UNKNOWN' and due_at > now() and exists (
        select from warehouse.sms_conversations c
        where c.line = s.line and c.number = s.number and c.participants_key = ''
          and c.thread_fetched_at > coalesce(s.searched_at, s.unknown_at))`,
  );
  const rows = await hotQuery(
    db,
    sql<{ send_id: string }>`with due as (
        select send_id from ops.sends s
        where ${isOpen} and due_at <= now()
          and (enqueued_at < due_at or enqueued_at < now() - ${lostAfterMs} * interval '1 ms')
          and (state not in ('PLANNED', 'HELD', 'AWAITING_APPROVAL') or mode = 'dry-run' or expires_at < now()
            or ${mode} = 'live' and (state = 'AWAITING_APPROVAL' or not (select is_paused from ops.send_control)))
        order by due_at limit ${max} for update skip locked
      )
      update ops.sends s set enqueued_at = now() from due where s.send_id = due.send_id returning s.send_id`,
  );
  return rows.map((row) => row.send_id);
}
