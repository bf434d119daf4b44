import { randomUUID } from 'node:crypto';
import type { Finding } from '../checks/check.ts';
import { findings } from '../checks/checks.ts';
import { statusUnknown } from '../checks/deployment.ts';
import { outageOf } from '../checks/postgres.ts';
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import { beat } from '../shared/beat.ts';
import { toType } from '../shared/command-name.ts';
import type { Log } from '../shared/log.ts';
import { startLoop } from '../shared/loop.ts';
import { claimMessage, claimWatch, recordDelivery, recordFindings, recordTold } from './store.ts';
import { type AlertMessage, createTargets, type Target, type TargetName } from './targets.ts';

/** Milliseconds between two evaluations of the health checks. */
const everyMs = 10_000;
/** How long a process remains the evaluating one. If an evaluation takes longer, another process may run one too. */
const leaseMs = 25_000;
/** How long a finding must last before its alert is sent, and how long it must be absent before the end is sent. */
const holdMs = 30_000;
/** Milliseconds between two checks for due messages. */
const sendEveryMs = 3_000;

/** Milliseconds that messages in flight get when stopping. */
const stopMs = 2_000;

type AlertContext = Pick<Context, 'database' | 'queues' | 'service' | 'settings' | 'metrics' | 'processId' | 'log'>;

/**
 * Sends alerts to the configured targets when a health check begins to find something, when that escalates, and when it
 * ends. Any number of processes may run this: one at a time evaluates the checks, and each message is claimed by one
 * process. Does nothing without targets. The process must report itself (`reportProcess`).
 */
export function startAlerts(context: AlertContext, outages: Outages): { stop(): Promise<void> } {
  const { database, log } = context;
  const { targets } = outages;
  const { db } = database;
  if (targets.length === 0) return { stop: () => Promise.resolve() };

  const sending = new AbortController();
  const senders = targets.map((target) =>
    startLoop({
      name: `Sending alerts by ${target.name}`,
      everyMs: sendEveryMs,
      log,
      async job(signal) {
        while (!signal.aborted) {
          const message = await claimMessage(db, target.name);
          if (message === undefined) return;
          const failure = await deliver(target, message, { attempt: message.attempt, log, signal: sending.signal });
          await recordDelivery(db, target.name, message, failure);
          if (failure !== undefined) return;
        }
      },
    }),
  );

  async function evaluate(): Promise<void> {
    const found = await findings(context);
    const { began, escalated, ended } = await recordFindings(db, findingsOf(found), {
      targets: targets.map(({ name }) => name),
      holdMs: beat.ms(holdMs),
      isWhole: !found.some(({ check }) => check === statusUnknown.id),
    });
    if (began.length > 0) log.warn({ checks: began }, 'Alerts began');
    if (escalated.length > 0) log.warn({ checks: escalated }, 'Alerts escalated: they are problems now');
    if (ended.length > 0) log.info({ checks: ended }, 'Alerts ended');
    if (began.length + escalated.length + ended.length > 0) for (const sender of senders) void sender.kick();
  }

  const watch = startLoop({
    name: 'Watching the health checks',
    everyMs,
    log,
    job: () => outages.during(db, () => claimWatch(db, context.processId, beat.ms(leaseMs)), evaluate),
  });
  return {
    async stop() {
      // A message that is aborted may have arrived, and would arrive again.
      const timer = setTimeout(() => sending.abort(), stopMs);
      await Promise.all([watch.stop(), ...senders.map((sender) => sender.stop())]);
      clearTimeout(timer);
    },
  };
}

/** Sends a message. Logs success, and only the first failure. Returns why it failed, or undefined. */
async function deliver(
  target: Target,
  message: AlertMessage,
  { attempt, log, signal }: { attempt: number; log: Log; signal?: AbortSignal },
): Promise<string | undefined> {
  const about = { target: target.name, check: message.check, kind: message.kind };
  try {
    await target.send(message, signal);
    log.info(about, 'An alert was sent');
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (attempt === 1) log.warn({ ...about, reason }, 'An alert could not be sent; it is tried again');
    return reason;
  }
}

