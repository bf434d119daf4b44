import { SegmentedMessage } from 'sms-segments-calculator';
import { hotQuery, relation, sql, type Transaction } from '../db/database.ts';
import type { Pair } from '../shared/thread.ts';
import { highestUnit } from './control.ts';
import type { AccountLimits } from './limits.ts';
import type { Send } from './send.ts';

/*
 * Amounts are whole micro-dollars. A send counts in two scopes (account, thread), and every transaction locks them
 * ordered by name. A reservation is the worst case: the maximum number of segments at the highest price of the last
 * day, at least {@link AccountLimits.unitMicros}. Only the answer to a send shows a higher price, so three things limit
 * surprises: the first send of a day is dispatched alone, each send has to be affordable at ten times that price, and
 * later at most as many run at once as the daily budget could pay if each cost ten times its reservation (but at least
 * one).
 */

const maxPriceRise = 10;

/** The name of a budget, as used in refusals and reports. */
export type BudgetName = 'thread' | 'account' | 'money';

type Limits = Pick<AccountLimits, 'perThread' | 'perAccount' | 'dailyMicros' | 'unitMicros'>;

/** The scopes a send counts in, with the limit of each, in lock order. */
export function scopesOf({ line, number }: Pair) {
  return [
    { name: 'account', scope: 'account', limit: 'perAccount' },
    { name: 'thread', scope: `thread/${line}/${number}`, limit: 'perThread' },
  ] as const;
}

export type Reservation =
  | { readonly budgetDate: string; readonly micros: number }
  /** `isFinal` is false while an unfinished or UNKNOWN send may still release budget. NEEDS_HUMAN counts as spent. */
  | { readonly usedUp: BudgetName; readonly isFinal: boolean };

const today = sql`(now() at time zone 'UTC')::date`;

/** Reserves today's (UTC) budget for a send of so many segments, or returns the budget that is used up. */
export async function reserveBudget(
  tx: Transaction,
  thread: Pair,
  units: number,
  limits: Limits,
): Promise<Reservation> {
  const scopes = scopesOf(thread);
  await openBudgets(tx, thread);
  const rows = await hotQuery(
    tx,
    sql<{ scope: string; day: string; sends: number; reserved: number; spent: number }>`
      select scope, budget_date::text as day, sends_count as sends, reserved_micros::float8 as reserved,
        spent_micros::float8 as spent
      from ops.send_budgets where scope = any(${scopes.map(({ scope }) => scope)}) and budget_date = ${today}
      order by scope for update`,
  );
  const [account] = rows;
  if (!account) throw new Error('the budget of the account has no row');
  const { day, spent, reserved } = account;
  // Every transaction that changes these figures holds the account's lock until it commits.
  const { price, inFlight, uncertain, uncertainMicros } = await readInProgress(tx, day, thread);
  for (const [at, { name, limit }] of scopes.entries()) {
    const cap = limits[limit];
    const sends = rows[at]?.sends ?? 0;
    if (sends >= cap) return { usedUp: name, isFinal: sends - uncertain[name] >= cap };
  }
  const { micros, worstMicros } = costOf(units, price, limits);
  if (spent + reserved - uncertainMicros + worstMicros > limits.dailyMicros) return { usedUp: 'money', isFinal: true };
  const left = limits.dailyMicros - spent - (reserved - inFlight.micros);
  const isAffordable = spent > 0 && (inFlight.micros + micros) * maxPriceRise <= left;
  if (spent + reserved + worstMicros > limits.dailyMicros || (inFlight.count > 0 && !isAffordable)) {
    return { usedUp: 'money', isFinal: false };
  }
  await changeBudgets(tx, thread, day, { sends: 1, reserved: micros, spent: 0 });
  return { budgetDate: day, micros };
}

/** Micro-dollars that a text reserves, and micro-dollars that must be left for it, at a {@link highestUnit}. */
export function costOf(units: number, price: number, { unitMicros }: Pick<Limits, 'unitMicros'>) {
  return {
    micros: units * Math.max(unitMicros, price),
    worstMicros: units * Math.max(unitMicros, price * maxPriceRise),
  };
}

interface InProgress {
  /** Micro-dollars: {@link highestUnit}. */
  readonly price: number;
  /** RESERVED and DISPATCHED sends of the day. */
  readonly inFlight: { readonly count: number; readonly micros: number };
  /** Today's sends that may turn out not to have been sent, by scope, and the amount they have reserved. */
  readonly uncertain: Readonly<Record<'account' | 'thread', number>>;
  readonly uncertainMicros: number;
}

