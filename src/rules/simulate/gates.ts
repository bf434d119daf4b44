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
  /** Its quiet hours end then. */
  | { readonly kind: 'held'; readonly until: Date }
  | { readonly kind: 'denied'; readonly reason: string };

/** What the simulation itself has done in the thread so far. */
export interface Staged {
  readonly sends: readonly StagedSend[];
  readonly isBlocked: boolean;
}

export interface Judge {
  /** What becomes of a reply at a moment, as the ledger's worker would decide then. */
  fateOf(plan: SendPlan, staged: Staged, at: Date): Promise<Fate>;
}

/**
 * Puts replies of a span through the ledger's own gates, on what the mirror says was known then, and through budgets, which
 * begin with what was really sent before the span.
 */
export async function createJudge(
  tx: Transaction,
  limits: AccountLimits,
  { from }: Pick<Span, 'from'>,
): Promise<Judge> {
  const price = await highestPrice(tx);
  const budgets = await openBudgets(tx, limits, from);

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
    async fateOf(plan, staged, at) {
      const verdict = await verdictAt(plan, staged, at);
      switch (verdict.kind) {
        case 'hold':
          return { kind: 'held', until: verdict.until };
        case 'expire':
          return { kind: 'denied', reason: 'gate:too_old' };
        case 'deny':
        case 'wait':
          return { kind: 'denied', reason: verdict.reason };
      }
      const segments = worstSegments(plan.text);
      const micros = segments * Math.max(limits.unitMicros, price);
      // As long as no price is known, the ledger counts on the worst.
      const charged = price > 0 ? segments * price : micros;
      const usedUp = budgets.take(plan, at, { reserved: micros, charged });
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

/** Micro-dollars: the highest price of a segment that was ever charged; 0 while none was. */
async function highestPrice(tx: Transaction): Promise<number> {
  const [row] = await query<{ micros: number }>(
    tx,
    'select highest_unit_micros::float8 as micros from ops.send_control',
    [],
  );
  return row?.micros ?? 0;
}
