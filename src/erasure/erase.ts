import { setTimeout as sleep } from 'node:timers/promises';
import { queueNames } from '../../config/queues.ts';
import { erasedRefreshMs } from '../inbox/erased.ts';
import type { Queues } from '../queues/queues.ts';
import { type Database, inTransaction, query, type Transaction } from '../warehouse/database.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';
import { spellingsOf } from '../warehouse/erasure/mentions.ts';
import { eraseInbox } from './inbox.ts';
import { eraseMentions } from './mentions.ts';
import { callsOf, eraseParty, eraseTexts } from './mirror.ts';
import { erasableNumber, refuseOwnNumber } from './number.ts';
import { keepOptOuts, type OptOutChange } from './opt-outs.ts';
import { eraseRules } from './rules.ts';
import { eraseSends } from './sends.ts';
import { refreshStatistics } from './statistics.ts';

export { NotErasable } from './number.ts';

/*
 * An erasure is one promise in six steps:
 *
 *   remember: the hash is committed ─▶ barrier: writers that may not know it have ended ─▶ purge ─▶
 *   wait: every receiver has asked who was erased ─▶ purge the inbox and the queues once more ─▶ statistics of the planner
 *
 * Killed at any step, it is repeated from the beginning: what is gone is not counted again.
 */

export interface ErasureParts {
  readonly db: Database;
  readonly queues: Pick<Queues, 'forget'>;
  readonly optOutChange: OptOutChange;
  /** After so long every receiver knows of the erasure, in milliseconds. */
  readonly knownAfterMs?: number;
}

/** What an erasure removed, or would remove: rows by table, and bells under `queues`; tables without any are left out. */
export interface Erasure {
  /** The last four digits, to be recognized by. */
  readonly number: string;
  readonly removed: Removed;
  /** Empty tables whose statistics still hold the person; missing when there are none. */
  readonly tablesWithStatistics?: readonly string[];
}

/** A receiver asks every `erasedRefreshMs`; a second for its answer. */
const usuallyKnownAfterMs = erasedRefreshMs + 1_000;

/** Says what {@link eraseNumber} would remove now, and removes nothing. Throws `NotErasable`. */
export async function previewErasure(db: Database, text: string): Promise<Erasure> {
  const number = erasableNumber(text);
  await refuseOwnNumber(db, number);
  const preview = new Preview();
  await db
    .transaction()
    .execute(async (tx) => {
      preview.removed = await purge(tx, number);
      throw preview;
    })
    .catch((error: unknown) => {
      if (error !== preview) throw error;
    });
  return { number: shown(number), removed: preview.removed };
}

/** Rolls a purge back that was only to be counted. */
class Preview extends Error {
  removed: Removed = {};
}

/**
 * Removes a person from mirror, documents, inbox and queues by the number, and keeps them out from now on: of texts
 * everything goes, group threads whole, but not that another member opted out there; the rows of calls stay without the
 * person. Safe to repeat; what is left then is nothing. Throws `NotErasable`, and `QueueUnavailable` when only the queues
 * could not be asked.
 */
export async function eraseNumber(parts: ErasureParts, text: string): Promise<Erasure> {
  const { db, queues, optOutChange, knownAfterMs } = parts;
  const number = erasableNumber(text);
  await refuseOwnNumber(db, number);
  await remember(db, number);
  await barrier(db);
  const purged = await inTransaction(db, async (tx) => {
    await keepOptOuts(tx, spellingsOf(number), optOutChange);
    return purge(tx, number);
  });
  await record(db, number, purged);
  const forgotten = await forgetBells(queues, number);
  await sleep(knownAfterMs ?? usuallyKnownAfterMs);
  await deliveriesUnderWay(db);
  const late = await inTransaction(db, (tx) => eraseInbox(tx, number, []));
  const forgottenLate = await forgetBells(queues, number);
  const afterwards = sum([late, { queues: forgotten + forgottenLate }]);
  await record(db, number, afterwards);
  const kept = await refreshStatistics(db);
  return {
    ...{ number: shown(number), removed: sum([purged, afterwards]) },
    ...(kept.length > 0 && { tablesWithStatistics: kept }),
  };
}

/** Everything in one transaction, so that a person is either held or not. */
async function purge(tx: Transaction, number: string): Promise<Removed> {
  const calls = await callsOf(tx, number);
  return sum([
    await eraseInbox(tx, number, calls),
    await eraseTexts(tx, number),
    await eraseParty(tx, number, calls),
    await eraseRules(tx, spellingsOf(number)),
    await eraseSends(tx, spellingsOf(number)),
    await eraseMentions(tx, number),
  ]);
}

/** One after the other: receivers ask for what is newer than the newest that they know, so none may appear behind it. */
async function remember(db: Database, number: string): Promise<void> {
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

/** Resolves when no transaction goes on that writes to the mirror and may not know of what was remembered. */
async function barrier(db: Database): Promise<void> {
  await inTransaction(db, (tx) => query(tx, `select pg_advisory_xact_lock(hashtext('ops.erasures'))`, []));
}

/** Resolves when the deliveries that were being stored are. */
async function deliveriesUnderWay(db: Database): Promise<void> {
  await inTransaction(db, (tx) => query(tx, 'lock table ops.deliveries in share mode', []));
}

async function forgetBells(queues: ErasureParts['queues'], number: string): Promise<number> {
  const spellings = new Set(spellingsOf(number));
  const counts: number[] = [];
  for (const name of queueNames) {
    const isOfNumber = (key: string) => key.split(/[/,]/).some((each) => spellings.has(each));
    counts.push(await queues.forget(name, ({ kind, key }) => kind === 'thread' && isOfNumber(key)));
  }
  return counts.reduce((total, count) => total + count, 0);
}

async function record(db: Database, number: string, removed: Removed): Promise<void> {
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

function shown(number: string): string {
  return `…${number.slice(-4)}`;
}
