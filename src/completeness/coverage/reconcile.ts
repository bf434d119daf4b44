import { ServiceError } from '../../api-client/client.ts';
import { type Database, inTransaction, query, sql } from '../../db/database.ts';
import { type DueTarget, markDirty, priorities } from '../../inbox/targets.ts';
import type { Log } from '../../shared/log.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import { mirrorPage, mirrorRange } from './call-pages.ts';
import {
  claimHours,
  type DueHour,
  failHours,
  hoursOf,
  joinHours,
  planHours,
  recordHours,
  releaseHours,
  scheduleHours,
} from './coverage.ts';
import { createCallLister, type ListerDeps } from './listing.ts';

export interface ReconcileDeps extends ListerDeps {
  readonly log: Log;
  readonly notify: (due: readonly DueTarget[]) => void;
}

/** Hours that one listing compares, and hours of a round. */
const maxJoinedHours = 24;
const maxHoursPerRound = 72;

export type Reconciler = ReturnType<typeof createReconciler>;

/** Compares call history with the service, hour by hour, and mirrors missing calls. */
export function createReconciler(deps: ReconcileDeps) {
  const { db, log, notify } = deps;
  const lister = createCallLister(deps);
  const now = { readPriority: priorities.live, isWatched: true, isProof: false };

  /** Resolves to how many calls were new or changed. */
  async function compareRange(range: TimeRange, isWatched: boolean, signal?: AbortSignal): Promise<number> {
    const options = { readPriority: isWatched ? priorities.live : priorities.history, isWatched };
    const { calls, problem, changed } = await mirrorRange(deps, lister, range, options, signal);
    const hours = hoursOf(range);
    const due = await inTransaction(db, async (tx) => {
      const unlisted = await recordHours(tx, { hours, calls, problem });
      return markDirty(
        tx,
        unlisted.map((key) => ({ kind: 'call', key })),
      );
    });
    notify(due);
    if (changed > 0 || problem !== undefined) {
      const from = new Date(range.from * 1_000);
      log.info({ from, hours: hours.length, changed, problem }, 'Call history was compared');
    }
    return changed;
  }

  let isFailing = false;

  /** Logs when a series of failed rounds starts and when it ends. */
  function tell(failure: ServiceError | undefined, compared: number): void {
    if (failure && !isFailing) log.warn({ err: failure }, 'Call history could not be compared; it is retried');
    if (!failure && isFailing && compared > 0) log.info('Call history is compared again');
    isFailing = failure !== undefined || (isFailing && compared === 0);
  }

  /** Resolves to how many calls were new or changed, or to why it failed; to undefined when it was aborted. */
  async function compare(range: TimeRange, isWatched: boolean, signal?: AbortSignal) {
    const hours = hoursOf(range);
    try {
      return await compareRange(range, isWatched, signal);
    } catch (error) {
      if (signal?.aborted) {
        await releaseHours(db, hours);
        return undefined;
      }
      if (!(error instanceof ServiceError)) throw error;
      await failHours(db, hours, error);
      return error;
    }
  }

  /** Mirrors the calls of each open gap, including those of the current hour, and makes its closed hours due. */
  async function fillGaps(signal?: AbortSignal): Promise<void> {
    for (const gap of await claimGaps(db, 'calls')) {
      try {
        const { changed } = await mirrorRange(deps, lister, gap.range, now, signal);
        await scheduleHours(db, gap.range);
        await closeGap(db, gap);
        log.info({ from: new Date(gap.range.from * 1_000), changed }, 'A gap in the webhooks for calls was filled');
      } catch (error) {
        // The loop continues: the next gaps are claimed too.
        await failGap(db, gap, error);
        signal?.throwIfAborted();
        if (!(error instanceof ServiceError))
          log.warn({ err: error }, 'A gap in the webhooks for calls is filled later');
      }
    }
  }

  return {
    /**
     * Compares up to three days of due hours. Resolves to the hours that were compared and those that failed, and to
     * how many calls were new or differed. Rejects only when the database can't be reached.
     */
    async round(signal?: AbortSignal) {
      await planHours(db);
      await fillGaps(signal);
      const due = await claimHours(db, maxHoursPerRound);
      let compared = 0;
      let changed = 0;
      let failure: ServiceError | undefined;
      for (const isWatched of [true, false]) {
        for (const range of rangesOf(due.filter((each) => each.isWatched === isWatched))) {
          const found = await compare(range, isWatched, signal);
          if (typeof found !== 'number') {
            failure ??= found;
            continue;
          }
          compared += hoursOf(range).length;
          changed += found;
        }
      }
      tell(failure, compared);
      return { compared, failed: due.length - compared, changed };
    },
    /**
     * Mirrors the calls of a range without comparing: calls of the current hour can be compared only after its end.
     * Resolves to how many were new or changed. Rejects with `ServiceError`.
     */
    mirror: async (range: TimeRange) => (await mirrorRange(deps, lister, range, now, undefined)).changed,
    /** Mirrors the calls that ended in a range up to now, without comparing. Rejects with `ServiceError`. */
    mirrorEnded: (range: TimeRange, signal?: AbortSignal) =>
      lister.listEnded(range, async (page, read) => notify((await mirrorPage(db, page, read, now)).due), signal),
  };
}

