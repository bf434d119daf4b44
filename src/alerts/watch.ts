import type { Finding } from '../checks/check.ts';
import { findings } from '../checks/checks.ts';
import type { Context } from '../context.ts';
import { beat } from '../shared/beat.ts';
import { toType } from '../shared/command-name.ts';
import { startLoop } from '../shared/loop.ts';
import { deliver } from './messages.ts';
import { holdMs, type Outages } from './outages.ts';
import { claimAlert, claimWatch, recordFindings, recordTold } from './store.ts';

/** Milliseconds between two evaluations of the health checks, and as long as they find nothing. */
const [everyMs, quietMs] = [10_000, 20_000];
/** How long a process keeps the lease to evaluate. If an evaluation takes longer, another process may run one too. */
const leaseMs = 30_000;
/** Milliseconds that messages in flight get when stopping. */
const stopMs = 2_000;

type AlertContext = Pick<Context, 'database' | 'queues' | 'settings' | 'metrics' | 'processId' | 'log'>;

/**
 * Alerts the configured targets when a health check begins to find something, when that becomes a problem, and when it
 * ends. One process at a time evaluates the checks and sends. The process must report itself (`reportProcess`).
 */
export function startAlerts(context: AlertContext, outages: Outages): { stop(): Promise<void> } {
  const { database, settings, log, processId } = context;
  const { db } = database;
  const targets = settings.notify.alerts;
  if (targets.length === 0) return { stop: () => Promise.resolve() };
  const sending = new AbortController();
  let isStopping = false;
  let isQuiet = false;
  /** One for each target, so that a slow target doesn't delay the others. */
  const telling = new Map<string, Promise<void>>();

  /** Tells a target what is due, until it refuses something. */
  async function tell(target: string): Promise<void> {
    while (!isStopping) {
      const alert = await claimAlert(db, target);
      if (alert === undefined) return;
      const failure = await deliver(target, alert, { settings, log, tries: alert.tries, signal: sending.signal });
      await recordTold(db, target, alert, failure);
      if (failure !== undefined) return;
    }
  }

  async function evaluate(): Promise<void> {
    const found = await findings(context);
    const isWhole = !found.some(({ check }) => check === 'status_unknown');
    const severe = findingsOf(found);
    isQuiet = severe.length === 0;
    await recordFindings(db, severe, { targets, holdMs: beat.ms(holdMs), isWhole });
    for (const target of targets.filter((each) => !telling.has(each))) {
      const told = tell(target).catch((err) => log.warn({ err }, `Sending alerts by ${target} failed`));
      telling.set(
        target,
        told.finally(() => telling.delete(target)),
      );
    }
  }

  const watch = startLoop({
    name: 'Watching the health checks',
    everyMs: () => (isQuiet ? quietMs : everyMs),
    log,
    job: () => outages.during(db, () => claimWatch(db, processId, beat.ms(leaseMs)), evaluate),
  });
  return {
    async stop() {
      isStopping = true;
      // A message that is aborted may have arrived, and would arrive again.
      const timer = setTimeout(() => sending.abort(), stopMs);
      await watch.stop();
      await Promise.all(telling.values());
      clearTimeout(timer);
    },
  };
}

/** Maximum sentences per check in a message. */
const maxSentences = 3;

/** One finding for each check, without notices, and without details, because alerts go to third parties. */
export function findingsOf(all: readonly Finding[]): Finding[] {
  const severe = all.filter(({ level }) => level !== 'notice');
  return [...Map.groupBy(severe, ({ check }) => check)].flatMap(([check, found]) => {
    const [worst] = found;
    if (worst === undefined) return [];
    const sentences = [...new Set(found.map(({ sentence }) => sentence))];
    const more = sentences.length - maxSentences;
    return {
      check,
      level: worst.level,
      sentence: [...sentences.slice(0, maxSentences), ...(more > 0 ? [`And ${more} more.`] : [])].join(' '),
      remedy: worst.detail === undefined ? worst.remedy : `${worst.remedy} ${toType('status')} shows more.`,
      since: found.flatMap((each) => each.since ?? []).sort((a, b) => Number(a) - Number(b))[0],
    };
  });
}