/** Maximum sentences per check in a message. */
const maxSentences = 3;

/** One finding for each check, but for notices, and without the details, since alerts are sent to third parties. */
export function findingsOf(all: readonly Finding[]): Finding[] {
  const severe = all.filter(({ level }) => level !== 'notice');
  return [...Map.groupBy(severe, ({ check }) => check)].flatMap(([check, found]) => {
    const [worst] = found;
    if (worst === undefined) return [];
    const sentences = [...new Set(found.map(({ sentence }) => sentence))];
    const more = sentences.length - maxSentences;
    const since = found.flatMap((each) => each.since ?? []).sort((a, b) => Number(a) - Number(b))[0];
    return {
      check,
      level: worst.level,
      sentence: [...sentences.slice(0, maxSentences), ...(more > 0 ? [`And ${more} more.`] : [])].join(' '),
      remedy: worst.detail === undefined ? worst.remedy : `${worst.remedy} ${toType('status')} shows more.`,
      since,
    };
  });
}

/**
 * SQLSTATE classes of errors in a statement, such as a missing migration. The log names them; they aren't an outage.
 */
const ownMistake = /^(?:42|22|23)...$/;

export type Outages = ReturnType<typeof createOutages>;

/**
 * Sends alerts while Postgres can't record any. The process that watched last does so from memory, and one that starts
 * meanwhile, as nobody may have watched. Records the alert once Postgres accepts writes.
 */
export function createOutages({ settings, log }: Pick<AlertContext, 'settings' | 'log'>) {
  const targets = createTargets(settings);
  const names = targets.map(({ name }) => name);
  let isWatching = true;
  const begin = (finding: Finding) => {
    return { finding, alertId: randomUUID(), since: new Date(), attempt: 0, toldTo: new Set<TargetName>() };
  };
  type Outage = ReturnType<typeof begin>;
  let outage: Outage | undefined;
  let overAt: number | undefined;
  const alertOf = ({ finding, ...outage }: Outage) => ({ ...finding, ...outage });

  async function tell(outage: Outage): Promise<void> {
    if (Date.now() - outage.since.getTime() < beat.ms(holdMs)) return;
    outage.attempt += 1;
    const { attempt, toldTo } = outage;
    const message = { kind: 'began' as const, endedAt: null, ...alertOf(outage) };
    await Promise.all(
      targets
        .filter(({ name }) => !toldTo.has(name))
        .map(async (target) => {
          const failure = await deliver(target, message, { attempt, log });
          if (failure === undefined) toldTo.add(target.name);
        }),
    );
  }

  /** Tells of this error of Postgres once it has lasted. */
  async function failed(error: unknown): Promise<void> {
    const code = String((error as { code?: unknown }).code ?? '');
    if (ownMistake.test(code)) return;
    const finding = outageOf(code);
    outage ??= begin(finding);
    if (outage.toldTo.size === 0) outage.finding = finding;
    overAt = undefined;
    await tell(outage);
  }

  return {
    ...{ targets, failed },
    /** Runs a round of the watch: claims it, and evaluates the checks if this process has the lease. */
    async during(db: Database, claim: () => Promise<boolean>, evaluate: () => Promise<void>): Promise<void> {
      try {
        isWatching = await claim();
        // First: a check that still finds it continues the alert that was told.
        if (outage && outage.toldTo.size > 0) await recordTold(db, alertOf(outage), names);
        if (isWatching) await evaluate();
      } catch (error) {
        if (isWatching) await failed(error);
        throw error;
      }
      if (outage === undefined) return;
      // An outage that returns within this time is the same one and isn't reported again.
      overAt ??= Date.now();
      if (outage.toldTo.size === 0 || Date.now() - overAt >= beat.ms(holdMs)) outage = undefined;
    },
  };
}
