import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { checkBudgets, costOf, maxSegments, reserveBudget } from '../../src/ledger/budgets.ts';
import { type AccountLimits, accountLimits, defaultAccountLimits } from '../../src/ledger/limits.ts';
import { countSegments } from '../../src/sandbox/sending/billing.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
beforeEach(async () => {
  await query('truncate ops.sends, ops.send_budgets');
  await query('update ops.send_control set highest_unit_micros = 0');
});

const thread = { line: '15550000001', number: '15550000002' };
const dollar = 1_000_000;

/** Today's books, amounts in micro-dollars. */
interface Books {
  readonly sends?: number;
  readonly inThread?: number;
  readonly spent?: number;
  /** Sends that are not settled, of this thread or of others, as in `5 RESERVED`; each has reserved 50,000. */
  readonly open?: string;
  readonly openInThread?: string;
  /** The highest price of a segment, and how many hours ago it was charged. */
  readonly price?: number;
  readonly hoursAgo?: number;
  readonly units?: number;
  readonly limits?: Partial<AccountLimits>;
}

const today = `(now() at time zone 'UTC')::date`;

async function write({
  sends = 1,
  inThread = 0,
  spent = 0,
  open = '',
  openInThread = '',
  price = 0,
  hoursAgo = 1,
}: Books) {
  const number = { others: open, own: openInThread };
  for (const [whose, sends] of Object.entries(number)) {
    const [count = 0, state = ''] = sends.split(' ');
    await query(
      `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, expires_at, state, search_count, reserved_micros, budget_date)
       select 'r' || n, $1, case $2 when 'own' then $3 else 'n' || n end, 'message', n, now(), 'live', now(), $4, 3, 50000, ${today}
       from generate_series(1, $5::int) n`,
      ...[thread.line, whose, thread.number, state, Number(count)],
    );
  }
  await query(
    `insert into ops.send_budgets (scope, budget_date, sends_count, reserved_micros, spent_micros)
     select 'account', ${today}, $1::int, (select coalesce(sum(reserved_micros), 0) from ops.sends), $2::bigint
     union all select $3, ${today}, $4::int, 0, 0 union all select 'account', ${today} - 1, 99999, 0, 99999999999`,
    ...[sends, spent, `thread/${thread.line}/${thread.number}`, inThread],
  );
  await query(
    `update ops.send_control set highest_unit_micros = $1, highest_unit_at = now() - $2 * interval '1 hour'`,
    ...[price, hoursAgo],
  );
}

async function reserveAfter(books: Books): Promise<string> {
  await write(books);
  const limits = accountLimits(books.limits);
  const reserved = await db.transaction().execute((tx) => reserveBudget(tx, thread, books.units ?? 1, limits));
  if ('usedUp' in reserved) return `${reserved.usedUp} ${reserved.isFinal ? 'is used up' : 'waits'}`;
  const account = `select sends_count, reserved_micros::int from ops.send_budgets where scope = 'account' and budget_date = ${today}`;
  const held = Number(await value('select coalesce(sum(reserved_micros), 0) from ops.sends'));
  expect(await query(account)).toEqual([
    { sends_count: (books.sends ?? 1) + 1, reserved_micros: held + reserved.micros },
  ]);
  return String(reserved.micros);
}

/* By default three texts to a thread, 2,000 in all, and $5, of which a segment takes five cents unless it was dearer within a day. */

