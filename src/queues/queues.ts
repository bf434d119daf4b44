import { setTimeout as sleep } from 'node:timers/promises';
import {
  enqueueBatch,
  maxStalledCount,
  type QueueName,
  queueNames,
  queueSettings,
  queueTiming,
} from '../../config/queues.ts';
import { readDeploymentId } from '../db/connections.ts';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import { withTimeout } from '../shared/timeout.ts';
import {
  type BullQueue,
  type BullWorker,
  jobsOf,
  type PendingJob,
  type QueueStore,
  type StoreHealth,
  type TargetJob,
  type WorkerTuning,
} from './backend.ts';
import { createOutageLog, type OutageLog } from './outage-log.ts';
import type { QueuePools } from './postgres.ts';

export interface QueuesHealth extends StoreHealth {
  readonly backend: 'redis' | 'postgres';
}

/** Processes one job. The signal fires if its lock is lost, or if the deadline of a close has passed. */
export type JobHandler = (job: TargetJob, signal: AbortSignal) => Promise<void>;

export interface QueueWorker {
  /**
   * Takes no more jobs, waits for running handlers and frees the connections. Shortly before `deadlineMs` it aborts the
   * handlers' signal. Then it resolves even if the store can't be reached: another worker takes the unfinished jobs.
   */
  close(deadlineMs: number): Promise<void>;
}

/**
 * Jobs that notify workers of due sync targets. Postgres holds what is due: a lost job costs time, never data.
 *
 * enqueue ─▶ waiting ─▶ active ─▶ gone
 *               ▲          │ enqueued meanwhile, once or more: worked once more
 *               └──────────┘ its worker died: another takes it
 */
export interface Queues {
  /**
   * Enqueues jobs: at most one waiting job per target, plus one that runs. Rejects with `QueueUnavailable` if the store
   * doesn't accept all of them in time; some may be enqueued.
   */
  enqueue(queue: QueueName, jobs: readonly TargetJob[]): Promise<void>;
  /** The number of waiting jobs. Rejects with `QueueUnavailable`. */
  waiting(queue: QueueName): Promise<number>;
  /**
   * Removes matching jobs that aren't running, and the store's record of past ones. Returns their number. Running jobs
   * end normally. Rejects with `QueueUnavailable`.
   */
  forget(queue: QueueName, isForgotten: (job: TargetJob) => boolean): Promise<number>;
  /** Starts handlers. If a handler rejects, its job ends. Default concurrency: the queue's own setting. */
  work(queue: QueueName, options: { readonly concurrency?: number }, handler: JobHandler): QueueWorker;
  health(): Promise<QueuesHealth>;
  /** Maximum Postgres connections, with the workers that run now. */
  connections(): number;
  /** Resolves when all queues are open. Required before `work`. Rejects with `QueueUnavailable`. */
  open(): Promise<void>;
  /** The library's queues, for tests and benchmarks. Empty until they are open. */
  readonly bull: readonly BullQueue[];
  /** Closes running workers after a short wait, and then every connection. */
  close(): Promise<void>;
}

export interface QueuesOptions {
  /** The Redis that holds the queues. Undefined: they are in Postgres. */
  readonly redisUrl: string | undefined;
  readonly databaseUrl: string;
  readonly log: Log;
  /** Opening the queues must change nothing in the store. */
  readonly isReadOnly?: boolean;
  /** Default: the pools in config/queues.ts. */
  readonly pools?: QueuePools | undefined;
  /** Milliseconds; defaults in config/queues.ts. */
  readonly timing?: Partial<Record<'lockDuration' | 'stalledInterval', number>>;
}

/** Milliseconds that `close` waits for an unresponsive store. */
const closeMs = 500;

/** The queue store didn't answer in time. The caller can continue, because Postgres keeps what is pending. */
export class QueueUnavailable extends UserError {
  readonly code = 'queue_unavailable';

  constructor(message: string, options: ErrorOptions = {}) {
    const remedy = 'Check that the server of REDIS_URL runs, or without one that of DATABASE_URL, and try again.';
    super(message, { ...options, remedy });
  }
}

