import { type Database, query, sql } from '../db/database.ts';
import type { TargetKind } from './targets.ts';

/** Kinds whose reads are parked now. */
export const parkedKinds = sql`array(select s.kind from ops.streams s where s.parked_until > now())`;

/** Seconds for which a refused stream is parked. Then one request of each kind tries again. */
const waitSeconds = 15;

/**
 * Parks the stream of a kind, because the service refuses the API key or the key lacks a scope: targets of this kind
 * wait, other kinds are read. Of simultaneous refusals, the first is stored.
 */
export async function parkStream(
  db: Database,
  kind: TargetKind,
  { reason, missingScope }: { readonly reason: string; readonly missingScope?: string | undefined },
): Promise<void> {
  await query(
    db,
    sql`insert into ops.streams as s (kind, parked_until, reason, missing_scope)
     values (${kind}, now() + ${waitSeconds}::integer * interval '1 second', ${reason}, ${missingScope ?? null})
     on conflict (kind) do update set parked_until = excluded.parked_until,
       reason = excluded.reason, missing_scope = excluded.missing_scope
     where s.parked_until <= now()`,
  );
}

/**
 * Resumes the streams of these kinds. Other streams try again at once, unless they lack a scope: the key is accepted.
 */
export async function resumeStreams(db: Database, kinds: readonly TargetKind[]): Promise<void> {
  await query(db, sql`delete from ops.streams where kind = any(${kinds})`);
  await query(
    db,
    sql`update ops.streams set parked_until = now() where missing_scope is null and parked_until > now()`,
  );
}

/** Lets parked streams probe now, because the API key may have changed. */
export async function retryStreams(db: Database): Promise<void> {
  await query(db, sql`update ops.streams set parked_until = now() where parked_until > now()`);
}
