import { sql } from '../db/database.ts';

/**
 * Whether a target (`r` of ops.sync_targets) is pending, and whether its kind is parked until the API key gets a
 * permission.
 */
export const isPending = sql`r.dirty_version > r.clean_version`;
export const isParked = sql`r.kind in (select kind from ops.parked_kinds)`;

/** The state of a target, in words. */
export const stateInWords = sql`case when r.claimed_until > now() then 'being read'
  when r.state <> 'active' then r.state
  when not (${isPending}) then case when r.last_error is null then 'up to date' else 'failed' end
  when ${isParked} then 'parked' when r.attempts > 0 then 'failing' when r.due_at <= now() then 'due' else 'due later' end`;