test.each<[reserved: string, what: string, books: Books]>([
  ['50000', 'the first text of a day', {}],
  ['150000', 'three segments', { units: 3 }],
  ['70000', 'a higher price of today', { price: 70_000 }],
  ['50000', 'a lower price of today', { price: 30_000 }],
  ['70000', 'a price of not quite a day ago', { price: 70_000, hoursAgo: 23.9 }],
  ['50000', 'a price of a day ago', { price: 70_000, hoursAgo: 24 }],
  ['50000', 'the third text of a thread', { inThread: 2 }],
  ['thread is used up', 'the fourth', { inThread: 3 }],
  ['thread waits', 'the fourth, while one may turn out unsent', { inThread: 3, openInThread: '1 UNKNOWN' }],
  ['thread is used up', 'the fifth, while one may turn out unsent', { inThread: 4, openInThread: '1 UNKNOWN' }],
  ['thread is used up', 'the fourth, while one of others may', { inThread: 3, open: '1 UNKNOWN' }],
  ['thread is used up', 'the fourth, while a person decides on one', { inThread: 3, openInThread: '1 NEEDS_HUMAN' }],
  ['50000', 'the last of all', { sends: 1_999 }],
  ['account is used up', 'one more', { sends: 2_000 }],
  ['account waits', 'one more, while another is on its way', { sends: 2_000, open: '1 RESERVED' }],
  ['account is used up', 'the account before the thread', { sends: 2_000, inThread: 3 }],
  ['50000', 'the last cents', { spent: 4_950_000 }],
  ['money is used up', 'a micro-dollar less', { spent: 4_950_001 }],
  ['50000', 'a price of which ten times is left', { price: 40_000, spent: 4_600_000 }],
  ['money is used up', 'a price of which not ten times is left', { price: 40_000, spent: 4_600_001 }],
  ['money waits', 'the first of a day is on its way', { open: '1 RESERVED' }],
  ['money waits', 'the first of a day may have left', { open: '1 DISPATCHED' }],
  ['50000', 'the first of a day is unknown', { open: '1 UNKNOWN' }],
  ['50000', 'eight on their way, at ten times the price', { spent: 10_000, open: '8 RESERVED' }],
  ['money waits', 'nine on their way, at ten times the price', { spent: 10_000, open: '9 RESERVED' }],
  ['money waits', 'what is unknown takes the rest', { spent: 4_900_000, open: '2 UNKNOWN' }],
  ['money is used up', 'what a person decides on takes the rest', { spent: 4_960_000, open: '2 NEEDS_HUMAN' }],
  [
    'money is used up',
    'a rise that is dearer than the day',
    { price: 11 * dollar, limits: { dailyMicros: 30 * dollar } },
  ],
])('%s: %s', async (reserved, _, books) => {
  expect(await reserveAfter(books)).toBe(reserved);
});

test.each<[usedUp: string | undefined, what: string, books: Books]>([
  [undefined, 'nothing is spent', {}],
  ['thread', 'three texts to the thread', { inThread: 3 }],
  ['account', 'the texts of a day', { sends: 2_000, inThread: 3 }],
  [undefined, 'the last cents', { spent: 4_950_000 }],
  ['money', 'a micro-dollar less', { spent: 4_950_001 }],
  [undefined, 'what others have only reserved', { spent: 4_900_000, open: '99 RESERVED' }],
])('a trial finds used up: %s, by %s', async (usedUp, _, books) => {
  await write(books);
  const { worstMicros } = costOf(1, 0, defaultAccountLimits);
  expect(await db.transaction().execute((tx) => checkBudgets(tx, thread, worstMicros, defaultAccountLimits))).toBe(
    usedUp,
  );
});

test('no limit can be switched off, whatever stands in its place', () => {
  for (const value of [Number.POSITIVE_INFINITY, Number.NaN, -1, 1.5, null, undefined, '9']) {
    const given = { perThread: value, perAccount: value, dailyMicros: value, unitMicros: value } as never;
    expect(accountLimits(given)).toEqual(defaultAccountLimits);
  }
  expect(accountLimits({ perThread: 1e9, perAccount: 1e9, dailyMicros: 1e12, unitMicros: 1e9 })).toEqual({
    ...{ perThread: 10, perAccount: 50_000, dailyMicros: 1_000 * dollar, unitMicros: 10 * dollar },
  });
  expect(accountLimits({ unitMicros: 0 }).unitMicros, 'no text is free').toBe(1);
});

const characters = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...'abc XYZ 019 .,!?\n'.split('')) },
  { weight: 2, arbitrary: fc.constantFrom(...'[]{}\\^~|€éèùìòáíóúàçÇñÑΔΦ¿'.split('')) },
  { weight: 1, arbitrary: fc.constantFrom('😀', '👨‍👩‍👧', '“', '—', 'ש', 'é', '`', '\f', '\u0000') },
);

test.each([
  ['whatever it is made of', fc.array(characters, { maxLength: 700 }), 2_000],
  ['at the ends of segments', fc.array(fc.constantFrom(...'abc [€'), { minLength: 140, maxLength: 700 }), 1_000],
])('a text is never billed as more segments than we count, %s', (_, texts, numRuns) => {
  const isEnough = (text: string) => maxSegments(text) >= countSegments(text).segments;
  fc.assert(
    fc.property(texts, (parts) => isEnough(parts.join(''))),
    { numRuns },
  );
});

test.each([
  ['plain text of one segment', 'a'.repeat(160), 1],
  ['one character more', 'a'.repeat(161), 2],
  ['acute vowels, by the real alphabet', 'á'.repeat(71), 2],
  ['Hebrew of one segment', 'ש'.repeat(70), 1],
  ['nothing', '', 0],
])('%s', (_, text, segments) => {
  expect(maxSegments(text)).toBe(segments);
});
