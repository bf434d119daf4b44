import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { type Service, ServiceError } from '../../api-client/client.ts';
import { type Database, inTransaction, query, sql, type Transaction } from '../../db/database.ts';
import { markDirty, priorities } from '../../inbox/targets.ts';
import { backoffMs } from '../../shared/backoff.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import { mirrorPage } from './call-pages.ts';
import { hourOf, hoursOf, recordHours } from './coverage.ts';
import { createCallLister, type ListerDeps, type Listing, type OnPage } from './listing.ts';

export interface CallBackfill {
  /** Unix seconds; widened to whole hours, and cut at the last hour that is over. */
  readonly range: TimeRange;
  /** Also reads legs, recordings and transcripts, through the queues with the lowest priority. */
  readonly withArtefacts: boolean;
}

export interface BackfillProgress {
  /** Share of the range that is done, from 0 to 1. */
  readonly share: number;
  readonly mirrored: number;
  /** Unix seconds: everything before it is done. */
  readonly doneUntil: number;
}

export interface UnprovenPart {
  /** The start of the range. */
  readonly from: Date;
  readonly problem: string;
}

export interface BackfillOutcome extends BackfillProgress {
  /** Unix seconds where this run resumed an interrupted one. */
  readonly resumedFrom: number | undefined;
  /** Ranges that aren't proven complete, with the reasons. The reconcile schedule compares them again. */
  readonly unproven: readonly UnprovenPart[];
  readonly isFinished: boolean;
}

const hour = 3_600;
/** The number of calls between two saves of the cursor, approximately. */
const callsPerRange = 5_000;
const maxRangeHours = 31 * 24;

/**
 * Mirrors call history, oldest first, range by range. Each range is compared as past hours are, and the cursor is saved
 * with it: an interrupted run resumes at its last range. Stops between two pages when `signal` fires. Rejects with
 * `ServiceError` when the service refuses, or fails for half an hour; the same call then resumes.
 */
