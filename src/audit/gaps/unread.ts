import type { Answer, Service, UnreadCounts } from '../../api-client/client.ts';
import { type Database, query, type Transaction } from '../../db/database.ts';
import { isPutOff } from '../../inbox/sweep.ts';
import { type DueTarget, markDirty, priorities, type ReadPauses } from '../../inbox/targets.ts';
import type { Log } from '../../shared/log.ts';
import { maskKey } from '../../shared/masking.ts';
import { normalizeNumber } from '../../shared/numbers.ts';
import type { Span } from '../../shared/span.ts';
import type { OnAnswer } from '../../warehouse/drift.ts';
import { withheldUnread } from '../../warehouse/erasure/erased.ts';
import { ourLines } from '../../warehouse/lines.ts';
import { addCallers, askAgain, probe, rereadNewest, threadTargets } from './candidates.ts';
import {
  givenUpAt,
  keepSnapshots,
  type LinePast,
  type LineUnread,
  lastComparisons,
  missingOf,
  pastOf,
} from './unread-snapshots.ts';

/*
 * A lost SMS event leaves a trace: the service counts one more unread text on the line than the mirror (section 4.3).
 *
 *   even ──▶ behind: its newest threads are read again, then its recent callers are probed ──▶ even | unexplained | older
 *
 * An unexplained difference is stored with line and time, and searched for once an hour. An older one is from before the
 * mirror, so no event was lost; a back-fill of threads may find it. If the service counts fewer ("ahead"), somebody read
 * texts elsewhere, which no event announces: the line's threads are read again.
 */

export interface GapDetectionDeps {
  readonly db: Database;
  readonly service: Service;
  readonly log: Log;
  readonly pauses: ReadPauses;
  readonly onAnswer: OnAnswer;
  readonly notify: (due: readonly DueTarget[]) => void;
  /**
   * What unread counts mean: `personal` with an OAuth token, texts that its user has not read; `line` with an API key,
   * texts that nobody has read (section 4.3).
   */
  readonly unreadScope: UnreadScope;
}

export type UnreadScope = 'personal' | 'line';

type ComparedLine = LineUnread & { readonly past: LinePast };

const noPast: LinePast = { behindSince: undefined, givenUp: 0, isOlder: false };

/** Seconds before a search starts: a text that is just being mirrored makes the counts differ for a moment. */
const graceSeconds = 60;
/** Seconds after which a due read counts as late: it may bring the missing text. */
const lateSeconds = 5;
/** Seconds after which a search without result is given up. */
const searchSeconds = 900;
/** The interval between searches of a given-up line: the sender may call later, or become known otherwise. */
const hourMs = 3_600_000;
const callersOfDays = 7;
const maxThreads = 50;
const maxProbes = 200;

/**
 * Compares the unread counts of every line with the mirror, and searches for missing texts. If `signal` fires before the
 * result is stored, nothing is recorded. Rejects with `ServiceError`.
 */
export async function compareUnread(deps: GapDetectionDeps, signal?: AbortSignal): Promise<LineUnread[]> {
  const { db, service, onAnswer, notify, log, pauses, unreadScope: scope } = deps;
  const answer = await service.unread.counts({}, signal && { signal });
  onAnswer('unread.counts', answer);
  const reported = countsOf(answer, await ourLines(db));
  const lines = [...reported.keys()];
  const last = await lastComparisons(db, lines);
  const at = await databaseTime(db);
  const counts = await heldUnread(db, lines, scope);
  const withheld = await withheldUnread(db, difference(reported, counts));
  const compared: ComparedLine[] = [];
  for (const [line, count] of reported) {
    if (signal?.aborted) return [];
    const held = (counts.get(line) ?? 0) + (withheld.get(line) ?? 0);
    const missing = missingOf({ reported: count, held });
    const past = missing > 0 ? await pastOf(db, line) : noPast;
    compared.push({ line, reported: count, held, state: stateOf(missing, past, at), past });
  }
  const sinceCreation = compared.some(isGivenUp) ? await missingSinceCreation(deps, lines) : undefined;
  const judged = compared.map((each) => {
    const lost = sinceCreation?.get(each.line);
    if (!isGivenUp(each) || lost === undefined) return each;
    if (lost <= (withheld.get(each.line) ?? 0)) return { ...each, state: 'older' as const };
    // The texts given up are older than the mirror; newer missing ones may still arrive.
    const isRecent = each.past.isOlder && secondsBehind(each.past, at) <= searchSeconds;
    return isRecent ? { ...each, state: 'behind' as const } : each;
  });
  await keepSnapshots(db, judged, at);
  for (const each of judged) {
    const { line } = each;
    if (isGivenUp(each)) {
      const fields = { line: maskKey('line', line), missing: missingOf(each) };
      log.warn(fields, 'Unread texts of a line were not found: an event may have been lost');
    }
    notify(await search(deps, each, at));
    if (isGivenUp(each)) await searchAgain(db, each, at, last.get(line));
    if (each.state === 'ahead') notify(await db.transaction().execute((tx) => rereadUnread(tx, line, scope, pauses)));
  }
  return judged;
}

