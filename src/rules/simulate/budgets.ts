import type { UsedUp } from '../../ledger/budgets.ts';
import type { AccountLimits } from '../../ledger/limits.ts';
import type { SendPlan } from '../../ledger/send.ts';
import { query, type Transaction } from '../../warehouse/database.ts';

/** The budgets of simulated days (UTC). */
export interface SimulatedBudgets {
  /** Takes a send's part of its day, or says which budget is used up. It needs what is reserved, and uses what is charged. */
  take(
    plan: Pick<SendPlan, 'line' | 'number' | 'limits'>,
    at: Date,
    micros: { readonly reserved: number; readonly charged: number },
  ): UsedUp | undefined;
}

/** Opens them with what the ledger really sent before a moment, and on its day: that money was gone. */
export async function openBudgets(tx: Transaction, limits: AccountLimits, from: Date): Promise<SimulatedBudgets> {
  const spent = new Map<string, number>();

  function add({ line, number }: Pick<SendPlan, 'line' | 'number'>, day: string, micros: number): void {
    const counts = [
      ['money', micros],
      ['account', 1],
      [`line/${line}`, 1],
      [`thread/${line}/${number}`, 1],
    ] as const;
    for (const [scope, count] of counts) {
      spent.set(`${day} ${scope}`, (spent.get(`${day} ${scope}`) ?? 0) + count);
    }
  }

  for (const { line, number, day, micros } of await sentBefore(tx, from)) add({ line, number }, day, micros);

  return {
    take(plan, at, micros) {
      const day = at.toISOString().slice(0, 10);
      const held = (scope: string) => spent.get(`${day} ${scope}`) ?? 0;
      const perThread = Math.min(limits.perThread, plan.limits?.perThread ?? limits.perThread);
      if (held('account') >= limits.perAccount) return 'account';
      if (held(`line/${plan.line}`) >= limits.perLine) return 'line';
      if (held(`thread/${plan.line}/${plan.number}`) >= perThread) return 'thread';
      if (held('money') + micros.reserved > limits.dailyMicros) return 'money';
      add(plan, day, micros.charged);
      return undefined;
    },
  };
}

function sentBefore(tx: Transaction, from: Date) {
  return query<{ line: string; number: string; day: string; micros: number }>(
    tx,
    `select line, number, budget_date::text as day, coalesce(settled_micros, reserved_micros)::float8 as micros
     from ops.sends
     where budget_date >= ($1::timestamptz at time zone 'UTC')::date and dispatched_at < $1
       and state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN', 'SENT')`,
    [from],
  );
}
