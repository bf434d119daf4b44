import type { Answer, Service, UnreadCounts } from '../../api-client/client.ts';
import { type Database, inTransaction, query, sql, type Transaction } from '../../db/database.ts';
import { isRetrying } from '../../inbox/sweep.ts';
import { type DueTarget, markDirty, priorities } from '../../inbox/targets.ts';
import type { Log } from '../../shared/log.ts';
import { maskKey } from '../../shared/masking.ts';
import { normalizeNumber } from '../../shared/numbers.ts';
import type { Thread } from '../../shared/thread.ts';
import { dayMs, type TimeRange } from '../../shared/time-range.ts';
import { ourLines } from '../../warehouse/lines.ts';
import {
  addCallers,
  probe,
  reopenProbed,
  rereadThreadsBefore,
  threadColumns,
  threadTargets,
} from './candidate-threads.ts';
import {
  historyOf,
  type LineHistory,
  type LineUnread,
  missingOf,
  risenAt,
  storeSnapshots,
} from './unread-comparisons.ts';

/*
 * After a lost SMS event, the service counts one more unread text on the line than the mirror (section 4.3).
 *
 *   even ──▶ behind: reread its threads, then probe callers and candidates ──▶ even | unexplained | older
 *
 * Unexplained: the search didn't find the text; from then on, only new callers are probed. Older: the text is older
 * than the mirror, so no event was lost; a back-fill of threads may find it. Ahead: the service counts fewer texts than
 * the mirror, because somebody read texts elsewhere, which no event announces; the line's threads are read again.
 */

export interface GapDetectionDeps {
  readonly db: Database;
  readonly service: Service;
  readonly log: Log;
  readonly notify: (due: readonly DueTarget[]) => void;
  /** How many threads a round may read while texts are polled. Undefined, the default: webhooks announce texts. */
  readonly polledReads?: () => Promise<number | undefined>;
}

type ComparedLine = LineUnread & { readonly past: LineHistory };

const noPast: LineHistory = { behindSince: undefined, givenUp: 0, isOlder: false };

/** Seconds before a search starts: the counts differ briefly while a text is being mirrored. */
const graceSeconds = 60;
/** Seconds after which a due read counts as late: it may find the missing text. */
const lateSeconds = 5;
/** Seconds after which an unsuccessful search is given up. */
const searchSeconds = 900;
const callersOfDays = 7;
const maxThreads = 50;
const maxProbes = 200;
/** Seconds over which the reads of a round of a search are spread; rounds are a minute apart. */
const roundSeconds = 50;
/** Candidates that an earlier probe didn't find, reopened in each round of a search. */
const maxReopened = 50;

/**
 * Compares the unread counts of every line with the mirror, and searches for missing texts. With `polledReads`, a
 * search starts at once and reads at most so many threads. If `signal` fires before the result is stored, nothing is
 * recorded. Rejects with `ServiceError`.
 */
