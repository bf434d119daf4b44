import { randomUUID } from 'node:crypto';
import type { Settings } from '../config/settings.ts';
import { createService, type Service } from './api-client/client.ts';
import { createAccountCheck } from './credentials/account-check.ts';
import { linkSealer } from './credentials/sealer.ts';
import { shareConnections } from './db/connection-limits.ts';
import { createDatabase, type OpenDatabase } from './db/database.ts';
import { type AcceptedTargets, createAcceptedTargets } from './inbox/accepted-targets.ts';
import { createNotifier, type Notifier } from './inbox/notifier.ts';
import { createQueues, type Queues } from './queues/queues.ts';
import type { Log } from './shared/log.ts';
import { createMetrics, type Metrics } from './shared/metrics.ts';
import type { LinkSealer } from './warehouse/links.ts';

/** What the parts of one process share. Its creator disposes of it, last. */
export interface Context extends AsyncDisposable {
  /** The id of this process in ops.processes. */
  readonly processId: string;
  /** The maximum of Postgres connections of a long-running process. */
  readonly connections: number | undefined;
  readonly settings: ReadySettings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly database: OpenDatabase;
  readonly queues: Queues;
  readonly notifier: Notifier;
  /** What this process accepted lately. */
  readonly accepted: AcceptedTargets;
  /** Undefined without API_BASE_URL and API_KEY. */
  readonly service: Service | undefined;
  /** Undefined without ENCRYPTION_KEY and API_KEY. */
  readonly sealer: LinkSealer | undefined;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Settings with a database: from the environment, or started by `start`. */
export type ReadySettings = Settings & { readonly databaseUrl: string };

/** Narrows settings that were checked for DATABASE_URL. */
export function readySettings(settings: Settings): ReadySettings {
  const { databaseUrl } = settings;
  if (databaseUrl === undefined) throw new Error('DATABASE_URL is missing');
  return { ...settings, databaseUrl };
}

/** Milliseconds for a statement of a long-running process, and until it notices that a connection is dead. */
const statementMs = 30_000;

export async function createContext(
  settings: ReadySettings,
  options: {
    log: Log;
    name: string;
    /**
     * The number of a command's connections to the database, or the work among which a process divides those of its
     * settings; `start` does both, and has twice as many.
     */
    maxConnections: number | { readonly receives: boolean; readonly works: boolean };
    /** Default: those of the store that the settings name. */
    queues?: Queues;
    isReadOnly?: boolean;
    /** The service is the sandbox that this process runs. */
    isOwnSandbox?: boolean;
  },
): Promise<Context> {
  const { log, name, isReadOnly = false, maxConnections: work } = options;
  const metrics = createMetrics();
  const { databaseUrl, redisUrl, api, poolSize } = settings;
  const shares =
    typeof work === 'number'
      ? undefined
      : shareConnections(work.receives && work.works ? 2 * poolSize : poolSize, {
          ...work,
          queues: redisUrl === undefined ? 'postgres' : 'redis',
        });
  const maxConnections = typeof work === 'number' ? work : (shares?.main ?? poolSize);
  // A command may run statements that take long.
  const database = createDatabase({ url: databaseUrl, log, maxConnections, name, ...(shares && { statementMs }) });
  const queues =
    options.queues ??
    (await createQueues({ redisUrl, databaseUrl, log, isReadOnly, pools: shares }).catch(async (error: unknown) => {
      await database[Symbol.asyncDispose]();
      throw error;
    }));
  const notifier = createNotifier(queues, log);
  const service =
    api.baseUrl !== undefined && api.key !== undefined
      ? createService({
          baseUrl: api.baseUrl,
          apiKey: api.key,
          log,
          checkAccount: createAccountCheck({ db: database.db, log, isOwnSandbox: options.isOwnSandbox ?? false }),
          onAnswer: metrics.apiAnswered,
        })
      : undefined;
  return {
    processId: randomUUID(),
    connections: shares?.total,
    settings,
    log,
    metrics,
    database,
    queues,
    notifier,
    accepted: createAcceptedTargets(),
    service,
    sealer: linkSealer(settings),
    async [Symbol.asyncDispose]() {
      await notifier.close();
      await Promise.allSettled([queues.close(), service?.close()]);
      await database[Symbol.asyncDispose]();
    },
  };
}
