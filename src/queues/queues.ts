import {
  maxStalledCount,
  type QueueName,
  queueNames,
  queueSettings,
  queueTiming,
  ringBatch,
} from '../../config/queues.ts';
import type { Log } from '../log.ts';
import { readDeploymentId } from '../postgres/sessions.ts';
import { type Bell, type BellData, jobsOf } from './bell.ts';
import { forgetBells } from './forgetting.ts';
import { withPatience } from './patience.ts';
import { createPostgresStore, type QueuePools } from './postgres.ts';
import { createRedisStore } from './redis.ts';
import type { BullQueue, QueueStore, StoreHealth } from './store.ts';
import { createTrouble } from './trouble.ts';
import { type BellHandler, createQueueWorker, type QueueWorker } from './worker.ts';

export interface QueuesHealth extends StoreHealth {
  readonly backend: 'redis' | 'postgres';
}

/**
 * The bells that send workers to what is due. Postgres knows the truth; a bell that is lost costs time, never data.
 *
 * ring ─▶ waiting ─▶ active ─▶ gone
 *            ▲          │ rung meanwhile: once more, however often
 *            └──────────┘ its worker died: another takes it
 */
export interface Queues {
  /**
   * Makes each target be looked at soon, once however often it rings before that, and once more after a look that is
   * under way. Rejects with `QueueUnavailable` when the store does not take all of them in time; some may have rung.
   */
  ring(queue: QueueName, bells: readonly Bell[]): Promise<void>;
  /** How many targets wait to be looked at; rejects with `QueueUnavailable`. */
  waiting(queue: QueueName): Promise<number>;
  /**
   * Takes bells back that nobody answers yet, and with them what the store remembers of past ones. Answers with how many;
   * a bell that is being answered goes with its answer. Rejects with `QueueUnavailable`.
   */
  forget(queue: QueueName, isForgotten: (bell: BellData) => boolean): Promise<number>;
  /** Starts handlers; a handler that rejects ends its bell. Default concurrency: the queue's own setting. */
  work(queue: QueueName, options: { readonly concurrency?: number }, handler: BellHandler): QueueWorker;
  health(): Promise<QueuesHealth>;
  /** How many Postgres connections this holds open at most, with the workers that run now. */
  connections(): number;
  /** Resolves when all queues are open; needed before `work`. Rejects with `QueueUnavailable`. */
  open(): Promise<void>;
  /** For the queue board; empty until they are open. */
  readonly bull: readonly BullQueue[];
  /** Closes the workers that still run, waiting for them briefly, and every connection. */
  close(): Promise<void>;
}

export interface QueuesOptions {
  /** The Redis that holds the queues; without it they live in the database. */
  readonly redisUrl: string | undefined;
  readonly databaseUrl: string;
  readonly log: Log;
  /** Opening them changes nothing in the store: for commands that only look. */
  readonly isReadOnly?: boolean;
  /** Default: those of config/queues.ts. */
  readonly pools?: QueuePools | undefined;
  /** Milliseconds; defaults in config/queues.ts. */
  readonly timing?: Partial<Record<'lockDuration' | 'stalledInterval' | 'pollEvery', number>>;
}

/** A store that is away must not keep a process from ending, in milliseconds. */
const closePatience = 500;

/** The store of the queues did not do what was asked in time. The caller goes on: what is due is kept in Postgres. */
export class QueueUnavailable extends Error {
  override readonly name = 'QueueUnavailable';
  readonly code = 'queue_unavailable';
}

/**
 * Opens the queues. A Redis that is away is waited for briefly, and connected to whenever it comes. With queues in
 * Postgres, a database that cannot be reached, or whose queue schema is not migrated, is an error; with queues in Redis, one
 * that cannot be reached delays the opening: its identity is part of their keys, see {@link readDeploymentId}.
 */
export async function createQueues(options: QueuesOptions): Promise<Queues> {
  const { log, redisUrl } = options;
  const trouble = createTrouble(log, redisUrl === undefined ? 'postgres' : 'redis');
  const store: QueueStore =
    redisUrl === undefined
      ? await createPostgresStore(options.databaseUrl, trouble, log, options.pools)
      : createRedisStore(redisUrl, trouble, () => {
          if (deploymentId === undefined) throw new QueueUnavailable('The queues are not open yet.');
          return deploymentId;
        });
  const queueOptions = { skipMetasUpdate: options.isReadOnly ?? false };
  const queues = new Map<QueueName, BullQueue>();
  const workers = new Set<QueueWorker>();
  let deploymentId: string | undefined;
  let opening: Promise<void> | undefined;
  let isClosed = false;
  await withPatience(queueTiming.patience, open(), () => undefined).catch((err: unknown) =>
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
      queue.on('error', trouble.report);
      queues.set(name, queue);
    }
    const connecting = Promise.all([...queues.values()].map((queue) => queue.waitUntilReady()));
    await withPatience(queueTiming.patience, connecting, () => undefined).catch(trouble.report);
  }

  async function ask<T>(name: QueueName, question: (queue: BullQueue) => Promise<T>): Promise<T> {
    if (queues.size === 0) {
      await withPatience(queueTiming.patience, open(), () => {
        throw new QueueUnavailable('The queues in Redis are not open yet.');
      });
    }
    try {
      const queue = queues.get(name);
      if (!queue || !store.isConnected()) throw new QueueUnavailable(`The queue ${name} is not connected.`);
      const answer = await withPatience(queueTiming.patience, question(queue), () => {
        throw new QueueUnavailable(`The queue ${name} did not answer within ${queueTiming.patience} ms.`);
      });
      trouble.isOver();
      return answer;
    } catch (cause) {
      trouble.report(cause);
      if (cause instanceof QueueUnavailable) throw cause;
      throw new QueueUnavailable(`The queue ${name} failed.`, { cause });
    }
  }

  return {
    async ring(name, bells) {
      const jobs = jobsOf(bells).map((job) => ({
        ...job,
        opts: { ...job.opts, removeOnComplete: true, removeOnFail: true },
      }));
      for (let from = 0; from < jobs.length; from += ringBatch) {
        await ask(name, (queue) => queue.addBulk(jobs.slice(from, from + ringBatch)));
      }
    },

    async waiting(name) {
      const counts = await ask(name, (queue) => queue.getJobCounts('waiting', 'prioritized', 'delayed'));
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },

    forget: (name, isForgotten) =>
      ask(name, async (queue) => {
        const forgotten = await forgetBells(queue, isForgotten);
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
        drainDelay: pollEvery / 1_000,
        runRetryDelay: retryDelay,
      };
      const worker = createQueueWorker(store, name, tuning, handler, trouble, log);
      const tracked: QueueWorker = {
        close: (deadlineMs) => worker.close(deadlineMs).finally(() => workers.delete(tracked)),
      };
      workers.add(tracked);
      return tracked;
    },

    async health() {
      const silent: StoreHealth = { isReachable: false, warnings: [], notices: [] };
      const health = await withPatience(queueTiming.patience, store.health(), () => silent);
      return { backend: store.backend, ...health };
    },

    connections: () => store.connections(workers.size),
    open,
    get bull() {
      return [...queues.values()];
    },

    async close() {
      isClosed = true;
      await Promise.all([...workers].map((worker) => worker.close(closePatience)));
      const closings = Promise.all([...queues.values()].map((queue) => queue.close()));
      await withPatience(closePatience, closings, () => undefined).catch(trouble.report);
      trouble.end();
      await store.disconnect();
    },
  };
}
