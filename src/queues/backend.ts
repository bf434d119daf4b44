import type { Processor, Queue, QueueOptions, Worker, WorkerOptions } from 'bullmq';
import { storableText } from '../shared/storable.ts';

/** A job: read the target. Ids only, never data, so one job can stand for any number of changes. */
export interface TargetJob {
  readonly kind: string;
  readonly key: string;
}

/** One job per target, sorted so that two callers can't deadlock. */
export function jobsOf(jobs: readonly TargetJob[]) {
  const byTarget = new Map<string, TargetJob>();
  for (const job of jobs) {
    // A value that jsonb rejects would fail the whole batch.
    const data = { kind: storableText(job.kind), key: storableText(job.key) };
    byTarget.set(targetId(data), data);
  }
  return [...byTarget]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, data]) => ({
      name: data.kind,
      data,
      opts: {
        deduplication: { id, keepLastIfActive: true },
        removeOnComplete: true,
        removeOnFail: true,
      },
    }));
}

/** ASCII without the colon, which both stores use in their own names. */
function targetId({ kind, key }: TargetJob): string {
  return `${encodeURIComponent(kind)}/${encodeURIComponent(key)}`;
}

export type BullQueue = Queue<TargetJob, void, string>;
export type BullWorker = Worker<TargetJob, void, string>;
export type JobProcessor = Processor<TargetJob, void, string>;

export type WorkerTuning = Omit<WorkerOptions, 'connection' | 'prefix'>;

export interface StoreHealth {
  readonly isReachable: boolean;
  /** The reason in one sentence, if known. */
  readonly reason?: string | undefined;
}

export interface PendingJob {
  readonly id: string;
  readonly data: TargetJob;
}

/** The differences between the two stores of queues. */
export interface QueueStore {
  readonly backend: 'redis' | 'postgres';
  /** False while a command would have to wait. */
  isConnected(): boolean;
  openQueue(name: string, options: Pick<QueueOptions, 'skipMetasUpdate'>): BullQueue;
  openWorker(name: string, processor: JobProcessor, tuning: WorkerTuning): BullWorker;
  /** The jobs of a queue that aren't running. */
  pendingJobs(queue: BullQueue): Promise<readonly PendingJob[]>;
  /** Removes the store's record of past jobs of a queue, because the record names their targets. */
  forgetEvents(queue: BullQueue): Promise<void>;
  health(): Promise<StoreHealth>;
  /** Maximum number of Postgres connections with this many workers. */
  connections(workers: number): number;
  /** Closes every connection, even if the peer doesn't answer. */
  disconnect(): Promise<void>;
}
