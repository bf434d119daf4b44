import { type Database, query } from '../../warehouse/database.ts';
import { isMigrated } from '../../warehouse/migrate.ts';

/** Where answers of the API differ from its specification. */
export interface DriftFacts {
  readonly kinds: number;
  readonly latest: readonly DriftRow[];
  /** What hinted in the last day at answers that are only a part, newest first, one an operation. */
  readonly partial: readonly Pick<DriftRow, 'operation' | 'path' | 'lastSeenAt'>[];
}

export interface DriftRow {
  readonly operation: string;
  readonly path: string;
  readonly what: string;
  readonly sample: string;
  readonly seen: number;
  readonly lastSeenAt: Date;
}

/** The webhook subscriptions that deliver to this receiver, as last mirrored. */
export interface SubscriptionFacts {
  readonly ours: readonly { readonly type: string | null; readonly isEnabled: boolean }[];
  readonly othersCount: number;
  readonly readAt: Date | null;
}

export interface SchemaFacts {
  readonly newestMigration: string | null;
  /** The database has all migrations of this release. */
  readonly isMigrated: boolean;
  /** A standby takes no writes, and hosts take them from a database whose disk is full. */
  readonly takesWrites: boolean;
  /** The server's own version. */
  readonly postgres: string;
}

const driftShown = 8;

export async function readDrift(db: Database): Promise<DriftFacts> {
  const latest = await query<DriftRow & { kinds: number }>(
    db,
    `select operation, path, what, sample, seen_count::float8 as seen, last_seen_at as "lastSeenAt",
       count(*) over ()::int as kinds
     from ops.drift order by last_seen_at desc, operation, path limit ${driftShown}`,
    [],
  );
  const partial = await query<DriftFacts['partial'][number]>(
    db,
    `select * from (
       select distinct on (operation) operation, path, last_seen_at as "lastSeenAt" from ops.drift
       where what = 'sibling_key' and last_seen_at > now() - interval '1 day' order by operation, last_seen_at desc
     ) newest order by "lastSeenAt" desc`,
    [],
  );
  return { kinds: latest[0]?.kinds ?? 0, latest: latest.map(({ kinds: _, ...row }) => row), partial };
}

export async function readSubscriptions(db: Database): Promise<SubscriptionFacts> {
  const rows = await query<{ type: string | null; isEnabled: boolean; isOurs: boolean; readAt: Date }>(
    db,
    `select event_type as type, coalesce(is_enabled, true) as "isEnabled", coalesce(is_ours, false) as "isOurs",
       fetched_at as "readAt"
     from warehouse.webhook_subscriptions where deleted_at is null order by event_type, subscription_id`,
    [],
  );
  const ours = rows.filter(({ isOurs }) => isOurs);
  return {
    ours: ours.map(({ type, isEnabled }) => ({ type, isEnabled })),
    othersCount: rows.length - ours.length,
    readAt: rows.reduce<Date | null>((latest, { readAt }) => (latest && latest > readAt ? latest : readAt), null),
  };
}

export async function readSchema(db: Database): Promise<SchemaFacts> {
  // Not what this transaction may do: the status is read in one that only reads.
  const [server] = await query<{ postgres: string; takesWrites: boolean; hasMigrations: boolean }>(
    db,
    `select current_setting('server_version') as postgres, to_regclass('ops.migrations') is not null as "hasMigrations",
       not (pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean) as "takesWrites"`,
    [],
  );
  const [newest] = server?.hasMigrations
    ? await query<{ name: string }>(db, 'select name from ops.migrations order by name desc limit 1', [])
    : [];
  return {
    newestMigration: newest?.name ?? null,
    isMigrated: await isMigrated(db),
    takesWrites: server?.takesWrites ?? true,
    postgres: server?.postgres ?? '',
  };
}
