import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientBase, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { Log } from '../log.ts';
import { limitReached } from './limits.ts';
import { breakSilence } from './silence.ts';

const connectMs = 5_000;
const firstPauseMs = 50;
const longestPauseMs = 500;
/** Milliseconds between two lines that say that a limit on connections is reached. */
const sayAgainMs = 60_000;

/**
 * Opens a pool, each connection of which is prepared as ours are. A connection that a limit refuses is asked for again for a
 * few seconds: the pool may get one of its own back, or another process may close one. Which limit that is, is logged.
 */
export function openPool(url: string, log: Log, config: PoolConfig): Pool {
  return new PatientPool(
    {
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      onConnect: prepareSession(url),
      ...config,
      connectionString: url,
    },
    log,
  );
}

class PatientPool extends Pool {
  readonly #log: Log;
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor(config: PoolConfig, log: Log) {
    super(config);
    this.#log = log;
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | undefined {
    const connected = this.#connectPatiently();
    if (!callback) return connected;
    connected.then(
      (client) => callback(undefined, client, (error) => client.release(error)),
      (error: Error) => callback(error, undefined, () => undefined),
    );
    return undefined;
  }

  async #connectPatiently(): Promise<PoolClient> {
    const deadline = performance.now() + connectMs;
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
      try {
        return await super.connect();
      } catch (error) {
        const limit = limitReached(error);
        if (!limit) throw error;
        this.#say(`${limit.sentence} ${limit.remedy}`);
        if (performance.now() + pause > deadline || this.ending) throw error;
        await sleep(pause);
      }
    }
  }

  #say(reason: string): void {
    if (performance.now() - this.#saidAt < sayAgainMs) return;
    this.#saidAt = performance.now();
    this.#log.warn({ reason }, 'A connection to Postgres was refused; it is tried again');
  }
}

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: boolean | Error) => void,
) => void;

/**
 * Prepares each new connection of a pool. Compiling (`jit`, on by default) takes 0.5 to 3 s where the planner overestimates
 * a statement, and our statements are short. As a statement, because poolers refuse it as a start-up parameter.
 */
export function prepareSession(url: string): (client: ClientBase) => Promise<void> {
  const watch = breakSilence(url);
  return async (client) => {
    await client.query('set jit = off');
    await watch(client);
  };
}

/**
 * Identifies the deployment whose database this is, the same for all of its processes: by server and database, so that a
 * copy of a database (a dump restored elsewhere, a clone) counts as another deployment.
 */
export async function readDeploymentId(databaseUrl: string): Promise<string> {
  const client = new Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
  });
  // A connection that is cut while it ends has nobody else to tell.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ identity: string }>(
      `select (select system_identifier from pg_control_system()) || '/' || oid as identity
       from pg_database where datname = current_database()`,
    );
    return hash('sha256', rows[0]?.identity ?? '').slice(0, 12);
  } finally {
    await client.end().catch(() => undefined);
  }
}
