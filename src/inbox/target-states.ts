import { type Database, query, relation, sql } from '../db/database.ts';
import type { Target } from './targets.ts';

/**
 * Whether a target (`r` of ops.sync_targets) is pending, and whether its kind is parked until the API key gets a
 * permission.
 */
export const isPending = sql`r.dirty_version > r.clean_version`;
export const isParked = sql`r.kind in (select kind from ops.streams)`;

/** The state of a target, in words. */
export const stateInWords = sql`case when r.claimed_until > now() then 'being read'
  when r.state <> 'active' then r.state
  when not (${isPending}) then case when r.last_error is null then 'up to date' else 'failed' end
  when ${isParked} then 'parked' when r.attempts > 0 then 'failing' when r.due_at <= now() then 'due' else 'due later' end`;

/** The newest read of a target, and the delivery that last made it pending. */
export interface TargetState extends Target {
  readonly words: string;
  /** The result of the newest read: active, gone, forbidden or refused. */
  readonly state: string;
  readonly error: string | null;
  readonly readAt: Date | null;
  readonly isPending: boolean;
  /**
   * When a job was enqueued: measured in the delivery's transaction, which starts just before the delivery is stored.
   */
  readonly enqueuedAt: Date | null;
  readonly dueAt: Date;
  /** Reads that failed in a row. */
  readonly attempts: number;
  readonly refusedAt: Date | null;
  readonly priority: number;
  /** Null if something other than a delivery did. */
  readonly deliveryId: string | null;
  /** Null if the delivery is no longer stored. */
  readonly receivedAt: Date | null;
  readonly eventType: string | null;
  readonly parkedUntil: Date | null;
  readonly parkedReason: string | null;
  readonly missingScope: string | null;
}

/** Reads the states of targets, in the same order. Leaves out targets that were never pending. */
export function readTargetStates(db: Database, targets: readonly Target[]): Promise<TargetState[]> {
  return query(
    db,
    sql<TargetState>`select kind, key, ${stateInWords} as words, r.state, r.last_error as error, r.read_at as "readAt", ${isPending} as "isPending",
       case when r.enqueued_at > '-infinity' then greatest(r.enqueued_at, d.received_at) end as "enqueuedAt", r.due_at as "dueAt",
       r.attempts, r.refused_at as "refusedAt", r.priority, r.delivery_id as "deliveryId", d.received_at as "receivedAt",
       d.event_type as "eventType", s.parked_until as "parkedUntil", s.reason as "parkedReason", s.missing_scope as "missingScope"
     from ${relation('t', targets, { kind: 'text', key: 'text' }, 'place')} join ops.sync_targets r using (kind, key)
       left join ops.deliveries d using (delivery_id) left join ops.streams s using (kind)
     order by t.place`,
  );
}
