import { type QueueName, queueSettings, type WorkName, workNames } from '../config/queues.ts';
import { SettingsError } from '../config/settings.ts';
import { createOutages, type Outages } from '../src/alerts/outages.ts';
import { startAlerts } from '../src/alerts/watch.ts';
import { createAttribution } from '../src/completeness/attribution.ts';
import { unproveHours } from '../src/completeness/coverage/coverage.ts';
import { createReconciler } from '../src/completeness/coverage/reconcile.ts';
import { startFirstBackfill } from '../src/completeness/first-backfill.ts';
import { createGapDetection } from '../src/completeness/gaps/gap-detection.ts';
import { createPolling, readsOfRound } from '../src/completeness/polling.ts';
import type { Context } from '../src/context.ts';
import { rollupConnections } from '../src/db/connection-limits.ts';
import { createDatabase } from '../src/db/database.ts';
import { createDueFloor } from '../src/inbox/due-floor.ts';
import { retryParkedKinds } from '../src/inbox/parking.ts';
import { startSweep } from '../src/inbox/sweep.ts';
import { markDirty, type Target } from '../src/inbox/targets.ts';
import { readInForce } from '../src/ledger/rules-in-force.ts';
import { reportProcess } from '../src/processes/running.ts';
import type { JobHandler } from '../src/queues/queues.ts';
import { adoptHours } from '../src/reporting/hours.ts';
import { adoptCallBackNeed, adoptSettings, isSameZone, otherZone } from '../src/reporting/params.ts';
import { startRules } from '../src/rules/engine.ts';
import { parseRules } from '../src/rules/file/parse.ts';
import { withTimeout } from '../src/shared/timeout.ts';
import { createThreadRefresh } from '../src/sync/read-thread-now.ts';
import { unannouncedStreams } from '../src/sync/subscriptions/store.ts';
import { createSync, type Sync } from '../src/sync/sync.ts';
import { startUnconfirmedReads } from '../src/sync/unconfirmed-targets.ts';
import { directoryKinds, isDirectory, wholeList } from '../src/warehouse/directory.ts';
import { startDueWork } from './due-work.ts';
import { startMaintenance } from './maintenance.ts';
import { type SendWork, startSends } from './sends.ts';

export interface Workers {
  /** Takes no more jobs and finishes those in progress within the deadline, in milliseconds. */
  close(deadlineMs: number): Promise<void>;
}

export interface WorkerOptions {
  /** The kind under which the process reports itself: `start` if it also receives. Default: `worker`. */
  readonly role?: 'worker' | 'start';
  /** Default: all. */
  readonly queues?: readonly WorkName[];
  /** What this process has reported of an outage of Postgres during its start. */
  readonly outages?: Outages;
}

/** Milliseconds that sends get beyond the deadline to record the outcome of a request. */
const settlingMs = 1_000;

/**
 * Processes the queues and runs the loops of a worker. Any number of processes may do so. If a part fails to start, the
 * started ones are stopped.
 */
