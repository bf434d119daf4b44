import manifest from '../../package.json' with { type: 'json' };
import type { Context } from '../context.ts';
import { limitReached } from '../postgres/limits.ts';
import type { CircuitState } from '../service/transport/circuit.ts';
import { type Database, query } from '../warehouse/database.ts';
import {
  type DriftFacts,
  readDrift,
  readSchema,
  readSubscriptions,
  type SchemaFacts,
  type SubscriptionFacts,
} from './facts/account.ts';
import {
  type Backlog,
  type ParkedStream,
  readBacklog,
  readErrors,
  readParked,
  type TargetError,
} from './facts/backlog.ts';
import { type Completeness, readCompleteness } from './facts/completeness.ts';
import { type CredentialFacts, readCredential } from './facts/credential.ts';
import { type Artefacts, type Freshness, readArtefacts, readFreshness } from './facts/freshness.ts';
import { type Holding, readHoldings } from './facts/holdings.ts';
import { type InboxFacts, readInbox } from './facts/inbox.ts';
import { type QueueFacts, readQueues } from './facts/queue.ts';
import { type RulesFacts, readRules } from './facts/rules.ts';
import { readSends, type SendFacts } from './facts/sends.ts';
import { type RunningProcess, readProcesses } from './processes.ts';

/** One part of the picture: what could not be asked shows in its own place, and the rest is told. */
export type Part<T> =
  | { readonly state: 'known'; readonly value: T }
  | { readonly state: 'unknown'; readonly reason: string };

/** The state that all processes share, at one moment. Phone numbers are masked, and no body is in it. */
export interface Snapshot {
  /** By the clock of the database, as all other moments. */
  readonly takenAt: Date;
  readonly release: string;
  /** Of this process, in seconds. */
  readonly uptimeSeconds: number;
  readonly schema: Part<SchemaFacts>;
  readonly credential: Part<CredentialFacts>;
  readonly freshness: Part<readonly Freshness[]>;
  readonly backlog: Part<readonly Backlog[]>;
  readonly parked: Part<readonly ParkedStream[]>;
  readonly errors: Part<readonly TargetError[]>;
  readonly artefacts: Part<Artefacts>;
  readonly completeness: Part<Completeness>;
  readonly inbox: Part<InboxFacts>;
  readonly holdings: Part<readonly Holding[]>;
  readonly drift: Part<DriftFacts>;
  readonly subscriptions: Part<SubscriptionFacts>;
  readonly sends: Part<SendFacts>;
  readonly queues: Part<QueueFacts>;
  readonly rules: Part<RulesFacts | undefined>;
  readonly processes: Part<readonly RunningProcess[]>;
  /** Of this process; undefined where it does not talk to the service. */
  readonly circuit: CircuitState | undefined;
  /** Of this process: it could not store the last delivery, a moment ago. */
  readonly isRefusing: boolean;
}

/** Without `metrics` in a process that receives nothing. */
export type SnapshotParts = Pick<Context, 'database' | 'queues' | 'service' | 'settings'> &
  Partial<Pick<Context, 'metrics'>>;

/** Postgres, which holds all that is to be told, cannot be asked. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  readonly code = 'database_unavailable';
}

/** A part that a lock or a slow disk holds up is given up, so that the others are still told. */
const patienceMs = 3_000;

/**
 * Asks for everything, on one connection, without reading any large table as a whole. Rejects with
 * `DatabaseUnavailable` and nothing else.
 */
export async function takeSnapshot({ database, queues, service, settings, metrics }: SnapshotParts): Promise<Snapshot> {
  const queueFacts = part(() => readQueues(queues));
  try {
    return await database.db.connection().execute(async (db) => {
      const [moment] = await query<{ now: Date }>(db, 'select clock_timestamp() as now', []);
      const ask = <T>(read: (db: Database) => Promise<T>) => part(() => patiently(db, read));
      return {
        takenAt: moment?.now ?? new Date(),
        release: manifest.version,
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
        holdings: await ask(readHoldings),
        drift: await ask(readDrift),
        subscriptions: await ask(readSubscriptions),
        rules: await ask(readRules),
        sends: await ask(readSends),
        processes: await ask(readProcesses),
        queues: await queueFacts,
        circuit: service?.circuit.state(),
        isRefusing: metrics?.isRefusing() ?? false,
      };
    });
  } catch (cause) {
    const limit = limitReached(cause);
    const told = limit && `${limit.sentence} ${limit.remedy}`;
    throw new DatabaseUnavailable(
      told ?? 'Postgres does not answer: see that it runs and that DATABASE_URL is right.',
      { cause },
    );
  }
}

/** Reads in a transaction of its own, which is given up after a while. */
export function patiently<T>(db: Database, read: (db: Database) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setAccessMode('read only')
    .execute(async (tx) => {
      await query(tx, `set local statement_timeout = ${patienceMs}`, []);
      return read(tx);
    });
}

/** What was read, or why it could not be. */
export async function part<T>(read: () => Promise<T>): Promise<Part<T>> {
  try {
    return { state: 'known', value: await read() };
  } catch (error) {
    return { state: 'unknown', reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The value of a part, or what stands for it while it is unknown. */
export function known<T, F>(part: Part<T>, otherwise: F): T | F {
  return part.state === 'known' ? part.value : otherwise;
}