/**
 * Opens the queues. In Postgres, rejects if the database is unreachable or the queue schema isn't migrated. In Redis,
 * connects once Redis is reachable, and opens once Postgres is: the keys contain its deployment id ({@link
 * readDeploymentId}).
 */
export async function createQueues(options: QueuesOptions): Promise<Queues> {
  const { log, redisUrl } = options;
  const outage = createOutageLog(log, redisUrl === undefined ? 'postgres' : 'redis');
  // Loaded on demand: the queue library is large, and many commands don't need it.
  const store: QueueStore =
    redisUrl === undefined
      ? await (await import('./postgres.ts')).createPostgresStore(options.databaseUrl, outage, log, options.pools)
      : (await import('./redis.ts')).createRedisStore(redisUrl, outage, () => {
          if (deploymentId === undefined) throw new QueueUnavailable('The queues are not open yet.');
          return deploymentId;
        });
  const queueOptions = { skipMetasUpdate: options.isReadOnly ?? false };
  const queues = new Map<QueueName, BullQueue>();
  const workers = new Set<QueueWorker>();
  let deploymentId: string | undefined;
  let opening: Promise<void> | undefined;
  let isClosed = false;
  await withTimeout(queueTiming.timeout, open(), () => undefined).catch((err: unknown) =>
    log.debug({ err }, 'The queues in Redis are opened when Postgres can be read'),
  );

  function open(): Promise<void> {
    opening ??= openAll();
    opening.catch(() => {
      opening = undefined;
    });
    return opening;
  }

  async function openAll(): Promise<void> {
    if (redisUrl !== undefined) {
      deploymentId = await readDeploymentId(options.databaseUrl).catch((cause: unknown) => {
        throw new QueueUnavailable('The queues in Redis are not open: Postgres cannot be asked which are ours.', {
          cause,
        });
      });
    }
    if (isClosed) return;
    for (const name of queueNames) {
      const queue = store.openQueue(name, queueOptions);
      queue.on('error', outage.report);
      queues.set(name, queue);
    }
    const connecting = Promise.all([...queues.values()].map((queue) => queue.waitUntilReady()));
    await withTimeout(queueTiming.timeout, connecting, () => undefined).catch(outage.report);
  }

  async function ask<T>(name: QueueName, request: (queue: BullQueue) => Promise<T>): Promise<T> {
    if (queues.size === 0) {
      await withTimeout(queueTiming.timeout, open(), () => {
        throw new QueueUnavailable('The queues in Redis are not open yet.');
      });
    }
    try {
      const queue = queues.get(name);
      if (!queue || !store.isConnected()) throw new QueueUnavailable(`The queue ${name} is not connected.`);
      const answer = await withTimeout(queueTiming.timeout, request(queue), () => {
        throw new QueueUnavailable(`The queue ${name} did not answer within ${queueTiming.timeout} ms.`);
      });
      outage.recovered();
      return answer;
    } catch (cause) {
      outage.report(cause);
      if (cause instanceof QueueUnavailable) throw cause;
      throw new QueueUnavailable(`The queue ${name} failed.`, { cause });
    }
  }

  return {
    async enqueue(name, targets) {
      const jobs = jobsOf(targets);
      if (jobs.length === 0) return;
      for (let from = 0; from < jobs.length; from += enqueueBatch) {
        await ask(name, (queue) => queue.addBulk(jobs.slice(from, from + enqueueBatch)));
      }
    },

    async waiting(name) {
      const counts = await ask(name, (queue) => queue.getJobCounts('waiting', 'prioritized', 'delayed'));
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },

    forget: (name, isForgotten) =>
      ask(name, async (queue) => {
        const forgotten = await forgetJobs(queue, await store.pendingJobs(queue), isForgotten);
        await store.forgetEvents(queue);
        return forgotten;
      }),

    work(name, { concurrency = queueSettings[name].handlers }, handler) {
      const { lockDuration, stalledInterval, pollEvery, retryDelay } = { ...queueTiming, ...options.timing };
      const tuning = {
        concurrency,
        lockDuration,
        stalledInterval,
        maxStalledCount,
        drainDelay: pollEvery[store.backend] / 1_000,
        runRetryDelay: retryDelay,
      };
      const worker = createQueueWorker(store, name, tuning, handler, outage, log);
      workers.add(worker);
      return { close: (deadlineMs) => worker.close(deadlineMs).finally(() => workers.delete(worker)) };
    },

    async health() {
      const unreachable: StoreHealth = { isReachable: false };
      const health = await withTimeout(queueTiming.timeout, store.health(), () => unreachable);
      return { backend: store.backend, ...health };
    },

    connections: () => store.connections(workers.size),
    open,
    get bull() {
      return [...queues.values()];
    },

    async close() {
      isClosed = true;
      await Promise.all([...workers].map((worker) => worker.close(closeMs)));
      const closings = Promise.all([...queues.values()].map((queue) => queue.close()));
      await withTimeout(closeMs, closings, () => undefined).catch(outage.report);
      outage.end();
      await store.disconnect();
    },
  };
}

