import { type RunningProcess, receives, works } from '../processes/running.ts';
import { toType } from '../shared/command-name.ts';
import { countOf } from '../shared/format.ts';
import { asTold, defineCheck, type Told } from './check.ts';
import { known } from './overview.ts';

export const queueUnreachable = defineCheck({
  id: 'queue_unreachable',
  measure({ queues }) {
    const status = known(queues);
    return status && !status.isReachable && status;
  },
  level: 'problem',
  sentence: 'The queue cannot be reached, so nothing new is read.',
  remedy({ backend }) {
    const check =
      backend === 'redis'
        ? 'Check that Redis runs and that REDIS_URL is right.'
        : 'Check that the queue’s schema in Postgres is there.';
    return `${check} Deliveries are kept meanwhile.`;
  },
  detail: ({ reason }) => reason,
  hides: ['mirror_behind'],
});

/** Without any process, this isn't a deployment yet. */
const webMissing = defineCheck({
  id: 'web_missing',
  measure({ processes }) {
    const running = known(processes, []);
    return running.length > 0 && !running.some(receives);
  },
  level: 'problem',
  sentence: 'No `web` process runs, so nobody receives the webhooks of the service.',
  remedy: `Start one (${toType('web')}); if one runs, check that it uses this database. What is missed meanwhile is searched for when one runs.`,
});

/** Seconds for which processes may differ during a rolling deploy. */
const rollingSeconds = 60;

/** If values differ for longer than a rolling deploy takes: the start of the youngest process with a differing value. */
function differingSince(
  running: readonly RunningProcess[],
  takenAt: Date,
  settingOf: (each: RunningProcess) => string | null,
): Date | false | undefined {
  const having = running.filter((each) => settingOf(each) !== null);
  const youngest = having.at(-1);
  const other = youngest && having.findLast((each) => settingOf(each) !== settingOf(youngest));
  const since = other && having[having.indexOf(other) + 1]?.startedAt;
  return since && takenAt.getTime() - since.getTime() > rollingSeconds * 1_000 && since;
}

function startsOf(running: readonly RunningProcess[]): string {
  return running.map(({ role, startedAt }) => `${role} of ${startedAt.toISOString().slice(0, 19)}Z`).join(', ');
}

/** Settings that decide what the processes do together. */
const shared = {
  RULES_MODE: ({ rulesMode }: RunningProcess) => rulesMode,
  'WEBHOOK_SECRET or PUBLIC_URL': ({ addressHash }: RunningProcess) => addressHash,
};

const settingsDiffer = defineCheck({
  id: 'settings_differ',
  measure({ processes, takenAt }) {
    const running = known(processes, []);
    return Object.entries(shared).flatMap(([names, settingOf]) => {
      const since = differingSince(running, takenAt, settingOf);
      return since ? [{ names, since, having: running.filter((each) => settingOf(each) !== null) }] : [];
    });
  },
  level: 'warning',
  sentence: ({ names }) => `Processes have different values of ${names}.`,
  remedy: ({ having }) =>
    `Give them the same settings, and restart the ones that are out of date: ${startsOf(having)}. Meanwhile each receiver registers webhooks of its own, and rules act as the worker that takes them may.`,
  since: ({ since }) => since,
});

/** A running receiver that registers webhooks, or tries to. */
const isRegistering = (running: readonly RunningProcess[]) => running.some(({ addressHash }) => addressHash !== null);

const polling = defineCheck({
  id: 'polling',
  measure({ subscriptions, processes }) {
    const running = known(processes, []);
    const polled = known(subscriptions)?.polled ?? [];
    return running.some(works) && !isRegistering(running) && polled.length > 0 && { polled };
  },
  level: 'notice',
  sentence: ({ polled }) =>
    `Without webhooks, ${polled.join(' and ')} are polled every 15 seconds. Polling does not see texts that were sent elsewhere, texts that somebody read before the poll, and numbers that never texted or called before.`,
  remedy:
    'Set PUBLIC_URL, an address at which the service reaches this receiver: events then arrive within about a second. What polling misses comes with the next read of its thread.',
});

const ensures = `Run ${toType('subscriptions ensure')}; it enables them, or prints what to create by hand.`;

