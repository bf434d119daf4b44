import type { CircuitState } from '../api-client/client.ts';
import type { Context } from '../context.ts';
import { refusals, refusedMs } from '../db/connections.ts';
import { type Database, query, sql, type Transaction } from '../db/database.ts';
import { describeRefusal } from '../db/refusals.ts';
import { readProcesses } from '../processes/running.ts';
import { beat } from '../shared/beat.ts';
import { UserError } from '../shared/errors.ts';
import { readRelease } from '../shared/release.ts';
import { readRules, readSends } from './overview/automation.ts';
import {
  readAlerts,
  readLostWrites,
  readOnlyMaxMs,
  readPostgres,
  readQueues,
  readSchema,
  readSubscriptions,
} from './overview/deployment.ts';
import {
  readBacklog,
  readCompleteness,
  readFreshness,
  readInbox,
  readParked,
  readRowCounts,
} from './overview/mirror.ts';
import { readReporting } from './overview/reporting.ts';

/** One part of the snapshot. If it can't be read, it is unknown; the others aren't affected. */
export type Part<T> =
  | { readonly state: 'known'; readonly value: T }
  | { readonly state: 'unknown'; readonly reason: string };

/** What reads each part from the database, in this order. */
const readers = {
  schema: readSchema,
  freshness: readFreshness,
  backlog: readBacklog,
  parked: readParked,
  completeness: readCompleteness,
  inbox: readInbox,
  holdings: readRowCounts,
  subscriptions: readSubscriptions,
  rules: readRules,
  reporting: readReporting,
  sends: readSends,
  lostWrites: readLostWrites,
  processes: readProcesses,
  alerts: readAlerts,
} satisfies Readonly<Record<string, (db: Database) => Promise<unknown>>>;

/** The part that a reader returns. */
type PartOf<Reader extends (...given: never[]) => Promise<unknown>> = Part<Readonly<Awaited<ReturnType<Reader>>>>;
type StoredParts = { readonly [name in keyof typeof readers]: PartOf<(typeof readers)[name]> };

/**
 * The state that all processes share, at one moment. Phone numbers are masked, and there are no
 * message bodies.
 */
export interface Snapshot extends StoredParts {
  /** By the clock of the database, like all other times. */
  readonly takenAt: Date;
  readonly release: string;
  /** The first digits of the commit of the release, or `unknown`. */
  readonly commit: string;
  /** Of this process, in seconds. */
  readonly uptimeSeconds: number;
  readonly postgres: PartOf<typeof readPostgres>;
  readonly queues: PartOf<typeof readQueues>;
  /** Of this process; undefined when it has no API client. */
  readonly circuit: CircuitState | undefined;
  /** For this process: Postgres recently refused a write because its disk was full. */
  readonly isDiskFull: boolean;
  /** For this process: a session of Postgres was recently read-only. */
  readonly isReadOnly: boolean;
  /** For this process: it couldn't store the last delivery. */
  readonly isRefusing: boolean;
}

/** `metrics` is undefined in a process that receives no webhooks. */
export type SnapshotParts = Pick<Context, 'database' | 'queues' | 'service' | 'settings'> &
  Partial<Pick<Context, 'metrics'>>;

/** Postgres can't be queried, so there is no snapshot. */
export class DatabaseUnavailable extends UserError {
  readonly code = 'database_unavailable';
}

/** How long a full disk is reported after the last refusal. */
const diskFullMaxMs = 60_000;

/** A part that takes longer (a lock, a slow disk) is reported as unknown, and the others are still read. */
const partTimeoutMs = 3_000;

/** Reads everything on one connection, and no large table completely. Only rejects with `DatabaseUnavailable`. */
export async function takeSnapshot(parts: SnapshotParts): Promise<Snapshot> {
  const { database, queues, service, settings, metrics } = parts;
  const queueFacts = part(() => readQueues(queues));
  try {
    return await database.db.connection().execute(async (db) => {
      const [moment] = await query<{ now: Date }>(db, sql`select clock_timestamp() as now`);
      const ask = <T>(read: (db: Database) => Promise<T>) => part(() => readWithTimeout(db, read));
      const { version: release, commit } = readRelease();
      const parts: [name: string, Part<unknown>][] = [];
      for (const [name, read] of Object.entries(readers)) parts.push([name, await ask<unknown>(read)]);
      return {
        ...{ takenAt: moment?.now ?? new Date(), release, commit, uptimeSeconds: Math.round(process.uptime()) },
        ...(Object.fromEntries(parts) as unknown as StoredParts),
        postgres: await ask((db) => readPostgres(db, settings.poolSize)),
        queues: await queueFacts,
        circuit: service?.circuit.state(),
        isDiskFull: (refusedMs(settings.databaseUrl, refusals.diskFull) ?? Number.POSITIVE_INFINITY) < diskFullMaxMs,
        isReadOnly:
          (refusedMs(settings.databaseUrl, refusals.readOnly) ?? Number.POSITIVE_INFINITY) < beat.ms(readOnlyMaxMs),
        isRefusing: metrics?.isRefusing() ?? false,
      };
    });
  } catch (cause) {
    const refusal = cause instanceof UserError ? { sentence: cause.message, ...cause } : describeRefusal(cause);
    const reason = refusal && `${refusal.sentence} ${refusal.remedy ?? ''}`.trim();
    throw new DatabaseUnavailable(
      reason ?? 'Postgres does not answer: see that it runs and that DATABASE_URL is right.',
      { cause },
    );
  }
}

/** Reads in a separate read-only transaction, limited to three seconds per statement. */
export function readWithTimeout<T>(db: Database, read: (tx: Transaction) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setAccessMode('read only')
    .execute(async (tx) => {
      await query(tx, sql`set local statement_timeout = ${sql.lit(partTimeoutMs)}`);
      return read(tx);
    });
}

/** Runs `read`. A failure becomes an unknown part with its reason. */
export async function part<T>(read: () => Promise<T>): Promise<Part<T>> {
  try {
    return { state: 'known', value: await read() };
  } catch (error) {
    return { state: 'unknown', reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The value of a part, or `otherwise` while it is unknown. */
export function known<T>(part: Part<T>): T | undefined;
export function known<T, F>(part: Part<T>, otherwise: F): T | F;
export function known<T, F>(part: Part<T>, otherwise?: F): T | F | undefined {
  return part.state === 'known' ? part.value : otherwise;
}

/** Shares one result of `take` among all callers, while it runs and for `keptMs` after. Failures aren't kept. */
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