/** Removes matching jobs that aren't running, with their deduplication entries. Returns their number. */
async function forgetJobs(
  queue: BullQueue,
  pending: readonly PendingJob[],
  isForgotten: (job: TargetJob) => boolean,
): Promise<number> {
  let forgotten = 0;
  for (const { id, data } of pending) {
    if (!isForgotten(data)) continue;
    // A job can end or begin before it is removed.
    const code = await queue.remove(id).catch(() => 0);
    if (code === 1) forgotten += 1;
  }
  return forgotten;
}

/**
 * After an error of the store, the library would ask for the next job without a pause, unless the connection is lost.
 */
function restAfterErrors(worker: BullWorker, ms: number): void {
  const library = worker as unknown as { moveToActive(...given: unknown[]): Promise<unknown> };
  const moveToActive = library.moveToActive.bind(worker);
  library.moveToActive = (...given) =>
    moveToActive(...given).catch(async (error: unknown) => {
      await sleep(ms, undefined, { ref: false });
      throw error;
    });
}

/** The part of a deadline that is left for aborted handlers. */
const cancelMs = 1_000;
/** Milliseconds that closing an idle worker waits for its store. */
const storeMs = 1_000;
const checkMs = 50;

function createQueueWorker(
  store: QueueStore,
  queue: QueueName,
  tuning: WorkerTuning & { readonly concurrency: number },
  handler: JobHandler,
  outage: OutageLog,
  log: Log,
): QueueWorker {
  let running = 0;
  let idleSince = 0;
  const worker: BullWorker = store.openWorker(
    queue,
    // The library passes a signal only if the processor declares all three parameters.
    async (job, _token, signal) => {
      outage.recovered();
      running += 1;
      try {
        await handler(job.data, signal ?? new AbortController().signal);
      } finally {
        running -= 1;
        idleSince = performance.now();
      }
    },
    tuning,
  );
  restAfterErrors(worker, tuning.runRetryDelay ?? queueTiming.retryDelay);
  worker.on('error', outage.report);
  worker.on('failed', (job, err) =>
    log.warn({ err, queue, kind: job?.name }, 'A handler failed; its target stays due'),
  );

  let closing: Promise<void> | undefined;
  async function close(deadlineMs: number): Promise<void> {
    const closed = worker.close().then(() => true);
    const forCancelled = Math.min(cancelMs, deadlineMs / 2);
    const deadline = performance.now() + deadlineMs - forCancelled;
    idleSince = performance.now();
    const isIdle = () => running === 0 && performance.now() - idleSince > storeMs;
    while (performance.now() < deadline && !isIdle()) {
      if (await withTimeout(checkMs, closed, () => false)) return;
    }
    if (running > 0) {
      log.warn({ queue }, 'A worker was still busy at its deadline; another worker takes its jobs');
      worker.cancelAllJobs('the worker is closing');
      // A handler that ends now still completes its job. Otherwise the job's lock expires.
      if (await withTimeout(forCancelled, closed, () => false)) return;
    }
    // The next worker must not get a connection that is closing.
    await withTimeout(checkMs, worker.disconnect(), () => undefined).catch(() => undefined);
  }

  return {
    close(deadlineMs) {
      closing ??= close(deadlineMs);
      return closing;
    },
  };
}
