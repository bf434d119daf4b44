import { readFileSync } from 'node:fs';
import { Queue, Worker } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { queueTiming } from '../../config/queues.ts';
import type { QueueStore, StoreHealth } from './store.ts';
import { isUntrusted, type Trouble } from './trouble.ts';

/** Without the one option that types a client's answers, which only fixed types could carry. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** So long after it refused a job as read-only, a connection alone does not mean that Redis takes jobs. */
const quietMs = 5_000;

/**
 * Queues in Redis: one connection for all producers, one for all workers' commands, one per worker that waits. Each
 * deployment has keys of its own; the braces keep those of all its queues in one slot of a cluster.
 */
export function createRedisStore(url: string, trouble: Trouble, deploymentId: () => string): QueueStore {
  const prefixOf = () => `{trunkline-${deploymentId()}}`;
  const { address, options } = parse(url);
  const opened: Redis[] = [];
  let readOnlyAt = Number.NEGATIVE_INFINITY;
  let lastError: Error | undefined;

  // After a failover the address leads to another Redis, while connections to the one before still stand.
  function reconnectOnError(error: Error): boolean {
    const isReadOnly = error.message.startsWith('READONLY');
    if (isReadOnly) readOnlyAt = performance.now();
    return isReadOnly;
  }

  function connect(extra: ConnectionOptions): Redis {
    const redis = watch(new Redis(address, { ...options, reconnectOnError, ...extra }));
    const duplicate = redis.duplicate.bind(redis);
    // The queue library opens the waiting connections itself; kept here, they can be cut when Redis does not answer.
    // They are told nothing for as long as no job comes, and the library itself looks after that.
    redis.duplicate = (override) => watch(duplicate({ ...override, socketTimeout: undefined }));
    return redis;
  }

  function watch(redis: Redis): Redis {
    redis.on('error', (error: Error) => {
      lastError = error;
      trouble.report(error);
    });
    // One that is still read-only would be told to be back with each connection: that it is, the next job tells.
    redis.on('ready', () => performance.now() - readOnlyAt > quietMs && trouble.isOver());
    opened.push(redis);
    return redis;
  }

  const producers = connect({
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    socketTimeout: queueTiming.patience,
  });
  let workers: Redis | undefined;

  return {
    backend: 'redis',
    isConnected: () => producers.status === 'ready',
    openQueue: (name, opening) => new Queue(name, { connection: producers, prefix: prefixOf(), ...opening }),
    openWorker(name, processor, tuning) {
      // A firewall forgets connections without a word: an answer that does not come is asked for again before the locks end.
      workers ??= connect({ maxRetriesPerRequest: null, socketTimeout: queueTiming.lockDuration / 2 });
      return new Worker(name, processor, { connection: workers, prefix: prefixOf(), ...tuning });
    },
    forgetEvents: async (queue) => void (await queue.trimEvents(0)),
    health: () => healthOf(producers, () => lastError),
    connections: () => 0,
    async disconnect() {
      for (const redis of opened) redis.disconnect();
    },
  };
}

/**
 * Takes the parameters of TLS that DATABASE_URL takes: `sslrootcert=FILE` names the authority of the server's certificate,
 * `sslmode=no-verify` accepts any. `rejectUnauthorized=false` is another spelling of the latter.
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
      // The driver's own timer for a peer that does not hang up keeps the process alive: be short about it.
      disconnectTimeout: 200,
      retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000),
      ...(isEncrypted && {
        tls: { rejectUnauthorized: !isLax, ...(authority !== null && { ca: readFileSync(authority) }) },
      }),
    },
  };
}

/** Why Redis cannot be used, as a sentence. An error of its own never holds a password. */
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

/** Reads INFO, not CONFIG: managed servers forbid the latter. */
async function healthOf(redis: Redis, lastError: () => Error | undefined): Promise<StoreHealth> {
  const unreachable = () => ({ isReachable: false, reason: reasonOf(lastError()), warnings: [], notices: [] });
  if (redis.status !== 'ready') return unreachable();
  const info = await redis.info().catch(() => undefined);
  if (info === undefined) return unreachable();
  const warnings: string[] = [];
  const notices: string[] = [];
  const told = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  const most = Number(told('maxmemory'));
  if (most > 0 && Number(told('used_memory')) >= most) {
    warnings.push('Redis takes no jobs, since its memory is used up: raise maxmemory.');
  }
  if (told('role') === 'slave' && told('slave_read_only') !== '0') {
    warnings.push('Redis takes no jobs, since it is a read-only replica: name its primary in REDIS_URL.');
  }
  const policy = told('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    warnings.push(`Redis may evict queued jobs (maxmemory-policy is ${policy}): set it to noeviction.`);
  }
  if (told('aof_enabled') === '0') {
    notices.push(
      'Redis forgets queued jobs when it is killed (no append-only file), and they are queued again from Postgres within seconds: set appendonly to yes to spare that.',
    );
  }
  return { isReachable: true, warnings, notices };
}
