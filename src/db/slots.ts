import { type Database, query, sql } from './database.ts';

/** A replication slot. Postgres keeps its write-ahead log until the copy behind the slot has read it. */
export interface ReplicationSlot {
  readonly name: string;
  readonly keptBytes: number;
  /** Postgres removed log that the copy had not read, because max_slot_wal_keep_size was reached. */
  readonly isLost: boolean;
}

/** The slots of the server, of all its databases since they share its disk; the one that keeps most comes first. */
export function readSlots(db: Database): Promise<ReplicationSlot[]> {
  return query(
    db,
    sql<ReplicationSlot>`
      select slot_name::text as name, wal_status = 'lost' as "isLost",
        coalesce(greatest(0, pg_wal_lsn_diff(
          case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, restart_lsn)), 0)::float8 as "keptBytes"
      from pg_replication_slots where not temporary and wal_status is not null order by 3 desc, 1`,
  );
}
