import { query, sql, type Transaction } from '../../db/database.ts';
import { type BudgetName, costOf, maxSegments, scopesOf } from '../../ledger/budgets.ts';
import { judge } from '../../ledger/gates/gates.ts';
import { readGateInputs } from '../../ledger/gates/inputs.ts';
import { type AccountLimits, accountLimits, defaultRuleLimits } from '../../ledger/limits.ts';
import type { SendPlan } from '../../ledger/send.ts';
import type { Pair } from '../../shared/thread.ts';
import type { RuleSet } from '../rule.ts';

/** The simulated outcome of a reply. */
export type ReplyOutcome =
  /** `heldUntil`: it would have waited for the end of its quiet hours. */
  | { readonly kind: 'sent'; readonly segments: number; readonly micros: number; readonly heldUntil: Date | undefined }
  | { readonly kind: 'denied'; readonly reason: string };

/** Decides about a reply at a moment, as the ledger would have decided. */
export type Judge = (plan: SendPlan, at: Date) => Promise<ReplyOutcome>;

/**
 * Judges replies by the ledger's own gates, with what the mirror held at the time, and by budgets that start with the
 * real sends before `from`.
 */
export async function createJudge(tx: Transaction, set: RuleSet, from: Date): Promise<Judge> {
  const limits = accountLimits(set.accountLimits);
  const takeBudget = await openBudgets(tx, limits, from);

  return async (plan, at) => {
    const inputs = await readGateInputs(tx, plan, at);
    const maxAgeMs = (plan.limits?.maxAgeSeconds ?? defaultRuleLimits.maxAgeSeconds) * 1_000;
    const send = {
      ...plan,
      limits: plan.limits ?? {},
      // Quiet hours don't age a reply.
      expiresAt: new Date(Math.max(plan.trigger.at.getTime(), at.getTime()) + maxAgeMs),
      plannedAt: plan.trigger.at,
      approvedAt: null,
    };
    // The service can't be asked about the past.
    const verdict = judge(send, inputs, inputs.wasBlocked, limits);
    if (verdict.kind === 'expire') return { kind: 'denied', reason: 'gate:too_old' };
    if (verdict.kind === 'deny' || verdict.kind === 'wait') return { kind: 'denied', reason: verdict.reason };
    const segments = maxSegments(plan.text);
    const price = inputs.highestUnitMicros;
    const { micros, worstMicros } = costOf(segments, price, limits);
    // Until a price is known, the ledger charges the maximum.
    const heldUntil = verdict.kind === 'hold' ? verdict.until : undefined;
    const usedUp = takeBudget(plan, heldUntil ?? at, {
      reserved: worstMicros,
      charged: price > 0 ? segments * price : micros,
    });
    return usedUp === undefined
      ? { kind: 'sent', segments, micros, heldUntil }
      : { kind: 'denied', reason: `gate:budget_${usedUp}` };
  };
}

/**
 * The budgets of simulated days (UTC), starting with what the ledger really sent on each day before a moment. The
 * function takes a send's part of its day, or returns the budget that is used up: it checks `reserved` and books
 * `charged`.
 */
async function openBudgets(tx: Transaction, limits: AccountLimits, from: Date) {
  const spent = new Map<string, number>();

  const used = (day: string, scope: string) => spent.get(`${day} ${scope}`) ?? 0;
  function add(thread: Pair, day: string, micros: number): void {
    spent.set(`${day} money`, used(day, 'money') + micros);
    for (const { scope } of scopesOf(thread)) spent.set(`${day} ${scope}`, used(day, scope) + 1);
  }

  const before = await query<Pair & { day: string; micros: number }>(
    tx,
    sql`
      select line, number, budget_date::text as day, coalesce(settled_micros, reserved_micros)::float8 as micros
      from ops.sends
      where budget_date >= (${from}::timestamptz at time zone 'UTC')::date and dispatched_at < ${from}
        and state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN', 'SENT')`,
  );
  for (const sent of before) add(sent, sent.day, sent.micros);

  return (thread: Pair, at: Date, micros: { reserved: number; charged: number }): BudgetName | undefined => {
    const day = at.toISOString().slice(0, 10);
    const full = scopesOf(thread).find(({ scope, limit }) => used(day, scope) >= limits[limit]);
    if (full) return full.name;
    if (used(day, 'money') + micros.reserved > limits.dailyMicros) return 'money';
    add(thread, day, micros.charged);
    return undefined;
  };
}