export async function backfillCalls(
  deps: ListerDeps & { readonly onWait?: OnWait },
  { range, withArtefacts }: CallBackfill,
  onProgress: (progress: BackfillProgress) => void,
  signal: AbortSignal,
): Promise<BackfillOutcome> {
  const { db, service, onWait = () => undefined } = deps;
  const hoursToFill = wholeHours(range);
  const { id, doneUntil, isResumed } = await openBackfill(db, hoursToFill, withArtefacts);
  const outageRetry = createOutageRetry(onWait);
  // Retries each page alone: a listing that restarted after each throttle might never end.
  const search: Service['calls']['search'] = (...given) => outageRetry(() => service.calls.search(...given), signal);
  const lister = createCallLister({ ...deps, service: { ...service, calls: { ...service.calls, search } } });
  const options = {
    readPriority: withArtefacts ? priorities.history : undefined,
    readsMissingLegs: withArtefacts,
    isWatched: false,
  };
  const unproven: UnprovenPart[] = [];
  let compared = 0;
  /** The calls of the part being listed; a set, since a page can repeat. */
  let ids = new Set<string>();
  let hours = 24;
  let at = doneUntil;
  const progress = (): BackfillProgress => ({
    share: hoursToFill.to === hoursToFill.from ? 1 : (at - hoursToFill.from) / (hoursToFill.to - hoursToFill.from),
    mirrored: compared + ids.size,
    doneUntil: at,
  });

  /** Undefined when `signal` fired meanwhile. */
  async function list(part: TimeRange): Promise<Listing | undefined> {
    const onPage: OnPage = async (page, read) => {
      await mirrorPage(db, page, read, options);
      for (const call of page) ids.add(call.id);
      onProgress(progress());
    };
    try {
      return await lister.list(part, onPage, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  while (at < hoursToFill.to) {
    const part = { from: at, to: Math.min(at + hours * hour, hoursToFill.to) };
    const listing = signal.aborted ? undefined : await list(part);
    if (!listing) break;
    const { calls, problem } = listing;
    await inTransaction(db, async (tx) => {
      const unlisted = await recordHours(tx, { hours: hoursOf(part), calls, problem });
      await markDirty(
        tx,
        unlisted.map((key) => ({ kind: 'call', key, priority: priorities.history })),
      );
      await saveCursor(tx, id, part.to, calls.size);
    });
    if (problem !== undefined) unproven.push({ from: new Date(part.from * 1_000), problem });
    at = part.to;
    compared += calls.size;
    ids = new Set();
    onProgress(progress());
    hours = nextHours(hours, calls.size);
  }
  const isFinished = at >= hoursToFill.to;
  if (isFinished) await query(db, sql`update ops.backfills set finished_at = now() where backfill_id = ${id}`);
  return { ...progress(), resumedFrom: isResumed ? doneUntil : undefined, unproven, isFinished };
}

/** The length of the next range, which should have about `callsPerRange` calls. */
function nextHours(hours: number, calls: number): number {
  const wanted = calls === 0 ? hours * 4 : Math.round((hours * callsPerRange) / calls);
  return Math.max(1, Math.min(wanted, hours * 4, maxRangeHours));
}

/** The past hours that a range touches. */
function wholeHours({ from, to }: TimeRange): TimeRange {
  const start = hourOf(from);
  const currentHour = hourOf(Date.now() / 1_000);
  return { from: start, to: Math.max(start, Math.min(Math.ceil(to / hour) * hour, currentHour)) };
}

/** Opens a run, or resumes an unfinished one with the same start and no later end. Without `--to`, the end is now. */
async function openBackfill(
  db: Database,
  { from, to }: TimeRange,
  withArtefacts: boolean,
): Promise<{ id: string; doneUntil: number; isResumed: boolean }> {
  type Opened = { backfill_id: string; done_until: number; is_resumed: boolean };
  const [start, end] = [sql`to_timestamp(${from})`, sql`to_timestamp(${to})`];
  const returned = sql`backfill_id, extract(epoch from done_until)::integer as done_until, done_until > asked_from as is_resumed`;
  const unfinished = await query(
    db,
    sql<Opened>`update ops.backfills set asked_to = ${end} where backfill_id = (
       select backfill_id from ops.backfills
       where stream = 'calls' and asked_from = ${start} and asked_to <= ${end} and has_artefacts = ${withArtefacts}
         and finished_at is null
       order by asked_to desc limit 1)
     returning ${returned}`,
  );
  const [opened] =
    unfinished.length > 0
      ? unfinished
      : await query(
          db,
          sql<Opened>`insert into ops.backfills as b (stream, asked_from, asked_to, has_artefacts, done_until)
           values ('calls', ${start}, ${end}, ${withArtefacts}, ${start})
           on conflict (stream, asked_from, asked_to, has_artefacts) where finished_at is null and not is_automatic
             do update set done_until = b.done_until
           returning ${returned}`,
        );
  if (!opened) throw new Error('an upsert gave no row');
  return { id: opened.backfill_id, doneUntil: opened.done_until, isResumed: opened.is_resumed };
}

async function saveCursor(tx: Transaction, id: string, doneUntil: number, calls: number): Promise<void> {
  await query(
    tx,
    sql`update ops.backfills
     set done_until = greatest(done_until, to_timestamp(${doneUntil})), mirrored_count = mirrored_count + ${calls}
     where backfill_id = ${id}`,
  );
}

/** Called with the reason and the milliseconds of each wait. */
export type OnWait = (error: ServiceError, ms: number) => void;

/** Milliseconds without an answer after which a back-fill is given up. */
const maxOutageMs = 1_800_000;
const outageBackoff = { firstMs: 2_000, maxMs: 120_000 };
/** Error codes worth retrying before the first success. Anything else may mean that API_BASE_URL is wrong. */
const retriedAtOnce = new Set(['rate_limited', 'server', 'circuit_open']);

/**
 * Retries requests of one back-fill while the service is down. Rejects with an error that a retry can't help, with the
 * last error after half an hour without an answer, and when `signal` fires.
 */
export function createOutageRetry(
  onWait: OnWait,
  now = () => performance.now(),
  wait = (ms: number, signal: AbortSignal): Promise<unknown> => sleep(ms, undefined, { signal }),
): <T>(ask: () => Promise<T>, signal: AbortSignal) => Promise<T> {
  let hasAnswered = false;
  const isRetried = (error: unknown): error is ServiceError =>
    error instanceof ServiceError &&
    error.advice === 'retry' &&
    error.code !== 'account_unrecognized' &&
    (hasAnswered || retriedAtOnce.has(error.code));

  return async (ask, signal) => {
    const began = now();
    const answer = await pRetry(ask, {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 0,
      async onFailedAttempt({ error, attemptNumber }) {
        if (signal.aborted || !isRetried(error)) throw error;
        const ms = backoffMs(outageBackoff, attemptNumber, { askedMs: error.retryAfterMs });
        if (now() + ms - began > maxOutageMs) throw error;
        onWait(error, ms);
        await wait(ms, signal);
      },
    });
    hasAnswered = true;
    return answer;
  };
}
