import { hotQuery, type Transaction } from '../warehouse/database.ts';
import type { AccountLimits } from './limits.ts';
import type { Send } from './send.ts';

/*
 * Micro-dollars are whole numbers. A send counts in three scopes, which are locked in the order of their names by
 * everybody. What is reserved is the worst case at the highest price that was ever charged; a price that rises shows only in
 * the answer to a request. So the first send of a day goes alone, and as many may be under way together as the cap would bear
 * if each cost ten times what is reserved, one at the least.
 */

const mostPriceRise = 10;

type Thread = Pick<Send, 'line' | 'number'>;

/** Which budget is used up. */
export type UsedUp = 'thread' | 'line' | 'account' | 'money';

function scopesOf({ line, number }: Thread): string[] {
  return ['account', `line/${line}`, `thread/${line}/${number}`];
}

export type Reservation =
  | { readonly budgetDate: string; readonly micros: number }
  /**
   * Which budget does not allow it; `isForGood` unless sends that are under way, or looked for, may still give back their part.
   * One that waits for a person counts as spent.
   */
  | { readonly usedUp: UsedUp; readonly isForGood: boolean };

type Limits = Pick<AccountLimits, 'perThread' | 'perLine' | 'perAccount' | 'dailyMicros' | 'unitMicros'>;

/** Reserves for one send of so many segments on the day that it is (UTC), or says which budget does not allow it. */
export async function reserve(tx: Transaction, thread: Thread, units: number, limits: Limits): Promise<Reservation> {
  const scopes = scopesOf(thread);
  await hotQuery(
    tx,
    `insert into ops.send_budgets (scope, budget_date)
     select scope, (now() at time zone 'UTC')::date from unnest($1::text[]) scope order by 1 on conflict do nothing`,
    [scopes],
  );
  const held = await hotQuery<{ scope: string; day: string; sends: number; reserved: number; spent: number }>(
    tx,
    `select scope, budget_date::text as day, sends_count as sends, reserved_micros::float8 as reserved, spent_micros::float8 as spent
     from ops.send_budgets where scope = any($1) and budget_date = (now() at time zone 'UTC')::date
     order by scope for update`,
    [scopes],
  );
  const caps = [limits.perAccount, limits.perLine, limits.perThread];
  const names = ['account', 'line', 'thread'] as const;
  const [account] = held;
  if (!account) throw new Error('the budget of the account has no row');
  // Other sends change all of this before they give the lock on the account away.
  const { price, inFlight, uncertain, uncertainMicros } = await underWay(tx, account.day, thread);
  const full = held.findIndex(({ sends }, at) => sends >= (caps[at] ?? 0));
  if (full >= 0) {
    const name = names[full] ?? 'account';
    return { usedUp: name, isForGood: (held[full]?.sends ?? 0) - uncertain[name] >= (caps[full] ?? 0) };
  }
  const micros = units * Math.max(limits.unitMicros, price);
  const { spent, reserved } = account;
  if (spent + reserved - uncertainMicros + micros > limits.dailyMicros) return { usedUp: 'money', isForGood: true };
  const isAlone = inFlight.count === 0;
  const left = limits.dailyMicros - spent - (reserved - inFlight.micros);
  const isBorne = spent > 0 && (inFlight.micros + micros) * mostPriceRise <= left;
  if (spent + reserved + micros > limits.dailyMicros || !(isAlone || isBorne)) {
    return { usedUp: 'money', isForGood: false };
  }
  await change(tx, scopes, account.day, { sends: 1, reserved: micros, spent: 0 });
  return { budgetDate: account.day, micros };
}

interface UnderWay {
  /** Micro-dollars: the highest price of a segment that was ever charged. */
  readonly price: number;
  /** Sends of the day whose request is under way or about to be. */
  readonly inFlight: { readonly count: number; readonly micros: number };
  /** Sends of the day that count and may soon turn out not to have been sent, by scope, and what they have reserved. */
  readonly uncertain: Readonly<Record<'account' | 'line' | 'thread', number>>;
  readonly uncertainMicros: number;
}

async function underWay(tx: Transaction, day: string, { line, number }: Thread): Promise<UnderWay> {
  const [row] = await hotQuery<UnderWay>(
    tx,
    `with open as (
       select line, number, reserved_micros, state in ('RESERVED', 'DISPATCHED') as is_in_flight from ops.sends
       where budget_date = $1 and reserved_micros > 0 and state not in ('SENT', 'NEEDS_HUMAN')
     )
     select (select highest_unit_micros::float8 from ops.send_control) as price,
       jsonb_build_object('count', count(*) filter (where is_in_flight),
         'micros', coalesce(sum(reserved_micros) filter (where is_in_flight), 0)) as "inFlight",
       jsonb_build_object('account', count(*), 'line', count(*) filter (where line = $2),
         'thread', count(*) filter (where line = $2 and number = $3)) as uncertain,
       coalesce(sum(reserved_micros), 0)::float8 as "uncertainMicros"
     from open`,
    [day, line, number],
  );
  if (!row) throw new Error('the sends under way came without a row');
  return row;
}

/** Whether a send would be within the budgets now; reserves nothing. */
export async function wouldFit(
  tx: Transaction,
  thread: Thread,
  micros: number,
  limits: Limits,
): Promise<UsedUp | undefined> {
  const scopes = scopesOf(thread);
  const caps = [limits.perAccount, limits.perLine, limits.perThread];
  const [row] = await hotQuery<{ used_up: UsedUp | null }>(
    tx,
    `select (array_agg(case when sends >= cap then split_part(scope, '/', 1) else 'money' end order by scope))[1] as used_up
     from (
       select c.scope, c.cap, coalesce(b.sends_count, 0) as sends, coalesce(b.spent_micros, 0) as micros
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
