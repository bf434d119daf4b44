import type { CircuitState } from '../api-client/client.ts';
import type { Context } from '../context.ts';
import { type Database, query, sql, type Transaction } from '../db/database.ts';
import { limitReached } from '../db/limits.ts';
import { UserError } from '../shared/errors.ts';
import { readRelease } from '../shared/release.ts';
import { type RunningProcess, readProcesses } from './processes.ts';
import { type RulesStatus, readRules, readSends, type SendsStatus } from './snapshot/automation.ts';
import {
  type AlertsStatus,
  type CredentialStatus,
  type DiskStatus,
  type DriftStatus,
  type QueuesStatus,
  type ReportingStatus,
  readAlerts,
  readCredential,
  readDisk,
  readDrift,
  readQueues,
  readReporting,
  readSchema,
  readSubscriptions,
  type SchemaStatus,
  type SubscriptionsStatus,
} from './snapshot/deployment.ts';
import {
  type Artefacts,
  type Backlog,
  type Completeness,
  type Freshness,
  type InboxStatus,
  type ParkedStream,
  type RowCount,
  readArtefacts,
  readBacklog,
  readCompleteness,
  readErrors,
  readFreshness,
  readInbox,
  readParked,
  readRowCounts,
  type TargetError,
} from './snapshot/mirror.ts';

/** One part of the snapshot. A part that cannot be read is unknown, without affecting the others. */
export type Part<T> =
  | { readonly state: 'known'; readonly value: T }
  | { readonly state: 'unknown'; readonly reason: string };

/** The state that all processes share, at one moment. Phone numbers are masked, and it contains no message bodies. */
export interface Snapshot {
  /** By the clock of the database, like all other times. */
  readonly takenAt: Date;
  readonly release: string;
  /** The first digits of the commit of the release, or `unknown`. */
  readonly commit: string;
  /** Of this process, in seconds. */
  readonly uptimeSeconds: number;
  readonly schema: Part<SchemaStatus>;
  readonly credential: Part<CredentialStatus>;
  readonly freshness: Part<readonly Freshness[]>;
  readonly backlog: Part<readonly Backlog[]>;
  readonly parked: Part<readonly ParkedStream[]>;
  readonly errors: Part<readonly TargetError[]>;
  readonly artefacts: Part<Artefacts>;
  readonly completeness: Part<Completeness>;
  readonly inbox: Part<InboxStatus>;
  readonly holdings: Part<readonly RowCount[]>;
  readonly drift: Part<DriftStatus>;
  readonly subscriptions: Part<SubscriptionsStatus>;
  readonly sends: Part<SendsStatus>;
  readonly queues: Part<QueuesStatus>;
  readonly rules: Part<RulesStatus | undefined>;
  readonly reporting: Part<ReportingStatus>;
  readonly processes: Part<readonly RunningProcess[]>;
  readonly alerts: Part<AlertsStatus>;
  readonly disk: Part<DiskStatus | undefined>;
  /** Of this process; undefined when it has no API client. */
  readonly circuit: CircuitState | undefined;
  /** Of this process: it could not store the last delivery. */
  readonly isRefusing: boolean;
}

/** `metrics` is undefined in a process that receives no webhooks. */
export type SnapshotParts = Pick<Context, 'database' | 'queues' | 'service' | 'settings'> &
  Partial<Pick<Context, 'metrics'>>;

/** Postgres cannot be queried, so there is no snapshot. */
export class DatabaseUnavailable extends UserError {
  readonly code = 'database_unavailable';
}

/** A part that takes longer (a lock, a slow disk) is reported as unknown, and the others are still read. */
const partTimeoutMs = 3_000;

/**
 * Reads everything on one connection, and no large table as a whole. Rejects with
 * `DatabaseUnavailable` and nothing else.
 */
export async function takeSnapshot({ database, queues, service, settings, metrics }: SnapshotParts): Promise<Snapshot> {
  const queueFacts = part(() => readQueues(queues));
  try {
    return await database.db.connection().execute(async (db) => {
      const [moment] = await query<{ now: Date }>(db, sql`select clock_timestamp() as now`);
      const ask = <T>(read: (db: Database) => Promise<T>) => part(() => readWithTimeout(db, read));
      return {
        takenAt: moment?.now ?? new Date(),
        release: readRelease().version,
        commit: readRelease().commit,
        uptimeSeconds: Math.round(process.uptime()),
        schema: await ask(readSchema),
        credential: await ask((db) => readCredential(db, settings.api.key)),
        freshness: await ask(readFreshness),
        backlog: await ask(readBacklog),
        parked: await ask(readParked),
        errors: await ask(readErrors),
        artefacts: await ask(readArtefacts),
        completeness: await ask(readCompleteness),
        inbox: await ask(readInbox),
        holdings: await ask(readRowCounts),
        drift: await ask(readDrift),
        subscriptions: await ask(readSubscriptions),
        rules: await ask(readRules),
        reporting: await ask(readReporting),
        sends: await ask(readSends),
        processes: await ask(readProcesses),
        alerts: await ask(readAlerts),
        disk: await part(() => readDisk(settings)),
        queues: await queueFacts,
        circuit: service?.circuit.state(),
        isRefusing: metrics?.isRefusing() ?? false,
      };
    });
  } catch (cause) {
    const limit = limitReached(cause);
    const reason = limit && `${limit.sentence} ${limit.remedy}`;
    throw new DatabaseUnavailable(
      reason ?? 'Postgres does not answer: see that it runs and that DATABASE_URL is right.',
      { cause },
    );
  }
}

/** Reads in a read-only transaction of its own, limited to three seconds a statement. */
export function readWithTimeout<T>(db: Database, read: (tx: Transaction) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setAccessMode('read only')
    .execute(async (tx) => {
      await query(tx, sql`set local statement_timeout = ${sql.lit(partTimeoutMs)}`);
      return read(tx);
    });
}

/** Runs `read`; a failure becomes an unknown part with its reason. */
export async function part<T>(read: () => Promise<T>): Promise<Part<T>> {
  try {
    return { state: 'known', value: await read() };
  } catch (error) {
    return { state: 'unknown', reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The value of a part, or `otherwise` while it is unknown. */
export function known<T, F>(part: Part<T>, otherwise: F): T | F {
  return part.state === 'known' ? part.value : otherwise;
}

/** Shares one result of `take` among all callers while it runs and for `keptMs` after. Failures are not kept. */
export function cachedFor<T>(keptMs: number, take: () => Promise<T>): () => Promise<T> {
  let latest: Promise<T> | undefined;
  return () => {
    if (latest === undefined) {
      latest = take();
      const forget = () => {
        latest = undefined;
      };
      latest.then(() => setTimeout(forget, keptMs).unref(), forget);
    }
    return latest;
  };
}
