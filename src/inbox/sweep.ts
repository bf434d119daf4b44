import { type Database, query, sql } from '../db/database.ts';
import type { Queues } from '../queues/queues.ts';
import { parkedKinds } from './claims.ts';
import { kindsOfQueues, type Notifier } from './notifier.ts';
import { type Priority, priorities, type Target, type TargetKind } from './targets.ts';

export interface SweepPace {
  /** Milliseconds between two sweeps. */
  readonly everyMs: number;
  /** Milliseconds after which a job that no worker took counts as lost. */
  readonly lostAfterMs: number;
  /** The sweep fills each queue up to this number of waiting jobs: a long backlog stays in Postgres. */
  readonly maxWaiting: number;
  /** The same for history. While live reads fail, history is enqueued one target at a time. */
  readonly maxHistoryWaiting: number;
}

export const defaultSweepPace: SweepPace = {
  everyMs: 1_000,
  lostAfterMs: 5_000,
  maxWaiting: 1_000,
  maxHistoryWaiting: 100,
};

/** Enqueues targets that are due and that the queues lost or never received. Returns how many. */
export async function sweepTargets(
  { db, notifier, queues }: { db: Database; notifier: Pick<Notifier, 'notify'>; queues: Pick<Queues, 'waiting'> },
  pace: SweepPace,
  signal?: AbortSignal,
): Promise<number> {
  // Mostly there is none, which one statement tells.
  if (!(await isAnyOverdue(db, pace.lostAfterMs))) return 0;
  let enqueued = 0;
  const maxHistory = (await isStrained(db)) ? 1 : pace.maxHistoryWaiting;
  for (const [queue, kinds] of kindsOfQueues) {
    if (signal?.aborted) break;
    const waiting = await queues.waiting(queue);
    enqueued += await enqueueOverdue(kinds, priorities.live, pace.maxWaiting - waiting);
    enqueued += await enqueueOverdue(kinds, priorities.history, maxHistory - waiting);
  }
  return enqueued;

  async function enqueueOverdue(kinds: readonly TargetKind[], priority: Priority, max: number): Promise<number> {
    if (max <= 0) return 0;
    const overdue = await markOverdue(db, kinds, priority, max, pace.lostAfterMs);
    notifier.notify(overdue.map((target) => ({ ...target, afterMs: 0, priority })));
    return overdue.length;
  }
}

/** Due, and lost or never enqueued. */
const isOverdue = (lostAfterMs: number) =>
  sql`dirty_version > clean_version and due_at <= now() and claimed_until <= now() and lost_reads = 0
    and (enqueued_at < due_at or enqueued_at < now() - ${lostAfterMs} * interval '1 ms') and kind <> all(${parkedKinds})`;

async function isAnyOverdue(db: Database, lostAfterMs: number): Promise<boolean> {
  const [row] = await query(
    db,
    sql<{ is_any: boolean }>`select exists (
       select from ops.sync_targets
       where priority in (${sql.lit(priorities.live)}, ${sql.lit(priorities.history)}) and ${isOverdue(lostAfterMs)}
     ) as is_any`,
  );
  return row?.is_any === true;
}

/** Whether a live read or one of history has been due for longer than this: more is to be read than workers can. */
export async function areReadsLate(db: Database, seconds: number): Promise<boolean> {
  const [row] = await query(
    db,
    sql<{ is_late: boolean }>`select exists (
       select from ops.sync_targets
       where priority in (${sql.lit(priorities.live)}, ${sql.lit(priorities.history)}) and dirty_version > clean_version
         and due_at < now() - ${seconds} * interval '1 second' and lost_reads = 0 and kind <> all(${parkedKinds})
     ) as is_late`,
  );
  return row?.is_late === true;
}

/** Marks up to `max` overdue targets as enqueued and returns them; oldest due first. */
function markOverdue(
  db: Database,
  kinds: readonly TargetKind[],
  priority: Priority,
  max: number,
  lostAfterMs: number,
): Promise<Target[]> {
  return query(
    db,
    sql<Target>`with overdue as (
       select kind, key from ops.sync_targets t
       where priority = ${priority} and kind = any(${kinds}) and ${isOverdue(lostAfterMs)}
       order by due_at limit ${max} for update skip locked
     )
     update ops.sync_targets t set enqueued_at = now() from overdue
     where t.kind = overdue.kind and t.key = overdue.key
     returning t.kind, t.key`,
  );
}

/** The last one or two reads of the target failed, but not because it was not found. */
export const isRetrying = sql`last_error is not null and state = 'active' and attempts < 3 and misses = 0`;

/**
 * Whether the service is overloaded: some live reads, which go first, are being retried after more than the two seconds that
 * a single failure costs. Reads long overdue or far off say nothing about the present load.
 */
async function isStrained(db: Database): Promise<boolean> {
  const [row] = await query(
    db,
    sql<{ is_strained: boolean }>`select exists (
       select from ops.sync_targets
       where dirty_version > clean_version and priority = ${priorities.live}
         and due_at > now() - interval '10 seconds' and due_at < now() + interval '2 minutes'
         and due_at > read_at + interval '2 seconds' and ${isRetrying}
         and kind <> all(array(select s.kind from ops.streams s))
     ) as is_strained`,
  );
  return row?.is_strained === true;
}
