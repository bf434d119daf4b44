import { forgetUnconfirmed } from '../src/inbox/claims.ts';
import { type Desk, endRetention, reparseLately } from '../src/inbox/operations.ts';
import type { Log } from '../src/log.ts';
import { auditQuality } from '../src/reporting/audits.ts';
import { drainOutcomes } from '../src/reporting/outcomes.ts';
import { drainRollups } from '../src/reporting/rollups.ts';
import type { AttributionRounds } from '../src/sync/attribution/attribution.ts';
import type { Reconciler } from '../src/sync/coverage/reconcile.ts';
import type { EvidenceRounds } from '../src/sync/evidence/evidence.ts';
import type { DriftLog } from '../src/warehouse/drift.ts';

export interface CompletenessPace {
  readonly callsMs: number;
  readonly textsMs: number;
}

export interface Maintenance {
  stop(): Promise<void>;
}

const driftEveryMs = 5_000;
const reparseEveryMs = 5_000;
const reparsedSeconds = 120;
const retentionEveryMs = 300_000;
const forgettingEveryMs = 60_000;
const rollupsEveryMs = 10_000;
/** Between two looks whether the last audit is old enough: they are taken once an hour, whoever was started when. */
const auditLookMs = 60_000;

/** The housekeeping of a worker: drift, completeness, what the reports are read from, and the inbox. */
export function createMaintenance(parts: {
  inbox: Desk;
  log: Log;
  drift: DriftLog;
  reconciler: Reconciler;
  evidence: EvidenceRounds;
  attribution: AttributionRounds;
  /** Milliseconds between two looks for what no webhook announced: due hours of call history, and lost texts. */
  pace: CompletenessPace;
  retentionDays: number;
}): Maintenance {
  const { inbox, log, drift, reconciler, evidence, attribution, pace, retentionDays } = parts;
  const { db } = inbox;
  const doing = new Set<Promise<void>>();
  const stopping = new AbortController();

  /** Rounds of one kind never overlap: a long one is awaited by the next. */
  function every(ms: number, what: string, work: () => Promise<unknown>): NodeJS.Timeout {
    let isBusy = false;
    const round = () => {
      if (isBusy) return;
      isBusy = true;
      const done = work()
        .then(
          () => undefined,
          (error: unknown) => log.warn({ err: error }, `${what} failed; it is tried again`),
        )
        .finally(() => {
          isBusy = false;
          doing.delete(done);
        });
      doing.add(done);
    };
    return setInterval(round, ms);
  }

  const timers = [
    every(driftEveryMs, 'Writing the drift of the API', () => drift.flush()),
    every(reparseEveryMs, 'Reading deliveries again that pointed at nothing', () =>
      reparseLately(inbox, reparsedSeconds),
    ),
    every(pace.callsMs, 'Comparing call history', () => reconciler.round(stopping.signal)),
    every(pace.textsMs, 'Looking for lost texts', () => evidence.round()),
    every(pace.textsMs, 'Comparing unread counts', () => evidence.compareUnread()),
    every(pace.textsMs, 'Searching what touched which call', () => attribution.round(stopping.signal)),
    every(rollupsEveryMs, 'Counting what rules did', () => drainOutcomes(db, stopping.signal)),
    every(rollupsEveryMs, 'Working changes into the rollups', () => drainRollups(db, stopping.signal)),
    every(auditLookMs, 'Counting what is odd in the data', () => auditQuality(db)),
    every(retentionEveryMs, 'Ending the retention of deliveries', () => endRetention(db, retentionDays)),
    every(forgettingEveryMs, 'Forgetting what only deliveries named', () => forgetUnconfirmed(db)),
  ];
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      stopping.abort();
      await Promise.all(doing);
      await drift.flush().catch((error: unknown) => log.warn({ err: error }, 'The last drift could not be written'));
    },
  };
}
