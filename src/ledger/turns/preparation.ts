import { inTransaction, type Transaction } from '../../warehouse/database.ts';
import { reserve, wouldFit } from '../budgets.ts';
import { readFacts } from '../gates/facts.ts';
import { judge, type Verdict } from '../gates/gates.ts';
import { worstSegments } from '../gates/segments.ts';
import type { Ledger, LedgerTiming } from '../ledger.ts';
import { defaultRuleLimits } from '../limits.ts';
import { lockSend, type Send } from '../send.ts';
import { takeStep } from '../transitions.ts';
import { releaseSuperseded } from './superseded.ts';

/** A send with its budget reserved, and the fence that this made. */
export interface Reserved {
  readonly sendId: string;
  readonly fence: number;
  readonly line: string;
  readonly number: string;
}

export type NotReserved = 'nothing_due' | 'paused' | 'held' | 'denied' | 'expired';

/** PLANNED or HELD to RESERVED, in one transaction: the gates by what the mirror holds, then the budgets. */
export function prepare(ledger: Ledger, sendId: string): Promise<Reserved | NotReserved> {
  return inTransaction(ledger.db, (tx) => prepareIn(tx, ledger, sendId));
}

async function prepareIn(tx: Transaction, ledger: Ledger, sendId: string): Promise<Reserved | NotReserved> {
  const send = await lockSend(tx, sendId);
  if (!send?.isDue || (send.state !== 'PLANNED' && send.state !== 'HELD')) return 'nothing_due';
  const facts = await readFacts(tx, send);
  const isDry = [ledger.mode, send.mode, facts.ruleMode].includes('dry-run');
  // The service is asked before the dispatch, and only its answer counts. A dry run asks nothing.
  const verdict = judge(send, facts, isDry && facts.wasBlocked, ledger.limits());
  if (verdict.kind === 'deny' || verdict.kind === 'expire') return refuse(tx, ledger, send, verdict);
  if ((facts.isPaused || facts.ruleMode === 'unknown') && !isDry) return 'paused';
  if (ledger.mode === 'off') return refuse(tx, ledger, send, { kind: 'deny', reason: 'mode_off' });
  if (verdict.kind !== 'pass') return refuse(tx, ledger, send, verdict);

  if (!isDry) await releaseSuperseded(tx, send);
  const limits = ledger.limits();
  const ofThread = { ...limits, perThread: Math.min(limits.perThread, send.limits.perThread ?? limits.perThread) };
  const units = worstSegments(send.text);
  if (isDry) {
    const micros = units * Math.max(limits.unitMicros, facts.highestUnitMicros);
    const usedUp = await wouldFit(tx, send, micros, ofThread);
    const reason = usedUp === undefined ? 'dry_run' : `gate:budget_${usedUp}`;
    return refuse(tx, ledger, send, { kind: 'deny', reason }, units);
  }
  const reserved = await reserve(tx, send, units, ofThread);
  if ('usedUp' in reserved) {
    const kind = reserved.isForGood ? 'deny' : 'wait';
    return refuse(tx, ledger, send, { kind, reason: `gate:budget_${reserved.usedUp}` });
  }
  const fence = send.fence + 1;
  await takeStep(tx, {
    sendId,
    from: [send.state],
    to: 'RESERVED',
    dueInMs: ledger.timing.leaseMs,
    set: { fence, units, message_type: 'sms', reserved_micros: reserved.micros, budget_date: reserved.budgetDate },
  });
  return { sendId, fence, line: send.line, number: send.number };
}

/** Writes a verdict that keeps a send from going out now. What it had reserved is the caller's to give back. */
export async function refuse(
  tx: Transaction,
  { timing }: { readonly timing: Pick<LedgerTiming, 'waitMs'> },
  send: Send,
  verdict: Exclude<Verdict, { kind: 'pass' }>,
  units?: number,
): Promise<'held' | 'denied' | 'expired'> {
  const step = { sendId: send.sendId, from: [send.state] };
  switch (verdict.kind) {
    case 'hold': {
      // The hours of quiet do not make it older.
      const maxAgeMs = 1_000 * (send.limits.maxAgeSeconds ?? defaultRuleLimits.maxAgeSeconds);
      const set = {
        due_at: verdict.until,
        expires_at: new Date(verdict.until.getTime() + maxAgeMs),
        reserved_micros: 0,
      };
      await takeStep(tx, { ...step, to: 'HELD', reason: 'gate:quiet_hours', set });
      return 'held';
    }
    case 'wait': {
      const set = { reserved_micros: 0 };
      await takeStep(tx, { ...step, to: 'HELD', reason: verdict.reason, dueInMs: timing.waitMs, set });
      return 'held';
    }
    case 'expire':
      await takeStep(tx, { ...step, to: 'EXPIRED', reason: 'gate:too_old', set: { reserved_micros: 0 } });
      return 'expired';
    case 'deny':
      await takeStep(tx, {
        ...step,
        to: 'DENIED',
        reason: verdict.reason,
        set: { reserved_micros: 0, ...(units !== undefined && { units, message_type: 'sms' }) },
      });
      return 'denied';
  }
}
