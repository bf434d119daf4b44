import { type QueueName, queueNames } from '../../../config/queues.ts';
import { type Database, query, sql } from '../../db/database.ts';
import { isAhead, isMigrated } from '../../db/migrate.ts';
import { outdatedViews } from '../../db/repeatable.ts';
import { readConnections } from '../../processes/running.ts';
import type { Queues, QueuesHealth } from '../../queues/queues.ts';
import { beat } from '../../shared/beat.ts';
import { type Announcing, checkSeconds, readAnnouncing } from '../../sync/subscriptions/store.ts';

/** The webhook subscriptions that deliver to this receiver, as last checked. */
export interface SubscriptionsStatus {
  /** The event types whose subscription is in place. */
  readonly ours: readonly string[];
  /** Event types without a subscription that the receiver needs but could neither find nor repair. */
  readonly broken: readonly string[];
  /** Repaired in the last minutes, because somebody had changed them at the service. */
  readonly repaired: readonly { readonly type: string; readonly fault: string; readonly since: Date }[];
  /** The streams that workers poll, because no subscription of ours is known to be in place. */
  readonly polled: readonly ('calls' | 'texts')[];
  /** The streams whose subscription is in place and whose events do not arrive. */
  readonly lost: readonly Announcing[];
  /** The addresses of other receivers with enabled subscriptions, without their secrets. */
  readonly otherReceivers: readonly string[];
  readonly checkedAt: Date | null;
}

export interface SchemaStatus {
  readonly newestMigration: string | null;
  /** The database has all migrations of this release. */
  readonly isMigrated: boolean;
  /** Reporting views that are missing or belong to an earlier release. */
  readonly outdatedViews: readonly string[];
  /** False on a standby, and if the host has made the database read-only because its disk is full. */
  readonly takesWrites: boolean;
  /** The version of the server. */
  readonly postgres: string;
}

/** How long the repair of a subscription is shown. */
const repairedMinutes = 5;

export async function readSubscriptions(db: Database): Promise<SubscriptionsStatus> {
  // The check before the repair still found it in place.
  const watched = await query<
    SubscriptionsStatus['repaired'][number] & {
      isBroken: boolean;
      isRepaired: boolean;
      others: readonly string[];
      checkedAt: Date | null;
    }
  >(
    db,
    sql`select event_type as type, last_fault as fault, changed_at - ${checkSeconds} * interval '1 second' as since,
       state <> 'in_place' as "isBroken", state = 'in_place' and last_fault is not null
         and changed_at > now() - ${repairedMinutes} * interval '1 minute' as "isRepaired",
       other_receivers as others, in_place_at as "checkedAt"
     from ops.subscription_watch order by 1`,
  );
  const announcing = await readAnnouncing(db);
  return {
    ours: watched.flatMap(({ type, isBroken }) => (isBroken ? [] : [type])),
    broken: watched.flatMap(({ type, isBroken }) => (isBroken ? [type] : [])),
    repaired: watched.flatMap(({ type, fault, since, isRepaired }) => (isRepaired ? [{ type, fault, since }] : [])),
    polled: announcing.filter(({ isInPlace }) => !isInPlace).map(({ stream }) => stream),
    lost: announcing.filter(({ lost }) => lost > 0),
    otherReceivers: [...new Set(watched.flatMap(({ others }) => others))],
    checkedAt: watched.reduce<Date | null>(
      (latest, { checkedAt }) => (latest && (!checkedAt || latest > checkedAt) ? latest : checkedAt),
      null,
    ),
  };
}

export async function readSchema(db: Database): Promise<SchemaStatus> {
  // Not `transaction_read_only`: the snapshot itself uses a read-only transaction.
  const [server] = await query<{ postgres: string; takesWrites: boolean; hasMigrations: boolean }>(
    db,
    sql`select current_setting('server_version') as postgres, to_regclass('ops.migrations') is not null as "hasMigrations",
       not (pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean) as "takesWrites"`,
  );
  const [newest] = server?.hasMigrations
    ? await query<{ name: string }>(db, sql`select name from ops.migrations order by name desc limit 1`)
    : [];
  const isCurrent = await isMigrated(db);
  return {
    newestMigration: newest?.name ?? null,
    isMigrated: isCurrent,
    // A newer release takes care of its own views.
    outdatedViews: isCurrent && !(await isAhead(db)) ? await outdatedViews(db) : [],
    takesWrites: server?.takesWrites ?? true,
    postgres: server?.postgres ?? '',
  };
}

