import { ServiceError } from '../../api-client/client.ts';
import { type Database, inTransaction, query } from '../../db/database.ts';
import { type DueTarget, markDirty, priorities, type ReadPauses } from '../../inbox/targets.ts';
import type { Log } from '../../shared/log.ts';
import type { Span } from '../../shared/span.ts';
import {
  askForHours,
  claimHours,
  type DueHour,
  failHours,
  hoursOf,
  joinHours,
  planHours,
  recordHours,
  releaseHours,
} from './coverage.ts';
import { type CallLister, createCallLister, type ListerDeps } from './listing.ts';
import { mirrorSpan } from './mirroring.ts';

export interface ReconcileDeps extends ListerDeps {
  readonly log: Log;
  readonly pauses: ReadPauses;
  readonly notify: (due: readonly DueTarget[]) => void;
}

/** The result of a round, in hours. */
export interface Round {
  readonly compared: number;
  readonly failed: number;
}

/** Compares call history with the service, hour by hour, and adds what the mirror lacks. */
export interface Reconciler {
  /** Compares up to a few days of due hours. Rejects only when the database cannot be reached. */
  round(signal?: AbortSignal): Promise<Round>;
}

/** How many neighbouring hours one listing compares, and how many a round. */
const maxJoined = 24;
const maxInRound = 72;

export function createReconciler(deps: ReconcileDeps): Reconciler {
  const { db, log } = deps;
  const lister = createCallLister(deps);

  async function compare(span: Span, isWatched: boolean, signal: AbortSignal | undefined): Promise<boolean> {
    const hours = hoursOf(span);
    try {
      await compareSpan(deps, lister, span, isWatched, signal);
      return true;
    } catch (error) {
      if (signal?.aborted) {
        await releaseHours(db, hours);
        return false;
      }
      if (!(error instanceof ServiceError)) throw error;
      log.warn({ err: error, hours: hours.length }, 'Call history could not be compared; it is retried');
      await failHours(db, hours, error.message);
      return false;
    }
  }

  return {
    async round(signal) {
      await planHours(db);
      await fillCallGaps(deps, lister, signal);
      const due = await claimHours(db, maxInRound);
      let compared = 0;
      for (const isWatched of [true, false]) {
        for (const span of spansOf(due.filter((each) => each.isWatched === isWatched))) {
          if (await compare(span, isWatched, signal)) compared += hoursOf(span).length;
        }
      }
      return { compared, failed: due.length - compared };
    },
  };
}

async function compareSpan(
  deps: ReconcileDeps,
  lister: CallLister,
  span: Span,
  isWatched: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { db, log, pauses, notify } = deps;
  const consequences = { readWith: isWatched ? priorities.live : priorities.history, isWatched };
  const { calls, doubt, mended } = await mirrorSpan(deps, lister, span, consequences, signal);
  const hours = hoursOf(span);
  const due = await inTransaction(db, async (tx) => {
    const unlisted = await recordHours(tx, { hours, calls, doubt });
    return markDirty(
      tx,
      unlisted.map((key) => ({ kind: 'call', key })),
      pauses,
    );
  });
  notify(due);
  if (mended > 0 || doubt !== undefined) {
    log.info({ from: new Date(span.from * 1_000), hours: hours.length, mended, doubt }, 'Call history was compared');
  }
}

/** Joins neighbours. An hour that was not proven by its last comparison stays alone, so that it delays no other. */
function spansOf(due: readonly DueHour[]): Span[] {
  const begins = (hours: readonly DueHour[]) => hours.map(({ begin }) => begin);
  return [
    ...joinHours(begins(due.filter(({ attempts }) => attempts === 0)), maxJoined),
    ...joinHours(begins(due.filter(({ attempts }) => attempts > 0)), 1),
  ];
}

/** A time in which webhooks may have been lost (ops.gaps). */
export interface OpenGap {
  readonly id: string;
  readonly span: Span;
}

/** Claims the open gaps of a stream for five minutes. */
export async function claimGaps(db: Database, stream: 'calls' | 'texts'): Promise<OpenGap[]> {
  const rows = await query<{ gap_id: string; from: number; to: number }>(
    db,
    `update ops.gaps set next_try_at = now() + interval '5 minutes'
     where filled_at is null and stream = $1 and next_try_at <= now()
     returning gap_id, floor(extract(epoch from from_at))::integer as from, ceil(extract(epoch from to_at))::integer as to`,
    [stream],
  );
  return rows.map(({ gap_id, from, to }) => ({ id: gap_id, span: { from, to } }));
}

export async function closeGap(db: Database, { id }: OpenGap): Promise<void> {
  await query(db, 'update ops.gaps set filled_at = now(), last_error = null where gap_id = $1', [id]);
}

/** Whether the calls of a gap are not filled in yet. */
export async function hasOpenCallGap(db: Database, { span }: OpenGap): Promise<boolean> {
  const rows = await query(
    db,
    `select from ops.gaps where stream = 'calls' and filled_at is null and from_at < to_timestamp($2) and to_at > to_timestamp($1)`,
    [span.from, span.to],
  );
  return rows.length > 0;
}

async function failGap(db: Database, { id }: OpenGap, reason: string): Promise<void> {
  await query(db, `update ops.gaps set next_try_at = now() + interval '1 minute', last_error = $2 where gap_id = $1`, [
    id,
    reason,
  ]);
}

/** Mirrors the calls of each open gap, those of the current hour included, and makes its closed hours due. */
async function fillCallGaps(deps: ReconcileDeps, lister: CallLister, signal: AbortSignal | undefined): Promise<void> {
  const { db, log } = deps;
  const consequences = { readWith: priorities.live, isWatched: true };
  for (const gap of await claimGaps(db, 'calls')) {
    try {
      const { mended } = await mirrorSpan(deps, lister, gap.span, consequences, signal);
      await askForHours(db, gap.span);
      await closeGap(db, gap);
      log.info({ from: new Date(gap.span.from * 1_000), mended }, 'A gap in the webhooks for calls was filled');
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      await failGap(db, gap, error.message);
    }
  }
}
