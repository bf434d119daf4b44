import type { Processor, Queue, QueueOptions, Worker } from 'bullmq';
import type { BellData } from './bell.ts';

export type BullQueue = Queue<BellData, void, string>;
export type BullWorker = Worker<BellData, void, string>;
export type BellProcessor = Processor<BellData, void, string>;

export interface WorkerTuning {
  readonly concurrency: number;
  readonly lockDuration: number;
  readonly stalledInterval: number;
  readonly maxStalledCount: number;
  /** Seconds. */
  readonly drainDelay: number;
  readonly runRetryDelay: number;
}

export interface StoreHealth {
  readonly isReachable: boolean;
  /** Why it is not, as one sentence, where the store said it. */
  readonly reason?: string | undefined;
  /** One sentence, with its remedy after a colon, for each setting of the store that keeps jobs from being taken or may evict them. */
  readonly warnings: readonly string[];
  /** The same for what costs nothing but time. */
  readonly notices: readonly string[];
}

/** Where the queues live. Everything that differs between the two kinds of store is behind this. */
export interface QueueStore {
  readonly backend: 'redis' | 'postgres';
  /** False while a command would only wait. */
  isConnected(): boolean;
  openQueue(name: string, options: Pick<QueueOptions, 'skipMetasUpdate'>): BullQueue;
  openWorker(name: string, processor: BellProcessor, tuning: WorkerTuning): BullWorker;
  /** Removes what the store remembers of past jobs of a queue: it names their targets, and nobody reads it. */
  forgetEvents(queue: BullQueue): Promise<void>;
  health(): Promise<StoreHealth>;
  /** Postgres connections that this store may have open with so many workers. */
  connections(workers: number): number;
  /** Cuts every connection, whether or not its peer answers. */
  disconnect(): Promise<void>;
}
