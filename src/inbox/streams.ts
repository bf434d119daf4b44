import { type Database, query } from '../warehouse/database.ts';
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

/** Lets parked streams try at once: the credential of a process that starts may be another one. */
export async function retryStreams(db: Database): Promise<void> {
  await query(db, 'update ops.streams set parked_until = now(), times_parked = 1 where parked_until > now()', []);
}
