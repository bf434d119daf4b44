import type { RetentionDays } from '../config/settings.ts';
import type { Attribution } from '../src/completeness/attribution.ts';
import type { Reconciler } from '../src/completeness/coverage/reconcile.ts';
import type { GapDetection } from '../src/completeness/gaps/gap-detection.ts';
import type { Polling } from '../src/completeness/polling.ts';
import type { Database } from '../src/db/database.ts';
import { forgetUnconfirmed } from '../src/inbox/claims.ts';
import { deleteExpired, type InboxDeps, reparseDeliveries } from '../src/inbox/stored-deliveries.ts';
import { createRetention } from '../src/privacy/retention.ts';
import { analyzeGrownTables } from '../src/reporting/analyze.ts';
import { drainOutcomes } from '../src/reporting/outcomes.ts';
import { drainBehindMirror } from '../src/reporting/rollups.ts';
import type { Log } from '../src/shared/log.ts';
import { type LoopOptions, startLoop } from '../src/shared/loop.ts';
import type { DueWork, Waiting } from './due-work.ts';

/** Milliseconds between two searches for events that no webhook announced. */
const callsEveryMs = 10_000;
const textsEveryMs = 60_000;
/** Milliseconds between two polls, and between two checks whether webhooks announce everything. */
const [pollEveryMs, announcedEveryMs] = [15_000, 30_000];
/** Milliseconds between two rounds of work on stored deliveries. */
const deliveriesEveryMs = 300_000;
const retentionEveryMs = 3_600_000;
const forgetEveryMs = 600_000;
/** How often to check whether the last day can be attributed. That is done only once a day. */
const attributionEveryMs = 600_000;
const rollupsEveryMs = 10_000;
const analyzeEveryMs = 3_600_000;
/** Reads of a process before its first analysis, and at most between two of them. */
const firstAnalysisReads = 250;
const maxAnalysisReads = 50_000;

/** Starts the periodic jobs of a worker: completeness, reporting, retention. */
export function startMaintenance(deps: {
  inbox: InboxDeps;
  /** A separate connection for the roll-ups. */
  rollups: Database;
  log: Log;
  dueWork: Pick<DueWork, 'waiting'>;
  reconciler: Reconciler;
  gapDetection: GapDetection;
  polling: Polling;
  attribution: Attribution;
  deliveryDays: number;
  retentionDays: RetentionDays;
}) {
  const { inbox, log, dueWork, reconciler, gapDetection, polling, attribution, deliveryDays, retentionDays } = deps;
  const { db } = inbox;
  const every = (everyMs: LoopOptions['everyMs'], name: string, job: LoopOptions['job'], when?: keyof Waiting) =>
    startLoop({ everyMs, name, log, job: async (signal) => (when && !dueWork.waiting[when]) || job(signal) });
  const pollMs = () => (polling.isAnyUnannounced() ? pollEveryMs : announcedEveryMs);
  const retention = createRetention({ db, log, days: retentionDays });
  const removal = every(retentionEveryMs, 'Removing expired content', (signal) => retention.round(signal));
  void removal.kick();
  const analysis = every(analyzeEveryMs, 'Analyzing tables that have grown', () => analyzeGrownTables(db));
  let reads = 0;
  let analyzeAt = firstAnalysisReads;
  const stopping = new AbortController();
  // A new release may read what an older one couldn't.
  const reparsing = reparseDeliveries(inbox, stopping.signal).catch((error: unknown) =>
    log.warn({ err: error }, 'Deliveries that were not recognized could not be parsed again'),
  );
  const loops = [
    removal,
    every(callsEveryMs, 'Comparing call history', (signal) => reconciler.round(signal), 'calls'),
    every(callsEveryMs, 'Searching gaps of texts', (signal) => gapDetection.searchGaps(signal), 'texts'),
    every(textsEveryMs, 'Detecting missing texts', (signal) => gapDetection.round(signal)),
    every(textsEveryMs, 'Comparing unread counts', (signal) => gapDetection.compareUnread(signal)),
    every(pollMs, 'Polling calls and texts', (signal) => polling.round(signal)),
    every(attributionEveryMs, 'Attributing calls', (signal) => attribution.round(signal)),
    every(rollupsEveryMs, 'Counting rule outcomes', (signal) => drainOutcomes(db, signal), 'outcomes'),
    every(rollupsEveryMs, 'Updating the rollups', (signal) => drainBehindMirror(deps.rollups, signal), 'rollups'),
    analysis,
    every(deliveriesEveryMs, 'Deleting old deliveries', (signal) => deleteExpired(db, deliveryDays, signal)),
    every(forgetEveryMs, 'Deleting unconfirmed targets', () => forgetUnconfirmed(db)),
  ];
  return {
    /** Called for each mirrored read. Each time the number of reads has doubled, statements need other plans. */
    mirrored() {
      reads += 1;
      if (reads < analyzeAt) return;
      analyzeAt += Math.min(reads, maxAnalysisReads);
      void analysis.kick();
    },
    async stop() {
      stopping.abort();
      await Promise.all([reparsing, ...loops.map((loop) => loop.stop())]);
    },
  };
}
