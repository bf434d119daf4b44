import { type Database, query, retryDeadlock } from '../warehouse/database.ts';
import type { TargetKind } from './target.ts';

/** Why all reads of a kind wait: the credential was refused, or lacks a scope. */
export interface Parking {
  readonly reason: string;
  readonly missingScope?: string | undefined;
}

/** The first wait of a refused stream, in seconds; it doubles up to the longest while refusals go on. */
const firstWait = 15;
const longestWait = 60;

/**
 * Parks the stream of a kind: its targets wait, and nothing of them is burnt. Other kinds go on. Refusals that arrive
 * together count once.
 */
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

/** Lets streams go on: reads of these kinds succeed again. */
export async function resumeStreams(db: Database, kinds: readonly TargetKind[]): Promise<void> {
  await query(db, 'delete from ops.streams where kind = any($1)', [kinds]);
}

/** Lets parked streams try at once: there is another credential. */
export async function retryStreams(db: Database): Promise<void> {
  await query(db, 'update ops.streams set parked_until = now(), times_parked = 1 where parked_until > now()', []);
}

/** So many of them come due in a second: new events are read between them, however long a history was refused. */
const eachSecond = 100;

/**
 * Has everything read again that the credential's role was not allowed to, from so many seconds on: who may more has
 * logged in. What is live comes first, then what was refused last; the sweep rings for each when it is due. Answers with
 * how many there are.
 */
export async function retryForbidden(db: Database, afterSeconds: number): Promise<number> {
  // A read that is under way may still go by what was refused: the version that it began with must not make it clean.
  const text = `
    with forbidden as (
      select kind, key, priority, read_at from ops.sync_targets
      where last_error is not null and state = 'forbidden' order by kind, key for update
    ), placed as (
      select kind, key, now() + $1 * interval '1 second'
        + (row_number() over (order by priority, read_at desc nulls last) - 1) / ${eachSecond}.0 * interval '1 second' as turn
      from forbidden
    ), reopened as (
      update ops.sync_targets t set dirty_version = t.dirty_version + 1, rung_at = '-infinity',
        due_at = case when t.dirty_version > t.clean_version then least(t.due_at, placed.turn) else placed.turn end
      from placed where t.kind = placed.kind and t.key = placed.key
      returning 1
    )
    select count(*)::integer as count from reopened`;
  const [row] = await retryDeadlock(() => query<{ count: number }>(db, text, [afterSeconds]));
  return row?.count ?? 0;
}
