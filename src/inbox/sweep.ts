import type { RawBuilder } from 'kysely';
import { type QueueName, queueNames, queueSettings } from '../../config/queues.ts';
import { type Database, hotQuery, query, sql } from '../db/database.ts';
import { beat } from '../shared/beat.ts';
import type { Log } from '../shared/log.ts';
import { type Loop, startLoop } from '../shared/loop.ts';
import { withTimeout } from '../shared/timeout.ts';
import type { DueFloor } from './due-floor.ts';
import { kindsOfQueues } from './notifier.ts';
import { parkedKinds } from './parking.ts';
import { type Priority, priorities, type Target, type TargetKind, targetId } from './targets.ts';

/*
 * A job only announces that a target is due. The sweep reads targets without a job, straight from `ops.sync_targets`:
 * history, rechecks, retries, and targets whose job no worker took. So a queue that is away, lost or blocked costs
 * seconds.
 */

/** Milliseconds between two sweeps that nothing triggered: `workers/due-work.ts` triggers one when reads are due. */
const everyMs = 300_000;
/** Milliseconds after which a job that no worker took counts as lost. */
const lostAfterMs = 5_000;

export interface SweepDeps {
  readonly db: Database;
  readonly log: Log;
  /** Where scans for due targets begin. Default: at the start. */
  readonly floor?: DueFloor;
  /** The queues whose targets this process reads. Default: all. */
  readonly queues?: readonly QueueName[];
  /** Reads a target. After the signal it ends early. */
  readonly read: (target: Target, signal: AbortSignal) => Promise<unknown>;
}

export interface Sweep extends Pick<Loop, 'kick'> {
  /** Begins no more reads. Aborts running reads shortly before `deadlineMs`. */
  close(deadlineMs: number): Promise<void>;
}

/** The part of a deadline that remains for aborted reads, in milliseconds. */
const abortedMs = 1_000;

/** Starts to read overdue targets, live ones first. Each queue has its own limit of reads at a time. */
export function startSweep({ db, log, floor, queues = queueNames, read }: SweepDeps): Sweep {
  const stopping = new AbortController();
  const inHand = new Map(queues.map((queue) => [queue, new Map<string, Promise<void>>()]));
  const allKinds = queues.flatMap((queue) => kindsOfQueues.get(queue) ?? []);
  const overdue = (priority: Priority) =>
    sql`priority = ${sql.lit(priority)} and due_at >= ${floor?.of(priority) ?? '-infinity'} and ${isOverdue()}`;
  const loop = startLoop({ name: 'Reading overdue targets', everyMs, log, job: sweep });

  async function sweep(signal: AbortSignal): Promise<void> {
    await floor?.raise();
    // Usually none or a few targets are overdue: one statement tells.
    const isOverdueIn = await peek(db, allKinds, overdue);
    if (!isOverdueIn) return;
    const isHeldBack = isOverdueIn(allKinds, priorities.history) && (await isStrained(db));
    for (const [queue, reading] of inHand) {
      const { reads } = queueSettings[queue];
      for (const [priority, most] of [
        [priorities.live, reads],
        // While live reads fail, history is read one target at a time.
        [priorities.history, isHeldBack ? 1 : reads],
      ] as const) {
        if (signal.aborted || reading.size >= most) continue;
        const kinds = kindsOfQueues.get(queue) ?? [];
        if (!isOverdueIn(kinds, priority)) continue;
        for (const target of await markOverdue(db, kinds, priority, most - reading.size, overdue)) {
          begin(target, reading, reads);
        }
      }
    }
  }

  function begin(target: Target, reading: Map<string, Promise<void>>, reads: number): void {
    const id = targetId(target);
    if (reading.has(id)) return;
    const ended = beat
      .busy(read(target, stopping.signal))
      .catch((err: unknown) => log.warn({ err, kind: target.kind }, 'A target could not be read; it stays due'))
      .then(() => {
        reading.delete(id);
        if (reading.size === Math.floor(reads / 2)) void loop.kick();
      });
    reading.set(id, ended);
  }

  return {
    kick: loop.kick,
    async close(deadlineMs) {
      await loop.stop();
      const ended = Promise.all([...inHand.values()].flatMap((reading) => [...reading.values()]));
      await withTimeout(Math.max(0, deadlineMs - abortedMs), ended, () => stopping.abort());
      await ended;
    },
  };
}

/** Due, and lost or never enqueued. */
const isOverdue = () =>
  sql`dirty_version > clean_version and due_at <= now() and claimed_until <= now()
    and (enqueued_at < due_at or enqueued_at < now() - ${beat.ms(lostAfterMs)} * interval '1 ms') and kind <> all(${parkedKinds})`;

type Overdue = (priority: Priority) => RawBuilder<unknown>;

/** If so many of a priority are overdue, they say nothing about the kinds of the others. */
const maxPeeked = 20;

/** Whether targets of some kinds may be overdue; undefined if none are. */
async function peek(db: Database, kinds: readonly TargetKind[], overdue: Overdue) {
  const some = (priority: Priority) => sql`(select kind, priority from ops.sync_targets
    where kind = any(${kinds}) and ${overdue(priority)} limit ${sql.lit(maxPeeked)})`;
  const rows = await hotQuery(
    db,
    sql<Pick<Target, 'kind'> & { priority: Priority }>`${some(priorities.live)} union all ${some(priorities.history)}`,
  );
  if (rows.length === 0) return undefined;
  return (among: readonly TargetKind[], priority: Priority) => {
    const ofPriority = rows.filter((row) => row.priority === priority);
    return ofPriority.length === maxPeeked || ofPriority.some(({ kind }) => among.includes(kind));
  };
}

/** Whether a live or history read has been due for longer than this: the workers can't keep up. */
export async function areReadsLate(db: Database, seconds: number): Promise<boolean> {
  const [row] = await query(
    db,
    sql<{ is_late: boolean }>`select exists (
       select from ops.sync_targets
       where priority in (${sql.lit(priorities.live)}, ${sql.lit(priorities.history)}) and dirty_version > clean_version
         and due_at < now() - ${seconds} * interval '1 second' and kind <> all(${parkedKinds})
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
  overdue: Overdue,
): Promise<Target[]> {
  return query(
    db,
    sql<Target>`with overdue as (
       select kind, key from ops.sync_targets t
       where kind = any(${kinds}) and ${overdue(priority)}
       order by due_at limit ${max} for update skip locked
     )
     update ops.sync_targets t set enqueued_at = now() from overdue
     where t.kind = overdue.kind and t.key = overdue.key
     returning t.kind, t.key`,
  );
}

/** The last one or two reads of the target failed, but not because the service didn't find it. */
export const isRetrying = sql`last_error is not null and state = 'active' and attempts < 3 and misses = 0`;

/**
 * Whether the service is overloaded: some live reads are being retried after more than the two seconds that a single
 * failure costs. Ignores reads that are long overdue or far off, because they say nothing about the present load.
 */
async function isStrained(db: Database): Promise<boolean> {
  const [row] = await query(
    db,
    sql<{ is_strained: boolean }>`select exists (
       select from ops.sync_targets
       where dirty_version > clean_version and priority = ${priorities.live}
         and due_at > now() - interval '10 seconds' and due_at < now() + interval '2 minutes'
         and due_at > read_at + interval '2 seconds' and ${isRetrying}
         and kind <> all(array(select s.kind from ops.parked_kinds s))
     ) as is_strained`,
  );
  return row?.is_strained === true;
}
