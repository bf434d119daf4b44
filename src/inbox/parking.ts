import { type Database, query, sql } from '../db/database.ts';
import type { TargetKind } from './targets.ts';

/** Kinds whose reads are parked now. */
export const parkedKinds = sql`array(select s.kind from ops.parked_kinds s where s.parked_until > now())`;

/** Seconds for which a refused kind is parked. Then one request of each kind tries again. */
const waitSeconds = 15;

/**
 * Parks a kind, because the service refuses the API key or the key lacks a scope: targets of this kind
 * wait, other kinds are read. Of simultaneous refusals, the first is stored.
 */
export async function parkKind(
  db: Database,
  kind: TargetKind,
  { reason, missingScope }: { readonly reason: string; readonly missingScope?: string | undefined },
): Promise<void> {
  await query(
    db,
    sql`insert into ops.parked_kinds as s (kind, parked_until, reason, missing_scope)
     values (${kind}, now() + ${waitSeconds}::integer * interval '1 second', ${reason}, ${missingScope ?? null})
     on conflict (kind) do update set parked_until = excluded.parked_until,
       reason = excluded.reason, missing_scope = excluded.missing_scope
     where s.parked_until <= now()`,
  );
}

/** Resumes these kinds. Other parked kinds try again at once, unless they lack a scope: the key is accepted. */
export async function resumeKinds(db: Database, kinds: readonly TargetKind[]): Promise<void> {
  await query(db, sql`delete from ops.parked_kinds where kind = any(${kinds})`);
  await query(
    db,
    sql`update ops.parked_kinds set parked_until = now() where missing_scope is null and parked_until > now()`,
  );
}

/** Lets parked kinds probe now, because the API key may have changed. */
export async function retryParkedKinds(db: Database): Promise<void> {
  await query(db, sql`update ops.parked_kinds set parked_until = now() where parked_until > now()`);
}
