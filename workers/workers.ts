import { type QueueName, queueNames } from '../config/queues.ts';
import type { Context } from '../src/context.ts';
import { sealAnew } from '../src/credentials/resealing.ts';
import { bumpTargets } from '../src/inbox/bumps.ts';
import { retryStreams } from '../src/inbox/streams.ts';
import { createSweep, defaultSweepPace, type SweepPace } from '../src/inbox/sweep.ts';
import { withPatience } from '../src/queues/patience.ts';
import { adoptTimeZone } from '../src/reporting/params.ts';
import { type RulesPace, startRules } from '../src/rules/engine.ts';
import { reportProcess } from '../src/status/processes.ts';
import { createAttributionRounds } from '../src/sync/attribution/attribution.ts';
import { createReconciler } from '../src/sync/coverage/reconcile.ts';
import { createEvidenceRounds } from '../src/sync/evidence/evidence.ts';
import type { OnAnswer } from '../src/sync/finding.ts';
import { defaultLooks } from '../src/sync/looks/schedule.ts';
import { createSync } from '../src/sync/sync.ts';
import { createThreadLook } from '../src/sync/thread-look.ts';
import { drainUnconfirmed } from '../src/sync/unconfirmed.ts';
import { createDriftLog } from '../src/warehouse/drift.ts';
import { answerBells } from './bells.ts';
import { type CompletenessPace, createMaintenance } from './maintenance.ts';
import { type SendWork, type SendWorkOptions, startSends } from './sends.ts';

export interface Workers {
  /** Finishes the turns in hand within the deadline, in milliseconds, and takes no more. */
  close(deadlineMs: number): Promise<void>;
}

export interface WorkerOptions {
  /** Default: all. */
  readonly queues?: readonly QueueName[];
  /** Seconds after the end of a call at which late recordings and transcripts are looked for. */
  readonly looks?: readonly number[];
  readonly directoryEverySeconds?: number;
  readonly sweepPace?: SweepPace;
  readonly completenessPace?: CompletenessPace;
  readonly sends?: SendWorkOptions;
  readonly rulesPace?: RulesPace;
}

/** Users and lines change rarely; a hint for an unknown line does not wait for them. */
const directoryEverySeconds = 600;
/** Sends have so long beyond the deadline, in milliseconds, to write down what came of a request. */
const settlingMs = 1_000;
const completenessPace: CompletenessPace = { callsMs: 10_000, textsMs: 60_000 };

/** Works the queues: every bell is a turn of its target. Any number of processes may do so at once. */
export async function startWorkers(context: Context, options: WorkerOptions = {}): Promise<Workers> {
  const { database, queues, ringer, service, settings, log, metrics, pauses, sealLink } = context;
  if (!service) throw new Error('Workers need API_BASE_URL, and API_KEY or ENCRYPTION_KEY');
  const { db } = database;
  await queues.open();
  await retryStreams(db);
  if (settings.isTimeZoneSet && !(await adoptTimeZone(db, settings.timeZone))) {
    log.warn(
      `The days of the reports are not those of TIME_ZONE=${settings.timeZone}: run \`trunkline reporting rebuild\``,
    );
  }
  const reporting = reportProcess(context, 'worker');
  const drift = createDriftLog(db);
  const onAnswer: OnAnswer = (operation, answer) => drift.note(operation, answer.drift);
  const look = createThreadLook({ db, service, onAnswer, pauses, onRings: ringer.ring, sealLink });
  let sends: SendWork | undefined;
  const rules = await startRules({
    db,
    log,
    service,
    mode: settings.rulesMode,
    file: settings.rulesFile,
    timeZone: settings.timeZone,
    retentionDays: settings.eventRetentionDays,
    look,
    actsFor: settings.api.key === undefined ? 'user' : 'account',
    onMatched: () => sends?.kick(),
    ...(options.rulesPace && { pace: options.rulesPace }),
  });
  const sync = createSync({
    db,
    service,
    log,
    pauses,
    looks: options.looks ?? defaultLooks,
    directoryEverySeconds: options.directoryEverySeconds ?? directoryEverySeconds,
    now: () => new Date(),
    onAnswer,
    onRings: ringer.ring,
    sealLink,
    onTurn(kind, turn, seconds) {
      metrics.targetTurned(kind, turn, seconds);
      if (turn === 'mirrored') rules.kick();
    },
  });
  const closing = new AbortController();
  const names = options.queues ?? queueNames;
  const working = names.map((name) => {
    if (name !== 'sends') return queues.work(name, {}, answerBells(sync, name, closing.signal));
    const started = startSends(context, { onAnswer, look }, { limits: rules.accountLimits, ...options.sends });
    sends = started;
    return { close: (deadlineMs: number) => started.close(deadlineMs + settlingMs) };
  });
  const unconfirmed = drainUnconfirmed((most) => sync.unconfirmed(names, most), log, closing.signal);
  const sweep = createSweep({ db, ringer, queues, log }, options.sweepPace ?? defaultSweepPace);
  const maintenance = createMaintenance({
    inbox: { db, pauses, onRings: ringer.ring },
    log,
    drift,
    reconciler: createReconciler({ db, service, log, pauses, onAnswer, onRings: ringer.ring }),
    attribution: createAttributionRounds({ db, service, log, onAnswer }),
    evidence: createEvidenceRounds({ db, service, log, pauses, onAnswer, onRings: ringer.ring }),
    pace: options.completenessPace ?? completenessPace,
    retentionDays: settings.eventRetentionDays,
  });
  ringer.ring(
    await bumpTargets(
      db,
      [
        { kind: 'lines', key: 'all' },
        { kind: 'users', key: 'all' },
      ],
      pauses,
    ),
  );
  const resealing = sealAnew(db, settings, closing.signal).then(
    (values) => values > 0 && log.info({ values }, 'Stored tokens and links were sealed with the present key'),
    (err: unknown) => log.warn({ err }, 'Stored tokens and links could not be sealed with the present key'),
  );
  return {
    async close(deadlineMs) {
      closing.abort();
      const ends = (async () => {
        await Promise.all([resealing, sweep.stop(), unconfirmed, ...working.map((worker) => worker.close(deadlineMs))]);
        await sync.idle();
        await rules.stop();
        await maintenance.stop();
        await reporting.stop();
      })();
      // Whatever waits for a store that hangs is left behind; a send writes down how it ended.
      await withPatience(deadlineMs + settlingMs, ends, () =>
        log.warn('Some work did not end in time; it is taken over'),
      );
    },
  };
}
