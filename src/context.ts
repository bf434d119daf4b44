import { randomUUID } from 'node:crypto';
import type { Settings } from '../config/settings.ts';
import { openCredential } from './credentials/credentials.ts';
import { linkSealer } from './credentials/sealer.ts';
import { defaultPauses, type Pauses } from './inbox/bumps.ts';
import { createRinger, type Ringer } from './inbox/ringer.ts';
import type { Log } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { type ConnectionShares, shareConnections } from './postgres/limits.ts';
import { createQueues, type Queues } from './queues/queues.ts';
import { createService, type Service } from './service/client.ts';
import type { SealLink } from './warehouse/columns.ts';
import { createDatabase, type OpenDatabase } from './warehouse/database.ts';

/** What the parts of one process share. Whoever creates it disposes of it, last. */
export interface Context extends AsyncDisposable {
  /** Tells this process from all others, in ops.processes. */
  readonly processId: string;
  /** The most connections to Postgres that a long-running process opens. */
  readonly connections: number | undefined;
  readonly settings: ReadySettings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly database: OpenDatabase;
  readonly queues: Queues;
  readonly ringer: Ringer;
  /** Undefined where the command was given no API to talk to, or nothing to show it. */
  readonly service: Service | undefined;
  readonly pauses: Pauses;
  /** Undefined where nothing is read that has links. */
  readonly sealLink: SealLink | undefined;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Settings whose stores are known: given by the environment, or started by `start`. */
export type ReadySettings = Settings & { readonly databaseUrl: string };

/** For commands that need DATABASE_URL, and have had the settings checked for it. */
export function readySettings(settings: Settings): ReadySettings {
  const { databaseUrl } = settings;
  if (databaseUrl === undefined) throw new Error('DATABASE_URL is missing');
  return { ...settings, databaseUrl };
}

/** The connections of a long-running process; of `start`, which is two processes in one, as many as those have. */
export function connectionsOf(settings: Settings, process: { receives: boolean; works: boolean }): ConnectionShares {
  const { poolSize, redisUrl, api } = settings;
  return shareConnections(process.receives && process.works ? 2 * poolSize : poolSize, {
    ...process,
    queues: redisUrl === undefined ? 'postgres' : 'redis',
    hasLogin: api.key === undefined,
  });
}

export async function createContext(
  settings: ReadySettings,
  options: {
    log: Log;
    name: string;
    /** Those of the database alone, or how a long-running process divides what it may open. */
    maxConnections: number | ConnectionShares;
    pauses?: Pauses;
    isReadOnly?: boolean;
  },
): Promise<Context> {
  const { log, name, isReadOnly = false } = options;
  const shares = typeof options.maxConnections === 'number' ? undefined : options.maxConnections;
  const maxConnections =
    typeof options.maxConnections === 'number' ? options.maxConnections : options.maxConnections.main;
  const metrics = createMetrics();
  const { databaseUrl, redisUrl } = settings;
  const database = createDatabase({ url: databaseUrl, log, maxConnections, name });
  const queues = await createQueues({ redisUrl, databaseUrl, log, isReadOnly, pools: shares }).catch(
    async (error: unknown) => {
      await database[Symbol.asyncDispose]();
      throw error;
    },
  );
  const ringer = createRinger(queues, log);
  const open = openCredential(settings, log);
  const service =
    open &&
    createService({
      baseUrl: open.baseUrl,
      credential: open.credential,
      log,
      onAnswer: ({ operation, outcome, milliseconds }) => metrics.apiAnswered(operation, outcome, milliseconds / 1_000),
    });
  return {
    processId: randomUUID(),
    connections: shares?.total,
    settings,
    log,
    metrics,
    database,
    queues,
    ringer,
    service,
    pauses: options.pauses ?? defaultPauses,
    sealLink: linkSealer(settings)?.sealLink,
    async [Symbol.asyncDispose]() {
      await ringer.close();
      await Promise.allSettled([queues.close(), service?.close(), open?.close()]);
      await database[Symbol.asyncDispose]();
    },
  };
}