export async function startWorkers(context: Context, options: WorkerOptions = {}): Promise<Workers> {
  const { database, queues, notifier, service, settings, log, metrics, sealer } = context;
  if (!service) throw new Error('Workers need API_BASE_URL and API_KEY');
  // Counting everything again can take longer than the statement timeout.
  const { db, unlimited } = database;
  await queues.open();
  await retryParkedKinds(db);
  if (!(await isSameZone(db, settings.timeZone))) {
    throw new SettingsError([`TIME_ZONE=${settings.timeZone} ${otherZone.fault} ${otherZone.remedy}`]);
  }
  if (await adoptSettings(unlimited, { timeZone: settings.hoursZone, areWordsShown: settings.areBiWordsShown })) {
    log.info({ timeZone: settings.timeZone }, 'All reports are counted again, by the days of another time zone');
  }
  await using started = new AsyncDisposableStack();
  const track = <Part extends { stop(): Promise<void> }>(part: Part): Part => started.adopt(part, () => part.stop());
  const reporting = track(reportProcess(context, options.role ?? 'worker'));
  const alerts = track(startAlerts(context, options.outages ?? createOutages(context)));
  const { retentionDays } = settings;
  const readThread = createThreadRefresh({
    ...{ db, service, notify: notifier.notify, sealer },
    retentionDays: retentionDays.texts,
  });
  let sends: SendWork | undefined;
  const rules = track(
    await startRules({
      db,
      log,
      service,
      mode: settings.rulesMode,
      rulesFile: settings.rulesFile,
      timeZone: settings.hoursZone,
      retentionDays: settings.deliveryDays,
      readThread,
      targets: settings.notify.targets,
      publicUrl: settings.receiver.publicUrl,
      onInForce: async (inForce) => {
        // Without readable rules, the opening hours stay as they are.
        if (!inForce && (await readInForce(db))) return;
        const set = inForce ?? parseRules('rules: []', { file: settings.rulesFile, timeZone: settings.hoursZone });
        await adoptCallBackNeed(db, set.missed);
        if ((await adoptHours(unlimited, set.hours)) !== 'recounted') return;
        log.info('All reports are counted again, by other business hours');
      },
      onMatched: () => sends?.kick(),
    }),
  );
  const floor = createDueFloor(db);
  const sync = createSync({
    db,
    floor,
    service,
    log,
    now: () => new Date(),
    notify: notifier.notify,
    sealer,
    retentionDays,
    onCallsGone: unproveHours,
    onRead(kind, outcome, seconds) {
      metrics.targetRead(kind, outcome, seconds);
      dueWork.soon();
      if (outcome !== 'mirrored' || isDirectory(kind)) return;
      rules.kick();
      maintenance.mirrored();
    },
  });
  const closing = new AbortController();
  const names = options.queues ?? workNames;
  const queueNames = names.filter((name) => name !== 'sends');
  const working = names.map((name) => {
    if (name !== 'sends') {
      const concurrency = queueSettings[name].handlers;
      const worker = queues.work(name, { concurrency }, createJobHandler(sync, name, closing.signal));
      return started.adopt(worker, () => worker.close(0));
    }
    const own = startSends(context, readThread);
    sends = own;
    const close = (deadlineMs: number) => own.close(deadlineMs + settlingMs);
    return started.adopt({ close }, () => close(0));
  });
  const unconfirmed = track(startUnconfirmedReads((max) => sync.readUnconfirmed(queueNames, max), log));
  const sweep = started.adopt(startSweep({ db, log, floor, queues: queueNames, read: sync.read }), (each) =>
    each.close(0),
  );
  const dueWork = track(
    startDueWork(db, log, {
      reads: () => void sweep.kick(),
      deferred: () => void unconfirmed.kick(),
      events: rules.kick,
      steps: rules.act,
      sends: () => sends?.kick(),
    }),
  );
  const reconciler = createReconciler({ db, service, log, notify: notifier.notify });
  const ofRollups = { url: settings.databaseUrl, log, maxConnections: rollupConnections, name: 'rollups' };
  const rollups = started.use(createDatabase(ofRollups));
  const gapDetection = createGapDetection({
    ...{ db, service, log, notify: notifier.notify },
    polledReads: async () =>
      (await polling.unannounced()).includes('texts') ? readsOfRound(service.requestsOfLastMinute()) : undefined,
  });
  const polling = createPolling({ db, log, reconciler, gapDetection, unannounced: () => unannouncedStreams(db) });
  const maintenance = track(
    startMaintenance({
      inbox: { db: database.unlimited, notify: notifier.notify },
      rollups: rollups.db,
      log,
      reconciler,
      gapDetection,
      polling,
      dueWork,
      attribution: createAttribution({ db, service, log, notify: notifier.notify }),
      deliveryDays: settings.deliveryDays,
      retentionDays,
    }),
  );
  const firstBackfill =
    settings.backfillDays === 0
      ? undefined
      : track(
          startFirstBackfill({
            ...{ db, service, log, notify: notifier.notify, days: settings.backfillDays },
          }),
        );
  const lists = directoryKinds.map((kind) => ({ kind, key: wholeList }));
  notifier.notify(await markDirty(db, lists));
  // From here on, `close` stops them in its own order.
  started.move();
  return {
    async close(deadlineMs) {
      closing.abort();
      // Maintenance rounds can be long, so they are aborted at once. Only the rules wait for the last reads.
      const maintained = maintenance.stop();
      const ends = (async () => {
        await Promise.all([
          alerts.stop(),
          dueWork.stop(),
          sweep.close(deadlineMs),
          firstBackfill?.stop(),
          unconfirmed.stop(),
          ...working.map((worker) => worker.close(deadlineMs)),
        ]);
        await sync.idle();
        await Promise.all([rules.stop(), maintained.then(() => rollups[Symbol.asyncDispose]())]);
        await reporting.stop();
      })();
      // Work that hangs in a store must not delay the end.
      await withTimeout(deadlineMs + settlingMs, ends, () =>
        log.warn('Some work did not end in time; other processes take it over'),
      );
    },
  };
}

/**
 * Reads the target of each job. There is a backlog if all handlers that may read are busy, or if the job came late.
 * During a backlog, a handler that has mirrored its target goes on with the oldest due target, without waiting for its
 * job, until nothing is left or `closing` fires; that job then finds nothing pending. Jobs alone would limit the rate,
 * especially with queues in Postgres. After any other result the handler stops, because the service may be overloaded.
 */
export function createJobHandler(
  sync: Pick<Sync, 'read' | 'readNext'>,
  queue: QueueName,
  closing: AbortSignal,
): JobHandler {
  const { reads } = queueSettings[queue];
  let busy = 0;
  const isStopped = (signal: AbortSignal) => closing.aborted || signal.aborted;

  return async (job, signal) => {
    busy += 1;
    try {
      const { outcome, isLate } = await sync.read(job as Target, signal);
      // Another handler has read this job's target: this handler can go on as well.
      let goesOn = outcome === 'mirrored' || outcome === 'not_pending';
      while (goesOn && (isLate || busy >= reads) && !isStopped(signal)) {
        goesOn = (await sync.readNext(queue, signal)) === 'mirrored';
      }
    } finally {
      busy -= 1;
    }
  };
}
