import { type Database, query, retryDeadlock } from '../db/database.ts';
import type { TargetKind } from './targets.ts';

/** Why the reads of a kind are parked: the credential was refused, or lacks a scope. */
export interface Parking {
  readonly reason: string;
  readonly missingScope?: string | undefined;
}

/** Seconds for which a refused stream is parked; the wait doubles while refusals go on. */
const firstWait = 15;
const longestWait = 60;

/** Parks the stream of a kind: its targets wait without losing attempts, other kinds go on. Simultaneous refusals count once. */
export async function parkStream(db: Database, kind: TargetKind, { reason, missingScope }: Parking): Promise<void> {
  await query(
    db,
    `insert into ops.streams as s (kind, parked_until, reason, missing_scope)
     values ($1, now() + $4 * interval '1 second', $2, $3)
     on conflict (kind) do update set
       parked_until = now() + least($5, $4 * power(2, least(s.times_parked, 10))) * interval '1 second',
       times_parked = s.times_parked + 1, reason = excluded.reason, missing_scope = excluded.missing_scope
     where s.parked_until <= now()`,
    [kind, reason, missingScope ?? null, firstWait, longestWait],
  );
}

/** Resumes the streams of these kinds: their reads succeed again. */
export async function resumeStreams(db: Database, kinds: readonly TargetKind[]): Promise<void> {
  await query(db, 'delete from ops.streams where kind = any($1)', [kinds]);
}

/** Makes parked streams probe at once, since the credential has changed. */
export async function retryStreams(db: Database): Promise<void> {
  await query(db, 'update ops.streams set parked_until = now(), times_parked = 1 where parked_until > now()', []);
}

/** Targets that come due per second, so that new events are read between them. */
const retriesPerSecond = 100;

/**
 * Marks every target dirty that the credential's role was not allowed to read, due from `afterSeconds` on: live ones first,
 * then the last refused. Returns how many.
 */
export async function retryForbidden(db: Database, afterSeconds: number): Promise<number> {
  // A read in hand may still use the refused credential, so its version must not make the target clean.
  const text = `
    with forbidden as (
      select kind, key, priority, read_at from ops.sync_targets
      where last_error is not null and state = 'forbidden' order by kind, key for update
    ), placed as (
      select kind, key, now() + $1 * interval '1 second'
        + (row_number() over (order by priority, read_at desc nulls last) - 1) / ${retriesPerSecond}.0 * interval '1 second' as due_at
      from forbidden
    ), reopened as (
      update ops.sync_targets t set dirty_version = t.dirty_version + 1, rung_at = '-infinity',
        due_at = case when t.dirty_version > t.clean_version then least(t.due_at, placed.due_at) else placed.due_at end
      from placed where t.kind = placed.kind and t.key = placed.key
      returning 1
    )
    select count(*)::integer as count from reopened`;
  const [row] = await retryDeadlock(() => query<{ count: number }>(db, text, [afterSeconds]));
  return row?.count ?? 0;
}