/**
 * Joins consecutive hours. Hours that the last attempt didn't prove are compared alone, so that they delay no other.
 */
function rangesOf(due: readonly DueHour[]): TimeRange[] {
  const starts = (hours: readonly DueHour[]) => hours.map(({ start }) => start);
  return [
    ...joinHours(starts(due.filter(({ attempts }) => attempts === 0)), maxJoinedHours),
    ...joinHours(starts(due.filter(({ attempts }) => attempts > 0)), 1),
  ];
}

/** A period in which webhooks may have been lost (ops.gaps). */
export interface OpenGap {
  readonly id: string;
  readonly range: TimeRange;
}

const isDue = (stream: 'calls' | 'texts') =>
  sql`filled_at is null and stream = ${sql.lit(stream)} and next_try_at <= now()`;

/** SQL: gaps of a stream are due. */
export const gapsWait = (stream: 'calls' | 'texts') => sql`exists (select from ops.gaps where ${isDue(stream)})`;

/** Claims the open gaps of a stream for five minutes. */
export async function claimGaps(db: Database, stream: 'calls' | 'texts'): Promise<OpenGap[]> {
  const rows = await query(
    db,
    sql<{ gap_id: string; from: number; to: number }>`update ops.gaps set next_try_at = now() + interval '5 minutes'
     where ${isDue(stream)}
     returning gap_id, floor(extract(epoch from from_at))::integer as from, ceil(extract(epoch from to_at))::integer as to`,
  );
  return rows.map(({ gap_id, from, to }) => ({ id: gap_id, range: { from, to } }));
}

/** Records that a gap was searched. A gap of texts may have waited for the calls of the same period. */
export async function closeGap(db: Database, { id }: OpenGap): Promise<void> {
  await query(
    db,
    sql`with closed as (
        update ops.gaps set filled_at = now(), last_error = null where gap_id = ${id} returning stream, from_at, to_at
      )
      update ops.gaps g set next_try_at = now() from closed c
      where c.stream = 'calls' and g.stream = 'texts' and g.filled_at is null and g.from_at < c.to_at and g.to_at > c.from_at`,
  );
}

/** Whether calls of a gap's period are still missing. */
export async function hasOpenCallGap(db: Database, { range }: OpenGap): Promise<boolean> {
  const rows = await query(
    db,
    sql`select from ops.gaps
     where stream = 'calls' and filled_at is null
       and from_at < to_timestamp(${range.to}) and to_at > to_timestamp(${range.from})`,
  );
  return rows.length > 0;
}

/** Makes a gap due in a minute. If it stays claimed, it's due in five. */
export async function failGap(db: Database, { id }: OpenGap, error: unknown): Promise<void> {
  const reason = error instanceof Error ? error.message : String(error);
  await query(
    db,
    sql`update ops.gaps set next_try_at = now() + interval '1 minute', last_error = ${reason} where gap_id = ${id}`,
  );
}
