import { setTimeout as sleep } from 'node:timers/promises';
import { queueNames } from '../../config/queues.ts';
import { type Database, inTransaction, query, type Transaction } from '../db/database.ts';
import { erasedRefreshMs } from '../inbox/erased-numbers.ts';
import type { Queues } from '../queues/queues.ts';
import { UserError } from '../shared/errors.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';
import {
  isNumberAlone,
  longestNumber,
  numberMeant,
  shortestNumber,
  spellingsOf,
} from '../warehouse/erasure/mentions.ts';
import {
  eraseInbox,
  eraseMentions,
  eraseParty,
  eraseRules,
  eraseSends,
  eraseTexts,
  findCalls,
  preserveOptOuts,
} from './erase-rows.ts';
import { refreshStatistics } from './statistics.ts';

/*
 * The steps of an erasure:
 *
 *   remember: commit the hash ─▶ barrier: wait for the writers that may not know it ─▶ purge ─▶
 *   wait until every receiver knows the hash ─▶ purge the inbox and the queues again ─▶ refresh the planner's statistics
 *
 * An erasure that is interrupted is repeated from the first step. Rows that are gone are not counted again.
 */

interface ErasureDeps {
  readonly db: Database;
  readonly queues: Pick<Queues, 'forget'>;
  /** Milliseconds after which every receiver knows of the erasure. */
  readonly knownAfterMs?: number;
}

/** What an erasure removed, or would remove: rows by table, and jobs under `queues`. Tables without any are left out. */
export interface Erasure {
  /** Only the last four digits. */
  readonly number: string;
  readonly removed: Removed;
  /** Empty tables whose statistics still hold the person; missing when there are none. */
  readonly tablesWithStatistics?: readonly string[];
}

/** Receivers read the erasures every `erasedRefreshMs`; the query gets a second. */
const defaultKnownAfterMs = erasedRefreshMs + 1_000;

/** Counts what {@link eraseNumber} would remove now, and removes nothing. Rejects with `NotErasable`. */
export async function previewErasure(db: Database, text: string): Promise<Erasure> {
  const number = erasableNumber(text);
  await refuseOwnNumber(db, number);
  const rolledBack = new RolledBack();
  await db
    .transaction()
    .execute(async (tx) => {
      rolledBack.removed = await eraseRows(tx, number);
      throw rolledBack;
    })
    .catch((error: unknown) => {
      if (error !== rolledBack) throw error;
    });
  return { number: lastDigits(number), removed: rolledBack.removed };
}

/** Thrown to roll back a purge that was only counted. */
class RolledBack extends Error {
  removed: Removed = {};
}

/**
 * Removes a person, by number, from mirror, documents, inbox and queues, and keeps them out from now on. Threads are deleted,
 * groups too, but opt-outs of other members are kept; rows of calls stay without the person. Safe to repeat. Rejects with
 * `NotErasable`, and with `QueueUnavailable` when only the queues cannot be reached.
 */
export async function eraseNumber(parts: ErasureDeps, text: string): Promise<Erasure> {
  const { db, queues, knownAfterMs } = parts;
  const number = erasableNumber(text);
  await refuseOwnNumber(db, number);
  await storeHash(db, number);
  await waitForWriters(db);
  const purged = await inTransaction(db, async (tx) => {
    await preserveOptOuts(tx, spellingsOf(number));
    return eraseRows(tx, number);
  });
  await storeCounts(db, number, purged);
  const forgotten = await forgetJobs(queues, number);
  await sleep(knownAfterMs ?? defaultKnownAfterMs);
  await waitForDeliveries(db);
  const late = await inTransaction(db, (tx) => eraseInbox(tx, number, []));
  const forgottenLate = await forgetJobs(queues, number);
  const afterwards = sum([late, { queues: forgotten + forgottenLate }]);
  await storeCounts(db, number, afterwards);
  const kept = await refreshStatistics(db);
  return {
    ...{ number: lastDigits(number), removed: sum([purged, afterwards]) },
    ...(kept.length > 0 && { tablesWithStatistics: kept }),
  };
}