async function databaseTime(db: Database): Promise<Date> {
  const [row] = await query<{ at: Date }>(db, 'select now() as at', []);
  return row?.at ?? new Date();
}

/** How many unread texts each line counts. A line of ours that the answer leaves out counts none (sections 2.7, 4.3). */
function countsOf({ data }: Answer<UnreadCounts>, lines: Iterable<string>): Map<string, number> {
  const none = [...lines].map((line) => [line, 0] as const);
  return new Map([...none, ...data.lines.map(({ line, count = 0 }) => [normalizeNumber(line), count] as const)]);
}

/** The messages `m` that a scope counts as unread. */
const unreadMessages: Readonly<Record<UnreadScope, string>> = {
  personal: `m.direction = 'in' and m.is_read = false and m.deleted_at is null`,
  line: `m.direction = 'in' and m.is_read = false and m.deleted_at is null and not m.is_read_by_others`,
};

/** The unread texts that are held of each line; with `since`, those sent after it. */
async function heldUnread(
  db: Database,
  lines: readonly string[],
  scope: UnreadScope,
  since?: Date,
): Promise<ReadonlyMap<string, number>> {
  const rows = await query<{ line: string; count: number }>(
    db,
    `select m.line, count(*)::integer as count from warehouse.sms_messages m
     where m.line = any($1) and ${unreadMessages[scope]} and ($2::timestamptz is null or m.sent_at > $2) group by m.line`,
    [lines, since],
  );
  return new Map(rows.map(({ line, count }) => [line, count]));
}

/** How many more each line counts than are held. */
function difference(reported: ReadonlyMap<string, number>, held: ReadonlyMap<string, number>): Map<string, number> {
  return new Map([...reported].map(([line, count]) => [line, count - (held.get(line) ?? 0)]));
}

function isGivenUp({ state }: LineUnread): boolean {
  return state === 'unexplained';
}

/** How many more unread texts each line counts than are held, of those sent since the mirror was created. */
async function missingSinceCreation(
  { db, service, onAnswer, unreadScope }: GapDetectionDeps,
  lines: Iterable<string>,
): Promise<Map<string, number> | undefined> {
  const [created] = await query<{ at: Date }>(db, 'select min(timestamp)::timestamptz as at from ops.migrations', []);
  if (!created) return undefined;
  const answer = await service.unread.counts({ since: created.at });
  onAnswer('unread.counts', answer);
  const reported = countsOf(answer, lines);
  return difference(reported, await heldUnread(db, [...reported.keys()], unreadScope, created.at));
}

/** A given-up difference stays given up; one more missing text starts a new search. */
function stateOf(missing: number, past: LinePast, at: Date): LineUnread['state'] {
  if (missing === 0) return 'even';
  if (missing < 0) return 'ahead';
  return missing <= past.givenUp || secondsBehind(past, at) > searchSeconds ? 'unexplained' : 'behind';
}

function secondsBehind({ behindSince }: LinePast, at: Date): number {
  return behindSince === undefined ? 0 : (at.getTime() - behindSince.getTime()) / 1_000;
}