const subscriptionBroken = defineCheck<Told>({
  id: 'subscription_broken',
  measure({ subscriptions, inbox, processes }) {
    const status = known(subscriptions);
    if (status === undefined) return undefined;
    const { ours, broken, repaired } = status;
    if (ours.length === 0) {
      // Without PUBLIC_URL, manually created subscriptions can't be recognized as ours, but they deliver.
      const arrives = known(inbox)?.types.some(({ lastDay }) => lastDay > 0) ?? false;
      if (broken.length === 0 && (arrives || !isRegistering(known(processes, [])))) return undefined;
      const sentence = 'No webhook subscription delivers to this receiver, so new texts and calls are not announced.';
      const remedy = `The receiver registers them when it runs with PUBLIC_URL. ${ensures}`;
      return { level: 'warning', sentence, remedy };
    }
    if (broken.length > 0)
      return {
        level: 'warning',
        sentence: `The subscription of ${broken.join(', ')} is disabled or missing.`,
        remedy: ensures,
      };
    if (repaired.length === 0) return undefined;
    const faults = repaired.map(({ type, fault }) => `that of ${type} was ${fault}`).join(', ');
    return {
      level: 'warning',
      sentence: `Webhook subscriptions were changed at the service (${faults}); they are repaired.`,
      remedy:
        'Nothing has to be done: what was lost meanwhile is searched. If no receiver of yours with other settings was stopped then, find out who changes them in the portal.',
      since: new Date(Math.min(...repaired.map(({ since }) => since.getTime()))),
    };
  },
  ...asTold,
});

const deliveriesMissing = defineCheck({
  id: 'deliveries_missing',
  measure: ({ subscriptions }) => known(subscriptions)?.lost,
  level: 'warning',
  sentence: ({ stream, lost }) =>
    `The webhook subscriptions are in place, but nothing arrives: no webhook announced the last ${countOf(lost, stream.slice(0, -1))}.`,
  remedy: `Run ${toType('doctor')}, which posts to PUBLIC_URL as the service does. What stands in front of the receiver must pass POST requests to /hooks on, without a redirect. Calls and texts are polled meanwhile.`,
  since: ({ since }) => since,
});

/** Each deployment answers texts by its own rules, and doesn't know about the other one. */
const accountShared = defineCheck({
  id: 'account_shared',
  measure({ subscriptions, rules }) {
    const others = known(subscriptions)?.otherReceivers ?? [];
    return others.length > 0 && { others, isLive: known(rules)?.mode === 'live' };
  },
  level: ({ isLive }) => (isLive ? 'warning' : 'notice'),
  sentence: 'Another receiver of Trunkline gets the webhooks of this account too.',
  remedy: `If both have RULES_MODE=live, each text may be answered twice: let one of them send. If it does not run any more, remove its subscriptions (${toType('subscriptions list')}, ${toType('subscriptions remove')}).`,
  detail: ({ others }) => `They go to ${others.join(', ')}.`,
});

/** While a part is unknown, its checks may miss something. */
export const statusUnknown = defineCheck({
  id: 'status_unknown',
  measure(snapshot) {
    const unknown = Object.entries(snapshot).filter(([, part]) => part?.state === 'unknown');
    const names = unknown.map(([name]) => name).join(', ');
    return unknown[0] && { names, reason: String(unknown[0][1].reason) };
  },
  level: 'warning',
  sentence: ({ names }) => `Parts of this status could not be read: ${names}.`,
  remedy: 'If this lasts, something in Postgres holds a lock or answers slowly.',
  detail: ({ reason }) => `The error was: ${reason}.`,
});

const alertsUndelivered = defineCheck({
  id: 'alerts_undelivered',
  measure: ({ alerts }) => known(alerts)?.undelivered,
  level: 'warning',
  sentence: ({ count, target }) => `${countOf(count, 'alert')} could not be sent by ${target}.`,
  detail: ({ error }) => `The last error was: ${error}.`,
  remedy: `Check this target in NOTIFY_TARGETS with ${toType('notify test')}. The messages are retried for a day.`,
});

/** Whether the processes of a deployment run and fit together. */
export const processChecks = [webMissing, settingsDiffer];

/** Other settings of the operator, or changes by others. */
export const settingChecks = [
  subscriptionBroken,
  deliveriesMissing,
  polling,
  accountShared,
  statusUnknown,
  alertsUndelivered,
];