/** Called in one transaction, so that a person is erased everywhere or nowhere. */
async function eraseRows(tx: Transaction, number: string): Promise<Removed> {
  const calls = await findCalls(tx, number);
  return sum([
    await eraseInbox(tx, number, calls),
    await eraseTexts(tx, number),
    await eraseParty(tx, number, calls),
    await eraseRules(tx, spellingsOf(number)),
    await eraseSends(tx, spellingsOf(number)),
    await eraseMentions(tx, number),
  ]);
}

/** Serialized: a receiver reads only erasures newer than the newest it knows, so none may be committed with an older number. */
async function storeHash(db: Database, number: string): Promise<void> {
  await inTransaction(db, async (tx) => {
    await query(tx, 'lock table ops.erasures in share row exclusive mode', []);
    await query(
      tx,
      `insert into ops.erasures (number_hash, spelling_hashes)
       values (ops.erasure_hash($1), array(select ops.erasure_hash(spelling) from unnest($2::text[]) spelling))
       on conflict (number_hash) do update set repeated_at = now()`,
      [number, spellingsOf(number).filter((spelling) => spelling !== number)],
    );
  });
}

/** Resolves when every transaction that writes to the mirror and may not know the new hash has ended. */
async function waitForWriters(db: Database): Promise<void> {
  await inTransaction(db, (tx) => query(tx, `select pg_advisory_xact_lock(hashtext('ops.erasures'))`, []));
}

/** Resolves when every transaction that was storing a delivery has ended. */
async function waitForDeliveries(db: Database): Promise<void> {
  await inTransaction(db, (tx) => query(tx, 'lock table ops.deliveries in share mode', []));
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
    `update ops.erasures e set removed = (
       select coalesce(jsonb_object_agg(place, count), '{}')
       from (select place, sum(count::bigint) as count from (
         select * from jsonb_each_text(e.removed) union all select * from jsonb_each_text($2::jsonb)) as b (place, count)
       group by place) s)
     where number_hash = ops.erasure_hash($1)`,
    [number, JSON.stringify(removed)],
  );
}

function sum(parts: readonly Removed[]): Removed {
  const total: Record<string, number> = {};
  for (const [place, count] of parts.flatMap((part) => Object.entries(part))) {
    if (count > 0) total[place] = (total[place] ?? 0) + count;
  }
  return total;
}

function lastDigits(number: string): string {
  return `…${number.slice(-4)}`;
}

/** The number cannot be erased. */
export class NotErasable extends UserError {
  override readonly exitCode = 2;
}

/** Normalises a number that a person typed in any format. Throws `NotErasable` when it is no phone number. */
export function erasableNumber(text: string): string {
  const number = isNumberAlone(text) ? numberMeant(text) : '';
  if (number === undefined) {
    throw new NotErasable(
      'A number that begins with 0 does not say its country: write it with its country code, such as "+44 20 7946 0958".',
    );
  }
  if (number.length < shortestNumber || number.length > longestNumber) {
    throw new NotErasable(
      `A phone number has ${shortestNumber} to ${longestNumber} digits: write it with its country code, such as "+1 845 555 0123".`,
    );
  }
  return number;
}

/** Rejects with `NotErasable` for a number of the account itself: most rows contain it, and it identifies no customer. */
export async function refuseOwnNumber(db: Database, number: string): Promise<void> {
  const [own] = await query<{ owner: string }>(
    db,
    `select 'an SMS line' as owner from warehouse.sms_lines where line = $1
     union all select 'a user' from warehouse.user_endpoints where kind = 'number' and endpoint = $1 limit 1`,
    [number],
  );
  if (own) throw new NotErasable(`That is a number of the account itself (${own.owner}'s), not of a person to erase.`);
}
