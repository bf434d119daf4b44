import { setTimeout as sleep } from 'node:timers/promises';
import { queueNames } from '../../config/queues.ts';
import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import type { Queues } from '../queues/queues.ts';
import { UserError } from '../shared/errors.ts';
import type { Removed } from '../warehouse/erasure/erased-calls.ts';
import { spellingsOf, typedNumber } from '../warehouse/phone-numbers.ts';
import {
  eraseInbox,
  eraseNumbered,
  eraseParty,
  eraseSends,
  eraseTexts,
  findCalls,
  preserveOptOuts,
} from './erase-rows.ts';

/*
 * The steps of an erasure:
 *
 *   commit the hash ─▶ wait for transactions that may not know it ─▶ erase all rows ─▶ wait until every receiver knows the hash
 *   ─▶ erase from the inbox and the queues again
 *
 * An interrupted erasure is repeated from the first step.
 */

interface ErasureDeps {
  readonly db: Database;
  readonly queues: Pick<Queues, 'forget'>;
  /** Milliseconds after which every receiver has enqueued what it stored before the erasure. */
  readonly knownAfterMs?: number;
}

/** What an erasure removed, or would remove: rows by table, and jobs as `queues`. Leaves out tables without any. */
export interface Erasure {
  /** Only the last four digits. */
  readonly number: string;
  readonly removed: Removed;
}

/** A queue gets two seconds to accept a job. */
const defaultKnownAfterMs = 3_000;

/** Counts what {@link eraseNumber} would remove, and removes nothing. Rejects with `NotErasable` for an own number. */
export async function previewErasure(db: Database, number: string): Promise<Erasure> {
  await refuseOwnNumber(db, number);
  let removed: Removed = {};
  const rollback = new Error('the erasure was only counted');
  await inTransaction(db, async (tx) => {
    removed = await eraseRows(tx, number);
    throw rollback;
  }).catch((error: unknown) => {
    if (error !== rollback) throw error;
  });
  return { number: lastDigits(number), removed };
}

/**
 * Removes a person, by normalised number, from all tables and queues, and keeps them out from now on. Deletes their
 * threads, groups included, but keeps opt-outs of other members. Calls stay without the person. Safe to repeat. Rejects
 * with `NotErasable`, and with `QueueUnavailable` if only the queues can't be reached.
 */
export async function eraseNumber(deps: ErasureDeps, number: string): Promise<Erasure> {
  const { db, queues, knownAfterMs = defaultKnownAfterMs } = deps;
  await refuseOwnNumber(db, number);
  await storeHash(db, number);
  await waitForWriters(db);
  const purged = await inTransaction(db, async (tx) => {
    await preserveOptOuts(tx, spellingsOf(number));
    return eraseRows(tx, number);
  });
  await storeCounts(db, number, purged);
  const forgotten = await forgetJobs(queues, number);
  await sleep(knownAfterMs);
  await waitForDeliveries(db);
  const late = await inTransaction(db, (tx) => eraseInbox(tx, spellingsOf(number), []));
  const forgottenLate = await forgetJobs(queues, number);
  const afterwards = sum([late, { queues: forgotten + forgottenLate }]);
  await storeCounts(db, number, afterwards);
  return { number: lastDigits(number), removed: sum([purged, afterwards]) };
}

async function eraseRows(tx: Transaction, number: string): Promise<Removed> {
  const spellings = spellingsOf(number);
  const calls = await findCalls(tx, spellings);
  return sum([
    await eraseInbox(tx, spellings, calls),
    await eraseTexts(tx, spellings),
    await eraseParty(tx, spellings, calls),
    await eraseNumbered(tx, spellings),
    await eraseSends(tx, spellings),
  ]);
}

/** Serialized: a receiver loads only erasures with a higher id than its newest, so ids must commit in order. */
async function storeHash(db: Database, number: string): Promise<void> {
  const otherSpellings = spellingsOf(number).filter((spelling) => spelling !== number);
  await inTransaction(db, async (tx) => {
    await query(tx, sql`lock table ops.erasures in share row exclusive mode`);
    await query(
      tx,
      sql`insert into ops.erasures (number_hash, spelling_hashes)
       values (ops.erasure_hash(${number}), array(select ops.erasure_hash(s) from unnest(${otherSpellings}::text[]) s))
       on conflict (number_hash) do nothing`,
    );
  });
}

/** Waits for the transactions that write to the mirror and may not know the new hash. */
async function waitForWriters(db: Database): Promise<void> {
  await inTransaction(db, (tx) => query(tx, sql`lock table ops.erasures in exclusive mode`));
}

/** Waits for the transactions that are storing deliveries. */
async function waitForDeliveries(db: Database): Promise<void> {
  await inTransaction(db, (tx) => query(tx, sql`lock table ops.deliveries in share mode`));
}

async function forgetJobs(queues: ErasureDeps['queues'], number: string): Promise<number> {
  const spellings = new Set(spellingsOf(number));
  const counts: number[] = [];
  for (const name of queueNames) {
    const isOfNumber = (key: string) => key.split(/[/,]/).some((each) => spellings.has(each));
    counts.push(await queues.forget(name, ({ kind, key }) => kind === 'thread' && isOfNumber(key)));
  }
  return counts.reduce((total, count) => total + count, 0);
}

async function storeCounts(db: Database, number: string, removed: Removed): Promise<void> {
  await query(
    db,
    sql`update ops.erasures e set removed = (
       select coalesce(jsonb_object_agg(place, count), '{}')
       from (select place, sum(count::bigint) as count from (
         select * from jsonb_each_text(e.removed) union all select * from jsonb_each_text(${JSON.stringify(removed)}::jsonb)) as b (place, count)
       group by place) s)
     where number_hash = ops.erasure_hash(${number})`,
  );
}

function sum(counts: readonly Removed[]): Removed {
  const total: Record<string, number> = {};
  for (const [place, count] of counts.flatMap((each) => Object.entries(each))) {
    if (count > 0) total[place] = (total[place] ?? 0) + count;
  }
  return total;
}

function lastDigits(number: string): string {
  return `…${number.slice(-4)}`;
}

/** The number can't be erased. */
export class NotErasable extends UserError {
  override readonly exitCode = 2;
}

/** Normalises a typed number. Throws `NotErasable` when it is no phone number. */
export function erasableNumber(text: string): string {
  const typed = typedNumber(text, { orUnassigned: true });
  if ('problem' in typed) throw new NotErasable(`This is ${typed.problem}.`);
  return typed.number;
}

/** Rejects with `NotErasable` for a number of the account: most rows contain it, and it identifies no customer. */
export async function refuseOwnNumber(db: Database, number: string): Promise<void> {
  const [own] = await query(
    db,
    sql<{
      owner: string;
    }>`select 'an SMS line' as owner from warehouse.sms_lines where line = any(${spellingsOf(number)})
     union all select 'a user' from warehouse.user_endpoints where kind = 'number' and endpoint = any(${spellingsOf(number)}) limit 1`,
  );
  if (own) throw new NotErasable(`That is a number of the account itself (${own.owner}'s), not of a person to erase.`);
}
