import { Gauge, type Registry } from '@prometheus-io/client';
import { queueNames } from '../../config/queues.ts';
import { readBacklog, readParked } from './facts/backlog.ts';
import { readCompleteness } from './facts/completeness.ts';
import { readQueues } from './facts/queue.ts';
import type { SnapshotParts } from './snapshot.ts';

/** Gauges of what all processes share, read when they are scraped. */
export interface Gauges {
  /** Never rejects: what cannot be asked has no value in this scrape, rather than its last one. */
  refresh(): Promise<void>;
}

export function createGauges(registry: Registry, { database, queues }: SnapshotParts): Gauges {
  const registers = [registry];
  const targets = new Gauge({
    name: 'trunkline_targets',
    help: 'Reads that are owed: due by now, due later, of history, and of all those whose last read failed.',
    labelNames: ['kind', 'state'] as const,
    registers,
  });
  const oldest = new Gauge({
    name: 'trunkline_oldest_due_seconds',
    help: 'For how long the oldest due read is owed; 0 when none is.',
    labelNames: ['kind'] as const,
    registers,
  });
  const parked = new Gauge({
    name: 'trunkline_stream_parked',
    help: '1 while the credential may not read the stream.',
    labelNames: ['kind'] as const,
    registers,
  });
  const waiting = new Gauge({
    name: 'trunkline_queue_waiting',
    help: 'Bells that wait in the queue.',
    labelNames: ['queue'] as const,
    registers,
  });

  const unannounced = new Gauge({
    name: 'trunkline_unannounced_call_share',
    help: 'Of the calls of the last day that webhooks were to announce, the share that only call search showed.',
    registers,
  });
  const unproven = new Gauge({
    name: 'trunkline_unproven_hours',
    help: 'Hours of call history that were compared with the service and are not proven complete.',
    registers,
  });
  const missingTexts = new Gauge({
    name: 'trunkline_missing_unread_texts',
    help: 'Unread texts that the service counts and that are not held, over all lines.',
    registers,
  });

  async function refreshCompleteness(): Promise<void> {
    const { lastDay, unprovenCount, lines } = await readCompleteness(database.db);
    if (lastDay.reported > 0) unannounced.set(lastDay.unannounced / lastDay.reported);
    unproven.set(unprovenCount);
    missingTexts.set(lines.reduce((sum, { missing }) => sum + missing, 0));
  }

  async function refreshTargets(): Promise<void> {
    const [backlog, streams] = await Promise.all([readBacklog(database.db), readParked(database.db)]);
    for (const { kind, due, later, history, failing, oldestDueSeconds } of backlog) {
      targets.set({ kind, state: 'due' }, due);
      targets.set({ kind, state: 'later' }, later);
      targets.set({ kind, state: 'history' }, history);
      targets.set({ kind, state: 'failing' }, failing);
      oldest.set({ kind }, oldestDueSeconds ?? 0);
      parked.set({ kind }, streams.some((stream) => stream.kind === kind) ? 1 : 0);
    }
  }

  async function refreshQueues(): Promise<void> {
    const facts = await readQueues(queues);
    for (const queue of queueNames) {
      const count = facts.waiting[queue];
      if (count !== null) waiting.set({ queue }, count);
    }
  }

  return {
    async refresh() {
      for (const gauge of [targets, oldest, parked, waiting, unannounced, unproven, missingTexts]) gauge.reset();
      await Promise.allSettled([refreshTargets(), refreshQueues(), refreshCompleteness()]);
    },
  };
}