export async function compareUnread(
  deps: GapDetectionDeps,
  signal?: AbortSignal,
  polledReads?: number,
): Promise<LineUnread[]> {
  const { db, service, notify, log } = deps;
  const answer = await service.unread.counts({}, signal && { signal });
  const reported = countsOf(answer, await ourLines(db));
  const lines = [...reported.keys()];
  const at = await databaseTime(db);
  const counts = await heldUnread(db, lines);
  const compared: ComparedLine[] = [];
  for (const [line, count] of reported) {
    if (signal?.aborted) return [];
    const held = counts.get(line) ?? 0;
    const missing = missingOf({ reported: count, held });
    const past = missing > 0 ? await historyOf(db, line) : noPast;
    compared.push({ line, reported: count, held, state: stateOf(missing, past, at), past });
  }
  // A poll doesn't search for texts older than the mirror: their reads would take the place of reads of new texts.
  const isPolled = polledReads !== undefined;
  const isJudged = (each: LineUnread) => isGivenUp(each) || (isPolled && each.state === 'behind');
  const sinceCreation = compared.some(isJudged) ? await missingSinceCreation(deps, lines) : undefined;
  const judged = compared.map((each) => {
    const lost = sinceCreation?.get(each.line);
    if (!isJudged(each) || lost === undefined) return each;
    if (lost <= 0) return { ...each, state: 'older' as const };
    // The texts given up are older than the mirror; newer texts that are missing may still arrive.
    const isRecent = isGivenUp(each) && each.past.isOlder && secondsBehind(each.past, at) <= searchSeconds;
    return isRecent ? { ...each, state: 'behind' as const } : each;
  });
  await storeSnapshots(db, judged, at);
  const behind = judged.filter(({ state }) => state === 'behind');
  if (isPolled) await searchPolled(deps, behind, at, polledReads);
  for (const each of judged) {
    const { line } = each;
    if (isGivenUp(each) && !isPolled) {
      const fields = { line: maskKey('line', line), missing: missingOf(each) };
      log.warn(fields, 'Unread texts of a line were not found: an event may have been lost');
    }
    if (!isPolled) notify(await search(deps, each, at));
    // The sender may call only later. Nobody who was probed before is probed again.
    const arrivedBy = new Date(0);
    if (isGivenUp(each)) await addCallers(db, lastDays(1, at), { evidence: 'unread', line, arrivedBy });
    if (each.state === 'ahead') notify(await db.transaction().execute((tx) => rereadUnread(tx, line, polledReads)));
  }
  return judged;
}

async function databaseTime(db: Database): Promise<Date> {
  const [row] = await query<{ at: Date }>(db, 'select now() as at', []);
  return row?.at ?? new Date();
}

/** The unread count of each line; 0 for lines of ours that the answer leaves out (sections 2.7, 4.3). */
function countsOf({ data }: Answer<UnreadCounts>, lines: Iterable<string>): Map<string, number> {
  const none = [...lines].map((line) => [line, 0] as const);
  return new Map([...none, ...data.lines.map(({ line, count = 0 }) => [normalizeNumber(line), count] as const)]);
}

/** The messages `m` that an API key's counts cover: texts that nobody has read (section 4.3). */
const unreadMessages = sql`m.direction = 'in' and m.is_read = false and m.deleted_at is null and not m.is_read_by_others`;

/** How many unread texts of each line are held; with `since`, only those sent after it. */
async function heldUnread(db: Database, lines: readonly string[], since?: Date): Promise<ReadonlyMap<string, number>> {
  const rows = await query(
    db,
    sql<{ line: string; count: number }>`select m.line, count(*)::integer as count from warehouse.sms_messages m
     where m.line = any(${lines}) and ${unreadMessages}${since ? sql` and m.sent_at > ${since}` : sql``}
     group by m.line`,
  );
  return new Map(rows.map(({ line, count }) => [line, count]));
}

function isGivenUp({ state }: LineUnread): boolean {
  return state === 'unexplained';
}

/** For each line, how many more texts since the creation of the mirror the service counts than the mirror holds. */
async function missingSinceCreation(
  { db, service }: GapDetectionDeps,
  lines: Iterable<string>,
): Promise<Map<string, number> | undefined> {
  const [created] = await query<{ at: Date }>(db, 'select min(applied_at) as at from ops.migrations', []);
  if (!created) return undefined;
  const answer = await service.unread.counts({ since: created.at.toISOString() });
  const reported = countsOf(answer, lines);
  const held = await heldUnread(db, [...reported.keys()], created.at);
  return new Map([...reported].map(([line, count]) => [line, count - (held.get(line) ?? 0)]));
}

/** Texts given up stay unexplained; one more missing text starts a new search. */
function stateOf(missing: number, past: LineHistory, at: Date): LineUnread['state'] {
  if (missing === 0) return 'even';
  if (missing < 0) return 'ahead';
  return missing <= past.givenUp || secondsBehind(past, at) > searchSeconds ? 'unexplained' : 'behind';
}

function secondsBehind({ behindSince }: LineHistory, at: Date): number {
  return behindSince === undefined ? 0 : (at.getTime() - behindSince.getTime()) / 1_000;
}

