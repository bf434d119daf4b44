/**
 * The queues, by what their handlers read. `handlers`: in one worker process; many of them share a transaction to
 * write. `reads`: handlers that may read the API at the same time; in all, fewer than the client's connections.
 */
export const queueSettings = {
  conversations: { handlers: 32, reads: 16 },
  calls: { handlers: 256, reads: 32 },
  transcripts: { handlers: 16, reads: 8 },
  directory: { handlers: 2, reads: 2 },
} as const;

export type QueueName = keyof typeof queueSettings;

export const queueNames = Object.keys(queueSettings) as readonly QueueName[];

/** What a worker can be limited to. Sends need no queue: the ledger's rows say what is due. */
export const workNames = [...queueNames, 'sends'] as const;

export type WorkName = (typeof workNames)[number];

/**
 * Times in milliseconds. A dead worker is noticed at the first or second stalled check after `lockDuration`. Until then,
 * and where a notification was lost, the sweep reads the targets within seconds, so an idle worker may poll rarely.
 */
export const queueTiming = {
  lockDuration: 10_000,
  stalledInterval: 60_000,
  /**
   * How often an idle worker polls the store, in case a notification was lost. Whole seconds. A proxy may end a
   * connection to Redis on which nothing happens for a minute.
   */
  pollEvery: { redis: 30_000, postgres: 300_000 },
  /** How long a producer waits for the store before its jobs count as not enqueued. */
  timeout: 2_000,
  /** Wait of a worker between attempts while its store is away. */
  retryDelay: 1_000,
} as const;

/** How often a job may lose its worker before it is given up. Its target stays due, so the sweep reads it. */
export const maxStalledCount = 10;

/** Jobs in one round trip to the store. */
export const enqueueBatch = 500;

/** Postgres connections of one process for queues in Postgres: to add jobs, to take and finish them, to listen. */
export const queuePools = { producers: 1, jobs: 4, listen: 1 } as const;