async function search({ db, pauses }: GapDetectionDeps, compared: ComparedLine, at: Date): Promise<DueTarget[]> {
  if (compared.state !== 'behind' || secondsBehind(compared.past, at) < graceSeconds) return [];
  const { line, past } = compared;
  if (await hasLateReads(db, line)) return [];
  const options = { priority: priorities.live, pauses };
  await addCallers(db, recentDays(at), { evidence: 'unread', line, cameBy: past.behindSince });
  const due = await db.transaction().execute((tx) => rereadNewest(tx, line, maxThreads, options));
  return [...due, ...(await probe(db, maxProbes, options)).due];
}

/** Whether a read of the line's threads is late, or was retried once or twice: it may bring the text without a search. */
async function hasLateReads(db: Database, line: string): Promise<boolean> {
  const late = await query(
    db,
    `select from ops.sync_targets
     where dirty_version > clean_version and priority = ${priorities.live} and kind = 'thread' and state = 'active'
       and (due_at < now() - $2 * interval '1 second' or ${isPutOff})
       and split_part(key, '/', 1) = $1 limit 1`,
    [line, lateSeconds],
  );
  return late.length > 0;
}

/** Once an hour after a line was given up, reopens its callers and earlier candidates; the rounds probe them. */
async function searchAgain(db: Database, compared: LineUnread, at: Date, last: Date | undefined): Promise<void> {
  const { line } = compared;
  const cameBy = await givenUpAt(db, line, missingOf(compared));
  if (cameBy === undefined || last === undefined) return;
  const hoursUntil = (moment: Date) => Math.max(0, Math.floor((moment.getTime() - cameBy.getTime()) / hourMs));
  if (hoursUntil(at) === hoursUntil(last)) return;
  await addCallers(db, recentDays(at), { evidence: 'unread', line, cameBy });
  await askAgain(db, line, { cameBy, max: maxProbes });
}

function recentDays(at: Date): Span<Date> {
  return { from: new Date(at.getTime() - callersOfDays * 86_400_000), to: at };
}

/** The wait between two complete reads of a thread that find none of its texts read. */
const firstRereadWait = `interval '10 minutes'`;
const maxRereadWait = `interval '12 hours'`;

/**
 * Schedules complete reads of a line's threads with unread texts: only a read shows which texts were read elsewhere. The wait
 * of a thread doubles while a read finds nothing: on a busy line texts are read every minute, in few of hundreds of threads.
 */
async function rereadUnread(
  tx: Transaction,
  line: string,
  scope: UnreadScope,
  pauses: ReadPauses,
): Promise<DueTarget[]> {
  const rows = await query<{ line: string; number: string; participants_key: string }>(
    tx,
    `with holding as (
       select m.conversation_id, count(*)::integer as unread from warehouse.sms_messages m
       where m.line = $1 and ${unreadMessages[scope]} group by m.conversation_id
     ), due as (
       select c.conversation_id, h.unread from warehouse.sms_conversations c join holding h using (conversation_id)
       where c.deleted_at is null
         and coalesce(c.thread_fetched_at, '-infinity') < now() - interval '1 minute'
         and coalesce(c.unread_reread_at + c.unread_reread_wait, '-infinity') <= now()
       order by c.unread_reread_at nulls first, c.last_inbound_at desc nulls last limit ${maxThreads}
       for update of c skip locked
     )
     update warehouse.sms_conversations c set is_reread_owed = true, unread_reread_at = now(), unread_reread_count = due.unread,
       unread_reread_wait = case
         when c.unread_reread_at is null or due.unread < c.unread_reread_count then ${firstRereadWait}
         when c.thread_fetched_at > c.unread_reread_at then least(c.unread_reread_wait * 2, ${maxRereadWait})
         else c.unread_reread_wait end
     from due where c.conversation_id = due.conversation_id
     returning c.line, c.number, c.participants_key`,
    [line],
  );
  return markDirty(tx, threadTargets(rows, priorities.history), pauses);
}
