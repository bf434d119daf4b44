import { type Database, query, retryDeadlock, sql } from '../db/database.ts';
import type { TargetKind } from './targets.ts';

/** Kinds whose reads are parked now. */
export const parkedKinds = sql`array(select s.kind from ops.streams s where s.parked_until > now())`;

/** Seconds for which a refused stream is parked: one request a kind tries again then. */
const waitSeconds = 15;

/**
 * Parks the stream of a kind, because the credential is refused or lacks a scope: its targets wait, other kinds are read.
 * Of simultaneous refusals, the first one is stored.
 */
export async function parkStream(
  db: Database,
  kind: TargetKind,
  {
    code,
    reason,
    missingScope,
  }: { readonly code: string; readonly reason: string; readonly missingScope?: string | undefined },
): Promise<void> {
  await query(
    db,
    sql`insert into ops.streams as s (kind, parked_until, code, reason, missing_scope)
     values (${kind}, now() + ${waitSeconds}::integer * interval '1 second', ${code}, ${reason}, ${missingScope ?? null})
     on conflict (kind) do update set parked_until = excluded.parked_until,
       code = excluded.code, reason = excluded.reason, missing_scope = excluded.missing_scope
     where s.parked_until <= now()`,
  );
}

/** Resumes the streams of these kinds. Those that no missing scope parked try again at once, since the credential is accepted. */
export async function resumeStreams(db: Database, kinds: readonly TargetKind[]): Promise<void> {
  await query(db, sql`delete from ops.streams where kind = any(${kinds})`);
  await query(
    db,
    sql`update ops.streams set parked_until = now() where missing_scope is null and parked_until > now()`,
  );
}

/** Lets parked streams probe now, because the credential has changed. */
export async function retryStreams(db: Database): Promise<void> {
  await query(db, sql`update ops.streams set parked_until = now() where parked_until > now()`);
}

/** Targets that become due per second, so that new events are read between them. */
const retriesPerSecond = 100;

/**
 * Marks the targets dirty that the credential's role was not allowed to read. They become due one after another, starting in
 * `afterSeconds`: live ones first, the most recently refused first. Returns how many.
 */
export async function retryForbidden(db: Database, afterSeconds: number): Promise<number> {
  // A read in progress may still use the refused credential. Its version must not make the target clean.
  const statement = sql<{ count: number }>`
    with forbidden as (
      select kind, key, priority, read_at from ops.sync_targets
      where last_error is not null and state = 'forbidden' order by kind, key for update
    ), placed as (
      select kind, key, now() + ${afterSeconds} * interval '1 second'
        + (row_number() over (order by priority, read_at desc nulls last) - 1) / ${sql.lit(retriesPerSecond)}::float8 * interval '1 second' as due_at
      from forbidden
    ), reopened as (
      update ops.sync_targets t set dirty_version = t.dirty_version + 1, enqueued_at = '-infinity',
        due_at = case when t.dirty_version > t.clean_version then least(t.due_at, placed.due_at) else placed.due_at end
      from placed where t.kind = placed.kind and t.key = placed.key
      returning 1
    )
    select count(*)::integer as count from reopened`;
  const [row] = await retryDeadlock(() => query(db, statement));
  return row?.count ?? 0;
}
