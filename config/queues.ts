export interface QueueSettings {
  /** Handlers of this queue that run at the same time in one worker process: many, so that what they write shares a transaction. */
  readonly handlers: number;
  /** How many of them ask the API at the same time; together fewer than the client's connections. */
  readonly reads: number;
}

/** The queues, by what their handlers read or send; most of a handler's time is spent waiting. */
export const queueSettings = {
  conversations: { handlers: 32, reads: 16 },
  calls: { handlers: 256, reads: 32 },
  transcripts: { handlers: 16, reads: 8 },
  directory: { handlers: 2, reads: 2 },
  sends: { handlers: 4, reads: 4 },
} as const satisfies Record<string, QueueSettings>;

export type QueueName = keyof typeof queueSettings;

export const queueNames = Object.keys(queueSettings) as readonly QueueName[];

/** Times in milliseconds. A worker that died is noticed after `lockDuration`, at the next look. */
export const queueTiming = {
  lockDuration: 10_000,
  stalledInterval: 5_000,
  /** How often an idle worker asks the store by itself, in case that a notice was lost. Whole seconds. */
  pollEvery: 5_000,
  /** How long a producer waits for the store before the bell counts as not rung. */
  patience: 2_000,
  /** Pause of a worker between attempts while its store is away. */
  retryDelay: 1_000,
} as const;

/** How often a job may lose its worker before it is given up; the target stays due, so a later bell tries again. */
export const maxStalledCount = 10;

/** Bells in one round trip to the store. */
export const ringBatch = 500;

/** Postgres connections of one process, where the queues live there: for adding jobs; for taking and finishing them; for hearing of them. */
export const queuePools = { producers: 1, jobs: 4, listen: 1 } as const;
