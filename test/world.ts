import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type QueueName, queueNames } from '../config/queues.ts';
import { readSettings } from '../config/settings.ts';
import { type Context, createContext } from '../src/context.ts';
import { QueueUnavailable } from '../src/queues/queues.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../src/sandbox/sandbox.ts';
import { registerPages } from '../src/server/pages.ts';
import { createReceiver, type Receiver } from '../src/server/receiver.ts';
import type { Log } from '../src/shared/log.ts';
import { ensureSubscriptions } from '../src/sync/subscriptions/ensure.ts';
import { startWorkers, type WorkerOptions, type Workers } from '../workers/workers.ts';
import { hurry } from './hurried.ts';
import { type Backend, redisUrlOf } from './stores/backends.ts';
import { databaseForTest } from './stores/databases.ts';
import { conditionTimeoutMs } from './timeouts.ts';
import { asking, migrated, type TestDatabase } from './world/database.ts';
import { captureLog } from './world/log.ts';

export interface WorldOptions {
  readonly backend: Backend;
  /** Overrides the Redis of the run, for a test that kills its own. */
  readonly redisUrl?: string;
  /** Overrides the Postgres of the run likewise; it is taken as migrated. */
  readonly databaseUrl?: string;
  readonly sandbox?: SandboxOptions;
  /** A service to talk to instead of a sandbox. */
  readonly api?: { readonly url: string; readonly key: string };
  readonly adminToken?: string;
  readonly previousSecret?: string;
  /** Default: all queues. `null` starts none. */
  readonly workers?: WorkerOptions | null;
  /** How many times as soon as in a deployment loops come round. Default: 10. */
  readonly hurry?: number;
  /** Loops without rounds of their own. Default: those that look for what no webhook told of; tests that compare ask for them. */
  readonly idle?: RegExp;
  readonly log?: Log;
  /** Further variables of the environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A whole running system in one process: stores, sandbox, receiver, workers and registered webhooks. */
export interface World extends Pick<TestDatabase, 'query' | 'value'> {
  readonly context: Context;
  readonly receiver: Receiver;
  /** Fails when the world was given an API of its own. */
  readonly sandbox: Sandbox;
  readonly logged: () => string;
  /** Sends one request to the hook of an event type. */
  deliver(type: string, body: string | object, headers?: Record<string, string>): Promise<Response>;
  /** Starts workers, in a world that has none or beside those it has. */
  work(options?: WorkerOptions): Promise<Workers>;
  /** Resolves when every delivery has arrived, nothing is due, and no job waits. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export const secret = 'a-secret-of-the-world';
export const adminToken = 'an-admin-token-of-the-world';
/** Opens the pages of a world. */
export const asOwner = { authorization: `Bearer ${adminToken}` };

const comparing = /^(Comparing|Searching gaps|Detecting missing|Polling)/;
/** For worlds that compare. */
export const quick = { hurry: 30, idle: /^Polling/ } as const;

/** Call at the top level of a test file: the world's database lives as long as the file. */
export async function createWorld(options: WorldOptions): Promise<World> {
  hurry(options.hurry, options.idle ?? comparing);
  const captured = captureLog();
  const log = options.log ?? captured.log;
  const databaseUrl = options.databaseUrl ?? (await databaseForTest(migrated));
  const opened: (() => Promise<void>)[] = [];
  const sandbox = options.api ? undefined : await createSandbox({ calls: 0, threads: 0, ...options.sandbox });
  if (sandbox) opened.push(sandbox.close);
  const redisUrl = options.redisUrl ?? (await ownRedisUrl(options.backend));
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-world-'));
  opened.push(() => rm(dataDir, { recursive: true, force: true }));
  const settings = readSettings({
    DATA_DIR: dataDir,
    API_BASE_URL: options.api?.url ?? sandbox?.url,
    API_KEY: options.api?.key ?? sandbox?.apiKey,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    WEBHOOK_SECRET: secret,
    WEBHOOK_SECRET_PREVIOUS: options.previousSecret,
    ADMIN_TOKEN: options.adminToken ?? adminToken,
    PORT: '0',
    BACKFILL_DAYS: '0',
    ...options.environment,
  });
  const context = await createContext({ ...settings, databaseUrl }, { log, name: 'world', maxConnections: 8 });
  opened.push(async () => context[Symbol.asyncDispose]());
  const receiver = await createReceiver(context, (app) => registerPages(app, context));
  opened.push(receiver.close);
  const asks = asking(context.database.db);

  async function work(how: WorkerOptions = {}): Promise<Workers> {
    const workers = await startWorkers(context, { role: 'start', ...how });
    opened.push(() => workers.close(2_000));
    return workers;
  }
  if (options.workers !== null) await work(options.workers);
  if (sandbox && context.service) {
    const { database, service } = context;
    await ensureSubscriptions({ service, db: database.db, log, publicUrl: receiver.url, secret });
  }

  async function isQuiet(): Promise<boolean> {
    if (sandbox && (await pendingDeliveries(sandbox)) > 0) return false;
    await context.notifier.idle();
    if (await isAnyJobWaiting()) return false;
    return (await asks.value(dueTargets)) === 0;
  }

  async function isAnyJobWaiting(): Promise<boolean> {
    try {
      const waiting = await Promise.all(queueNames.map((name: QueueName) => context.queues.waiting(name)));
      return waiting.some((count) => count > 0);
    } catch (error) {
      // A store that is slow for a moment is asked again.
      if (error instanceof QueueUnavailable) return true;
      throw error;
    }
  }

  return {
    ...asks,
    context,
    receiver,
    get sandbox() {
      if (!sandbox) throw new Error('this world talks to another service than the sandbox');
      return sandbox;
    },
    logged: captured.text,
    deliver: (type, body, headers = {}) =>
      fetch(`${receiver.url}/hooks/${secret}/${type}`, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      }),
    work,
    async settled() {
      await until(isQuiet, async () => `still due: ${JSON.stringify(await asks.query(owedTargets))}`);
    },
    async close() {
      for (const close of opened.reverse()) await close();
      opened.length = 0;
    },
  };
}

// A pause is over within its milliseconds; what is due later than that is a look ahead, which does not disturb the quiet.
const dueTargets = `select count(*)::integer from ops.sync_targets t
  where dirty_version > clean_version and due_at < now() + interval '250 ms'
    and not exists (select from ops.parked_kinds s where s.kind = t.kind and s.parked_until > now())`;
const owedTargets = `select kind, key, due_at - now() as due_in, attempts, last_error from ops.sync_targets
  where dirty_version > clean_version order by due_at limit 20`;

/**
 * Waits for a condition; when it does not come true in time, fails with what `describe` says. Asks less often the longer it waits,
 * since conditions ask the stores, which others wait for.
 */
export async function until(
  condition: () => Promise<boolean> | boolean,
  describe: () => Promise<string> | string = () => 'it never came true',
  timeoutMs = conditionTimeoutMs,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = 10; !(await condition()); pauseMs = Math.min(1.25 * pauseMs, 80)) {
    if (performance.now() > deadline) throw new Error(await describe());
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

async function pendingDeliveries({ url }: Sandbox): Promise<number> {
  const answer = await fetch(`${url}/_sandbox/state`);
  const { data } = (await answer.json()) as { data: { pendingDeliveries: number } };
  return data.pendingDeliveries;
}

let worlds = 0;
const worldsOfPool = 200;

// Files run beside each other in pools, and each pool runs many: pool and count tell their databases of the one Redis
// apart, or workers of one world would answer the jobs of another. 0 is for others.
async function ownRedisUrl(backend: Backend): Promise<string | undefined> {
  const url = redisUrlOf(backend);
  if (url === undefined) return undefined;
  const pool = Number(process.env.VITEST_POOL_ID ?? 1) - 1;
  const own = `${url}/${1 + pool * worldsOfPool + (worlds++ % worldsOfPool)}`;
  const redis = new Redis(own);
  await redis.flushdb();
  redis.disconnect();
  return own;
}
