import { readFileSync } from 'node:fs';
import { Queue, Worker } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { queueTiming } from '../../config/queues.ts';
import { isUntrusted } from '../db/refusals.ts';
import { backoffMs } from '../shared/backoff.ts';
import type { QueueStore, StoreHealth } from './backend.ts';
import { lacksCommand, type OutageLog } from './outage-log.ts';

/** Excludes `replyMapping`, which changes the types of a client's answers. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** After a failover, the address leads to another Redis, but connections to the old one stay open. */
const isFailedOver = ({ message }: Error) => /\b(?:READONLY|MASTERDOWN)\b/.test(message);

/** If the user may not run INFO, the library's version check fails once, and every later command fails with it. */
const skipVersionCheck = true;

/** For so many milliseconds after a read-only refusal, a new connection doesn't prove that writes work. */
const quietMs = 5_000;

/**
 * Queues in Redis: one connection for all producers, one for the commands of all workers, and one for each waiting
 * worker. Each deployment has its own keys. The braces keep all its queues in one cluster slot.
 */
export function createRedisStore(url: string, outage: OutageLog, deploymentId: () => string): QueueStore {
  const prefixOf = () => `{trunkline-${deploymentId()}}`;
  const { address, options } = parse(url);
  const opened: Redis[] = [];
  let readOnlyAt = Number.NEGATIVE_INFINITY;
  let lastError: Error | undefined;

  function reconnectOnError(error: Error): boolean {
    const isOld = isFailedOver(error);
    if (isOld) readOnlyAt = performance.now();
    return isOld;
  }

  function connect(extra: ConnectionOptions): Redis {
    const redis = watch(new Redis(address, { ...options, reconnectOnError, ...extra }));
    const duplicate = redis.duplicate.bind(redis);
    // The library opens blocking connections itself. We track them, to close them when Redis doesn't answer. Idle ones
    // receive nothing, so they have no socket timeout; the library monitors them.
    redis.duplicate = (override) => watch(duplicate({ ...override, socketTimeout: undefined }));
    return redis;
  }

  function watch(redis: Redis): Redis {
    redis.on('error', (error: Error) => {
      lastError = error;
      outage.report(error);
    });
    // A read-only Redis accepts connections too. Only the next job shows whether it accepts writes.
    redis.on('ready', () => performance.now() - readOnlyAt > quietMs && outage.recovered());
    opened.push(redis);
    return redis;
  }

  const producers = connect({
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    socketTimeout: queueTiming.timeout,
  });
  let workers: Redis | undefined;

  return {
    backend: 'redis',
    isConnected: () => producers.status === 'ready',
    openQueue: (name, opening) =>
      new Queue(name, { connection: producers, prefix: prefixOf(), skipVersionCheck, ...opening }),
    openWorker(name, processor, tuning) {
      // Closing an unresponsive worker has closed the connection that all workers share.
      if (workers?.status === 'end') workers = undefined;
      // A firewall may drop connections silently. The timeout detects that before the job locks expire.
      workers ??= connect({ maxRetriesPerRequest: null, socketTimeout: queueTiming.lockDuration / 2 });
      return new Worker(name, processor, { connection: workers, prefix: prefixOf(), skipVersionCheck, ...tuning });
    },
    async pendingJobs(queue) {
      const jobs = await queue.getJobs(['waiting', 'prioritized', 'delayed', 'completed', 'failed']);
      // A job that ended meanwhile is undefined.
      return jobs.flatMap((job) => (job?.id === undefined ? [] : [{ id: job.id, data: job.data }]));
    },
    forgetEvents: async (queue) => void (await queue.trimEvents(0)),
    health: () => healthOf(producers, () => lastError, outage.refusal, prefixOf),
    connections: () => 0,
    async disconnect() {
      for (const redis of opened) redis.disconnect();
    },
  };
}

/**
 * Accepts the same TLS parameters as DATABASE_URL: `sslrootcert=FILE` names the certificate authority, and
 * `sslmode=no-verify` (or `rejectUnauthorized=false`) accepts any certificate.
 */
function parse(url: string): { address: string; options: ConnectionOptions } {
  const address = new URL(url);
  const taken = (name: string) => {
    const value = address.searchParams.get(name);
    address.searchParams.delete(name);
    return value;
  };
  const authority = taken('sslrootcert');
  const [rejects, mode] = [taken('rejectUnauthorized'), taken('sslmode')];
  const isLax = rejects === 'false' || mode === 'no-verify';
  const isEncrypted = address.protocol === 'rediss:' || authority !== null;
  return {
    address: address.href,
    options: {
      connectTimeout: 5_000,
      // Short, because this timer keeps a stopping process alive until the peer closes.
      disconnectTimeout: 200,
      reconnectOnError: isFailedOver,
      retryStrategy: (attempt) => backoffMs({ firstMs: 100, maxMs: 2_000 }, attempt),
      ...(isEncrypted && {
        tls: { rejectUnauthorized: !isLax, ...(authority !== null && { ca: readFileSync(authority) }) },
      }),
    },
  };
}

/** Why Redis can't be used, as a sentence. Redis errors never contain a password. */
function reasonOf(error: Error | undefined): string | undefined {
  if (error === undefined) return undefined;
  const { message } = error;
  if (isUntrusted(error)) {
    return `The certificate of Redis is not trusted (${message}): name its authority with sslrootcert=FILE in REDIS_URL.`;
  }
  if (/^(?:WRONGPASS|NOAUTH)\b|invalid password|without any password configured/i.test(message)) {
    return `Redis refuses the user or the password of REDIS_URL (${message}).`;
  }
  return `The last error was: ${message || ('code' in error ? String(error.code) : error.name)}.`;
}

const probeScript = `redis.call('set', KEYS[1], '1', 'px', 1000) return redis.call('del', KEYS[1])`;

/**
 * Runs a script on one of our keys, as the queue library does. Returns Redis's refusal as a sentence with its remedy.
 */
async function probe(redis: Redis, prefixOf: () => string): Promise<string | undefined> {
  let key: string;
  try {
    key = `${prefixOf()}:probe`;
  } catch {
    // The key names are unknown until Postgres can be reached.
    return undefined;
  }
  try {
    await redis.eval(probeScript, 1, key);
    return undefined;
  } catch (error) {
    return refusalOf(error as Error, prefixOf);
  }
}

function refusalOf(error: Error, prefixOf: () => string): string {
  const { message } = error;
  const code = /^[A-Z]+/.exec(message)?.[0];
  if (code === 'MOVED' || code === 'CLUSTERDOWN' || code === 'CROSSSLOT' || code === 'ASK') {
    return 'Redis is a node of a cluster, where the keys of the queues belong to another node: name a Redis without cluster mode in REDIS_URL.';
  }
  if (lacksCommand(error) || /unknown command/i.test(message)) {
    return `The user of REDIS_URL may not run what the queues need (${message.slice(0, 200)}): allow it all commands on the keys ${prefixOf()}:*, among them EVAL and EVALSHA.`;
  }
  return `Redis refuses the commands of the queues (${message.slice(0, 200)}).`;
}

async function healthOf(
  redis: Redis,
  lastError: () => Error | undefined,
  lastRefusal: () => Error | undefined,
  prefixOf: () => string,
): Promise<StoreHealth> {
  if (redis.status !== 'ready') return { isReachable: false, reason: reasonOf(lastError()) };
  const last = lastRefusal();
  const reason = (await probe(redis, prefixOf)) ?? (last && refusalOf(last, prefixOf));
  return { isReachable: reason === undefined, reason };
}