async function search({ db }: GapDetectionDeps, compared: ComparedLine, at: Date): Promise<DueTarget[]> {
  if (compared.state !== 'behind' || secondsBehind(compared.past, at) < graceSeconds) return [];
  const { line, past } = compared;
  if (await hasLateReads(db, line)) return [];
  await addCallers(db, lastDays(callersOfDays, at), { evidence: 'unread', line, arrivedBy: past.behindSince });
  if (past.behindSince) await reopenProbed(db, line, { arrivedBy: past.behindSince, max: maxReopened });
  const arrivedBy = (await risenAt(db, line)) ?? past.behindSince ?? at;
  const due = await inTransaction(db, (tx) => rereadThreadsBefore(tx, line, arrivedBy, maxThreads, roundSeconds));
  return [...due, ...(await probe(db, maxProbes, priorities.live, roundSeconds)).due];
}

/**
 * Reads threads that weren't read since the newest text of their line arrived. With reads left, asks for recent
 * callers. The lines share `max` reads.
 */
async function searchPolled(
  { db, notify }: GapDetectionDeps,
  behind: readonly ComparedLine[],
  at: Date,
  max: number,
): Promise<void> {
  let left = max;
  for (const [index, { line, past }] of behind.entries()) {
    if (await hasLateReads(db, line)) continue;
    const arrivedBy = (await risenAt(db, line)) ?? past.behindSince ?? at;
    const share = Math.ceil(left / (behind.length - index));
    const due = await db.transaction().execute((tx) => rereadThreadsBefore(tx, line, arrivedBy, share));
    left -= due.length;
    notify(due);
    if (due.length < share) await addCallers(db, lastDays(callersOfDays, at), { evidence: 'unread', line, arrivedBy });
  }
  if (behind.length > 0 && left > 0) notify((await probe(db, left, priorities.live)).due);
}

/** Whether a read of the line's threads is late or being retried: it may find the text without a search. */
async function hasLateReads(db: Database, line: string): Promise<boolean> {
  const late = await query(
    db,
    sql`select from ops.sync_targets
     where dirty_version > clean_version and priority = ${sql.lit(priorities.live)} and kind = 'thread' and state = 'active'
       and (due_at < now() - ${lateSeconds}::integer * interval '1 second' or ${isRetrying})
       and split_part(key, '/', 1) = ${line} limit 1`,
  );
  return late.length > 0;
}

function lastDays(days: number, at: Date): TimeRange<Date> {
  return { from: new Date(at.getTime() - days * dayMs), to: at };
}

/** The wait after a complete read of a thread that found none of its texts read; it doubles each time. */
const firstRereadWait = sql`interval '10 minutes'`;
const maxRereadWait = sql`interval '12 hours'`;

/**
 * Schedules complete reads of a line's threads with unread texts: only a read shows which texts were read elsewhere.
 * The waits limit the reads of a busy line, on which texts are read every minute, but only in few of hundreds of
 * threads.
 */
async function rereadUnread(tx: Transaction, line: string, max = maxThreads): Promise<DueTarget[]> {
  const threads = await query(
    tx,
    sql<Thread>`with holding as (
       select m.conversation_id, count(*)::integer as unread from warehouse.sms_messages m
       where m.line = ${line} and ${unreadMessages} group by m.conversation_id
     ), due as (
       select c.conversation_id, h.unread from warehouse.sms_conversations c join holding h using (conversation_id)
       where c.deleted_at is null
         and coalesce(c.thread_fetched_at, '-infinity') < now() - interval '1 minute'
         and coalesce(c.unread_reread_at + c.unread_reread_wait, '-infinity') <= now()
       order by c.unread_reread_at nulls first, c.last_inbound_at desc nulls last limit ${max}
       for update of c skip locked
     )
     update warehouse.sms_conversations c set is_reread_owed = true, unread_reread_at = now(), unread_reread_count = due.unread,
       unread_reread_wait = case
         when c.unread_reread_at is null or due.unread < c.unread_reread_count then ${firstRereadWait}
         when c.thread_fetched_at > c.unread_reread_at then least(c.unread_reread_wait * 2, ${maxRereadWait})
         else c.unread_reread_wait end
     from due where c.conversation_id = due.conversation_id
     returning ${threadColumns}`,
  );
  return markDirty(tx, threadTargets(threads, priorities.history));
}