async function readInProgress(tx: Transaction, day: string, { line, number }: Pair): Promise<InProgress> {
  const [row] = await hotQuery(
    tx,
    sql<InProgress>`with open as (
        select line, number, reserved_micros, state in ('RESERVED', 'DISPATCHED') as is_in_flight from ops.sends
        where budget_date = ${day} and reserved_micros > 0 and state not in ('SENT', 'NEEDS_HUMAN')
      )
      select ${highestUnit} as price,
        jsonb_build_object('count', count(*) filter (where is_in_flight),
          'micros', coalesce(sum(reserved_micros) filter (where is_in_flight), 0)) as "inFlight",
        jsonb_build_object('account', count(*), 'thread', count(*) filter (where line = ${line} and number = ${number})) as uncertain,
        coalesce(sum(reserved_micros), 0)::float8 as "uncertainMicros"
      from open`,
  );
  if (!row) throw new Error('the sends in progress came without a row');
  return row;
}

/** Returns the budget that would refuse a send now. Reserves nothing, and ignores reservations of other sends. */
export async function checkBudgets(
  tx: Transaction,
  thread: Pair,
  micros: number,
  limits: Limits,
): Promise<BudgetName | undefined> {
  const scopes = relation('c', scopesOf(thread), {
    scope: 'text',
    name: 'text',
    cap: ['integer', ({ limit }) => limits[limit]],
  });
  const [row] = await hotQuery(
    tx,
    sql<{ used_up: BudgetName | null }>`
      select (array_agg(case when sends >= cap then name else 'money' end order by scope))[1] as used_up
      from (
        select c.scope, c.name, c.cap, coalesce(b.sends_count, 0) as sends, coalesce(b.spent_micros, 0) as micros
        from ${scopes} left join ops.send_budgets b on b.scope = c.scope and b.budget_date = ${today}
      ) today
      where sends >= cap or (scope = 'account' and micros + ${micros}::bigint > ${limits.dailyMicros}::bigint)`,
  );
  return row?.used_up ?? undefined;
}

/** Adds missing rows of today's budgets. */
async function openBudgets(tx: Transaction, thread: Pair): Promise<void> {
  const scopes = relation('s', scopesOf(thread), { scope: 'text' });
  await hotQuery(
    tx,
    sql`insert into ops.send_budgets (scope, budget_date)
      select scope, ${today} from ${scopes} order by 1 on conflict do nothing`,
  );
}

/** Releases the reservation of a send that wasn't sent. */
export function releaseBudget(tx: Transaction, send: Send): Promise<void> {
  return changeBudgets(tx, send, send.budgetDate, { sends: -1, reserved: -send.reservedMicros, spent: 0 });
}

/** Replaces the reservation of a send by its actual cost. */
export function chargeBudget(tx: Transaction, send: Send, micros: number): Promise<void> {
  return changeBudgets(tx, send, send.budgetDate, { sends: 0, reserved: -send.reservedMicros, spent: micros });
}

/** Counts a send whose budget was released, but which was sent after all. */
export function bookBudget(tx: Transaction, send: Send, micros: number): Promise<void> {
  return changeBudgets(tx, send, send.budgetDate, { sends: 1, reserved: 0, spent: micros });
}

async function changeBudgets(
  tx: Transaction,
  thread: Pair,
  day: string | null,
  by: { sends: number; reserved: number; spent: number },
): Promise<void> {
  if (day === null) return;
  const scopes = scopesOf(thread).map(({ scope }) => scope);
  await hotQuery(
    tx,
    sql`with held as (
        select scope, budget_date from ops.send_budgets where scope = any(${scopes}) and budget_date = ${day}
        order by scope for update
      )
      update ops.send_budgets b set sends_count = sends_count + ${by.sends},
        reserved_micros = reserved_micros + ${by.reserved}, spent_micros = spent_micros + ${by.spent}
      from held where b.scope = held.scope and b.budget_date = held.budget_date`,
  );
}

/**
 * The characters of a text that aren't in the GSM alphabet: any of them shortens a segment from 160 characters to 70.
 */
export function outsideGsm(text: string): string[] {
  return [...new Set(text)].filter((each) => new SegmentedMessage(each, 'auto', false).encodingName !== 'GSM-7');
}

/**
 * The maximum number of segments that a text can be billed as (section 2.4). The specification and the GSM alphabet
 * differ on vowels with an acute accent: the more expensive interpretation counts. Every segment but the last is
 * assumed to waste one unit, because a two-unit character may not fit.
 */
export function maxSegments(text: string): number {
  if (text === '') return 0;
  const counted = new SegmentedMessage(text, 'auto', false);
  const isGsm7 = counted.encodingName === 'GSM-7';
  const units = isGsm7 ? text.length + (text.match(/[[\]{}\\^~|€\f]/g)?.length ?? 0) : text.length;
  const single = isGsm7 ? 160 : 70;
  const split = isGsm7 ? 152 : 66;
  return Math.max(counted.segmentsCount, units <= single ? 1 : Math.ceil(units / split));
}
