import { type FactsMoment, type Facts as GateFacts, readFacts } from '../../ledger/gates/facts.ts';
import { judge, type Verdict } from '../../ledger/gates/gates.ts';
import { worstSegments } from '../../ledger/gates/segments.ts';
import { type AccountLimits, defaultRuleLimits } from '../../ledger/limits.ts';
import type { SendPlan } from '../../ledger/send.ts';
import { query, type Transaction } from '../../warehouse/database.ts';
import { openBudgets } from './budgets.ts';
import type { Span } from './past.ts';
import type { StagedSend } from './stage.ts';

/** What would have become of a reply. */
export type Fate =
  | { readonly kind: 'sent'; readonly at: Date; readonly segments: number; readonly micros: number }
  /** Its quiet hours end after the span. */
  | { readonly kind: 'held'; readonly until: Date }
  | { readonly kind: 'denied'; readonly reason: string };

/** What the simulation itself has done in the thread so far. */
export interface Staged {
  readonly sends: readonly StagedSend[];
  readonly isBlocked: boolean;
}

export interface Judge {
  fateOf(plan: SendPlan, staged: Staged): Promise<Fate>;
}

/**
 * Puts replies of a span through the ledger's own gates, on what the mirror says was known then, and through budgets, which
 * begin with what was really sent before the span.
 */
export async function createJudge(tx: Transaction, limits: AccountLimits, { from, to }: Span): Promise<Judge> {
  const price = await priceOf(tx, limits);
  const budgets = await openBudgets(tx, limits, from);
  const busy = await busyThreads(tx, from);
  const answered = new Set<string>();

  async function verdictAt(plan: SendPlan, staged: Staged, now: Date): Promise<Verdict> {
    const facts = await gateFacts(tx, plan, staged, { now, withoutOwnFrom: from });
    const maxAgeMs = (plan.limits?.maxAgeSeconds ?? defaultRuleLimits.maxAgeSeconds) * 1_000;
    // The hours of quiet do not make it older.
    const expiresAt = new Date(Math.max(plan.trigger.at.getTime(), now.getTime()) + maxAgeMs);
    // The service, which knows, cannot be asked about the past.
    const isBlocked = staged.isBlocked || facts.wasBlocked;
    const judged = { ...plan, limits: plan.limits ?? {}, expiresAt, plannedAt: plan.trigger.at };
    return judge(judged, facts, isBlocked, limits);
  }

  return {
    async fateOf(plan, staged) {
      const thread = `${plan.line}/${plan.number}`;
      const key = [thread, plan.trigger.kind, plan.trigger.id].join(' ');
      // The second answer to one thing finds the first under way.
      if (busy.has(thread) || answered.has(key)) return { kind: 'denied', reason: 'thread_busy' };
      answered.add(key);
      let at = plan.trigger.at;
      let verdict = await verdictAt(plan, staged, at);
      if (verdict.kind === 'hold') {
        at = verdict.until;
        if (at >= to) return { kind: 'held', until: at };
        verdict = await verdictAt(plan, staged, at);
        if (verdict.kind === 'hold') return { kind: 'held', until: verdict.until };
      }
      if (verdict.kind === 'expire') return { kind: 'denied', reason: 'gate:too_old' };
      if (verdict.kind === 'deny') return { kind: 'denied', reason: verdict.reason };
      const segments = worstSegments(plan.text);
      const micros = segments * price;
      const usedUp = budgets.take(plan, at, micros);
      return usedUp === undefined
        ? { kind: 'sent', at, segments, micros }
        : { kind: 'denied', reason: `gate:budget_${usedUp}` };
    },
  };
}

/** The gates' facts as they stood at a moment, with the simulated sends in place of the ledger's own. */
async function gateFacts(tx: Transaction, plan: SendPlan, { sends }: Staged, moment: FactsMoment): Promise<GateFacts> {
  const facts = await readFacts(tx, plan, moment);
  const own = sends.filter(({ at }) => at <= moment.now).toReversed();
  return {
    ...facts,
    isPaused: false,
    ownMessages: [...own.map(({ at }) => at), ...facts.ownMessages],
    ownSends: [...own, ...facts.ownSends],
  };
}

async function priceOf(tx: Transaction, limits: AccountLimits): Promise<number> {
  const [row] = await query<{ micros: number }>(
    tx,
    'select highest_unit_micros::float8 as micros from ops.send_control',
    [],
  );
  return Math.max(limits.unitMicros, row?.micros ?? 0);
}

/** Threads in which a send of before has no known outcome: nothing else is planned there. */
async function busyThreads(tx: Transaction, from: Date): Promise<ReadonlySet<string>> {
  const rows = await query<{ thread: string }>(
    tx,
    `select line || '/' || number as thread from ops.sends
     where state in ('UNKNOWN', 'NEEDS_HUMAN') and dispatched_at < $1`,
    [from],
  );
  return new Set(rows.map(({ thread }) => thread));
}
