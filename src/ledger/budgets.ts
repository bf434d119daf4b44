import { hotQuery, type Transaction } from '../warehouse/database.ts';
import type { AccountLimits } from './limits.ts';
import type { Send } from './send.ts';

/*
 * Micro-dollars are whole numbers. A send counts in three scopes, which are locked in the order of their names by
 * everybody. What is reserved is the worst case, so that the day's cap holds whatever the answer says.
 */

type Thread = Pick<Send, 'line' | 'number'>;

/** Which budget is used up. */
export type UsedUp = 'thread' | 'line' | 'account' | 'money';

function scopesOf({ line, number }: Thread): string[] {
  return ['account', `line/${line}`, `thread/${line}/${number}`];
}

/** Reserves for one send on the day that it is (UTC), or says which budget does not allow it. */
export async function reserve(
  tx: Transaction,
  thread: Thread,
  micros: number,
  limits: Pick<AccountLimits, 'perThread' | 'perLine' | 'perAccount' | 'dailyMicros'>,
): Promise<{ budgetDate: string } | { usedUp: UsedUp }> {
  const scopes = scopesOf(thread);
  await hotQuery(
    tx,
    `insert into ops.send_budgets (scope, budget_date)
     select scope, (now() at time zone 'UTC')::date from unnest($1::text[]) scope order by 1 on conflict do nothing`,
    [scopes],
  );
  const held = await hotQuery<{ scope: string; day: string; sends: number; micros: number }>(
    tx,
    `select scope, budget_date::text as day, sends_count as sends, (reserved_micros + spent_micros)::float8 as micros
     from ops.send_budgets where scope = any($1) and budget_date = (now() at time zone 'UTC')::date
     order by scope for update`,
    [scopes],
  );
  const caps = [limits.perAccount, limits.perLine, limits.perThread];
  const names = ['account', 'line', 'thread'] as const;
  const full = held.findIndex(({ sends }, at) => sends >= (caps[at] ?? 0));
  if (full >= 0) return { usedUp: names[full] ?? 'account' };
  const [account] = held;
  if (!account || account.micros + micros > limits.dailyMicros) return { usedUp: 'money' };
  await change(tx, scopes, account.day, { sends: 1, reserved: micros, spent: 0 });
  return { budgetDate: account.day };
}

/** Whether a send would be within the budgets now; reserves nothing. */
export async function wouldFit(
  tx: Transaction,
  thread: Thread,
  micros: number,
  limits: Parameters<typeof reserve>[3],
): Promise<UsedUp | undefined> {
  const scopes = scopesOf(thread);
  const caps = [limits.perAccount, limits.perLine, limits.perThread];
  const [row] = await hotQuery<{ used_up: UsedUp | null }>(
    tx,
    `select (array_agg(case when sends >= cap then split_part(scope, '/', 1) else 'money' end order by scope))[1] as used_up
     from (
       select c.scope, c.cap, coalesce(b.sends_count, 0) as sends, coalesce(b.reserved_micros + b.spent_micros, 0) as micros
       from unnest($1::text[], $2::integer[]) as c (scope, cap)
       left join ops.send_budgets b on b.scope = c.scope and b.budget_date = (now() at time zone 'UTC')::date
     ) today
     where sends >= cap or (scope = 'account' and micros + $3::bigint > $4::bigint)`,
    [scopes, caps, micros, limits.dailyMicros],
  );
  return row?.used_up ?? undefined;
}

/** Gives back what was reserved for a send that did not go out. */
export function release(tx: Transaction, send: Send): Promise<void> {
  return change(tx, scopesOf(send), send.budgetDate, { sends: -1, reserved: -send.reservedMicros, spent: 0 });
}

/** Turns what was reserved into what was charged. */
export function spend(tx: Transaction, send: Send, micros: number): Promise<void> {
  return change(tx, scopesOf(send), send.budgetDate, { sends: 0, reserved: -send.reservedMicros, spent: micros });
}

async function change(
  tx: Transaction,
  scopes: readonly string[],
  day: string | null,
  by: { sends: number; reserved: number; spent: number },
): Promise<void> {
  if (day === null) return;
  await hotQuery(
    tx,
    `with held as (
       select scope, budget_date from ops.send_budgets where scope = any($1) and budget_date = $2 order by scope for update
     )
     update ops.send_budgets b set sends_count = sends_count + $3, reserved_micros = reserved_micros + $4,
       spent_micros = spent_micros + $5
     from held where b.scope = held.scope and b.budget_date = held.budget_date`,
    [scopes, day, by.sends, by.reserved, by.spent],
  );
}