/** How long a session that takes no writes is reported after the last refusal: less than an alert must last. */
export const readOnlyMaxMs = 15_000;

/** Problems of the server, or caused by other sessions. */
export interface PostgresStatus {
  /** When Postgres last told one of our processes that the disk is full. Null if that was more than two minutes ago. */
  readonly diskFullAt: Date | null;
  /** When a session of a running process was last read-only. Null if that was more than fifteen seconds ago. */
  readonly readOnlyAt: Date | null;
  /** The connection limit, if it is lower than what the processes may open. Null otherwise. */
  readonly connections: { readonly sentence: string; readonly remedy: string; readonly isTooMuch: boolean } | null;
}

export async function readPostgres(db: Database, poolSize: number): Promise<PostgresStatus> {
  const [refused] = await query<Pick<PostgresStatus, 'diskFullAt' | 'readOnlyAt'>>(
    db,
    sql`select max(disk_full_at) filter (where disk_full_at > now() - interval '2 minutes') as "diskFullAt",
       max(read_only_at) filter (where read_only_at > now() - ${beat.ms(readOnlyMaxMs)} * interval '1 ms') as "readOnlyAt" from ops.processes`,
  );
  const { remedy, ...limit } = await readConnections(db, poolSize);
  return {
    diskFullAt: refused?.diskFullAt ?? null,
    readOnlyAt: refused?.readOnlyAt ?? null,
    connections: remedy === undefined ? null : { ...limit, remedy },
  };
}

/** The last time that the database went back in time. Null a day later, once sends are resumed. */
export interface LostWritesStatus {
  readonly from: Date;
  /** When it was noticed. */
  readonly until: Date;
  /** Sends are paused for it. */
  readonly isPaused: boolean;
}

export async function readLostWrites(db: Database): Promise<LostWritesStatus | null> {
  const [row] = await query(
    db,
    sql<LostWritesStatus>`select lost_from as "from", noticed_at as until, is_paused as "isPaused"
      from ops.last_report r, (select is_paused and paused_by = 'recovery' as is_paused from ops.send_control) k
      where noticed_at is not null and (is_paused or noticed_at > now() - interval '1 day')`,
  );
  return row ?? null;
}

export interface QueuesStatus extends QueuesHealth {
  /** Waiting jobs of each queue. Null if unknown. */
  readonly waiting: Readonly<Record<QueueName, number | null>>;
}

/** Never rejects: an unreachable queue store is a valid result. */
export async function readQueues(queues: Pick<Queues, 'health' | 'waiting'>): Promise<QueuesStatus> {
  const health = await queues.health();
  const waiting = await Promise.all(
    queueNames.map(async (name) => {
      const count = health.isReachable ? await queues.waiting(name).catch(() => null) : null;
      return [name, count] as const;
    }),
  );
  return { ...health, waiting: Object.fromEntries(waiting) as Record<QueueName, number | null> };
}

/** Open alerts, and alerts that a target didn't accept. */
export interface AlertsStatus {
  readonly open: readonly { readonly check: string; readonly level: string; readonly since: Date }[];
  readonly undelivered: readonly { readonly target: string; readonly count: number; readonly error: string }[];
}

/** Attempts after which a message counts as undelivered. */
const maxQuietAttempts = 3;

export async function readAlerts(db: Database): Promise<AlertsStatus> {
  const open = await query<AlertsStatus['open'][number]>(
    db,
    sql`select check_name as check, max(level) as level, min(known_at) as since from ops.alerts
      where news_at is not null and ended_at is null group by check_name order by since`,
  );
  const undelivered = await query<AlertsStatus['undelivered'][number]>(
    db,
    sql`select target, count(*)::int as count, max(last_error) as error from ops.alerts
     where due_at is not null and tries >= ${maxQuietAttempts} and last_error is not null
       and news_at > now() - interval '1 day' group by target order by target`,
  );
  return { open, undelivered };
}
