import { toType } from '../../shared/command-name.ts';
import { ago, countOf, dollars, price, quantity } from '../format.ts';
import type { SendsStatus, SendTrouble } from '../snapshot/automation.ts';
import { known, type Snapshot } from '../snapshot.ts';
import { type Bearer, bearers, defineCheck } from './check.ts';

/** A reply is only sent if the worker that takes it has the right RULES_MODE. */
const rulesMode = defineCheck({
  id: 'rules_mode',
  measure({ processes }) {
    const workers = known(processes, []).filter(({ rulesMode }) => rulesMode !== null);
    const byMode = Map.groupBy(workers, ({ rulesMode }) => rulesMode);
    const counts = [...byMode].map(([mode, { length }]) => `${length} with ${mode}`).sort();
    return byMode.size > 1 && counts.join(', ');
  },
  level: 'problem',
  sentence: (counts) => `The workers differ in RULES_MODE (${counts}), so only some actions of rules are performed.`,
  remedy: 'Set RULES_MODE to the same value for all workers, and restart those that had another one.',
});

const rulesFile = defineCheck({
  id: 'rules_file',
  measure({ rules }) {
    const status = known(rules);
    if (!status?.problem || status.mode === 'off') return undefined;
    return { isInForce: status.version !== null, firstLine: status.problem.split('\n', 1).join() };
  },
  level: ({ isInForce }) => (isInForce ? 'warning' : 'problem'),
  sentence: ({ isInForce }) =>
    isInForce
      ? 'The rules file has an error; the rules applied before stay in force.'
      : 'No rules are in force: the rules file cannot be used. Mirroring goes on.',
  remedy: `${toType('rules check')} shows all errors with their remedies, and ${toType('rules apply')} applies the mended file.`,
  detail: ({ firstLine }) => firstLine,
});

const rulesUnreadable = defineCheck({
  id: 'rules_unreadable',
  measure({ rules }) {
    const { version, unreadable, mode } = known(rules) ?? {};
    return unreadable && mode !== 'off' && { version, ...unreadable };
  },
  level: 'problem',
  sentence: ({ version, line }) =>
    `This release does not understand line ${line} of version ${version} of the rules, so rules do nothing. Mirroring goes on.`,
  remedy: `Mend the rules on the page /rules/edit, or with ${toType('rules apply')}.`,
  detail: ({ message, remedy }) => `${message} ${remedy}`,
});

/**
 * Says that no time zone is set, and proposes the most frequent one among the account's users (null if unknown).
 * `usesHours`: rules depend on hours.
 */
export function timeZoneUnset(zone: string | null, usesHours: boolean): Record<'message' | 'remedy', string> {
  const users = zone === null ? '' : ` Most users of the account are in ${zone}.`;
  const effect = usesHours ? 'rules that speak of hours do not act' : 'the days of the reports are those of UTC';
  const place = zone === null ? 'a place such as America/New_York' : 'another place';
  return {
    message: `TIME_ZONE is not set, so ${effect}.${users}`,
    remedy: `Set TIME_ZONE=${zone ?? 'UTC'}, or to ${place}, for all processes, and restart them.`,
  };
}

const timeZone = defineCheck({
  id: 'time_zone',
  measure({ rules, reporting }) {
    const status = known(rules);
    if (!status || known(reporting)?.wantedTimeZone !== null) return undefined;
    const { mode, usersZone } = status;
    const usesHours = status.usesHours && mode !== 'off';
    const isWrong = usesHours || (usersZone !== null && usersZone !== 'UTC');
    return isWrong && { isLive: usesHours && mode === 'live', usersZone, ...timeZoneUnset(null, usesHours) };
  },
  // Only live rules would act if it were set.
  level: ({ isLive }) => (isLive ? 'warning' : 'notice'),
  sentence: ({ message }) => message,
  remedy: ({ remedy }) => remedy,
  detail: ({ usersZone }) =>
    usersZone === null ? undefined : `Most users of the account are in ${usersZone}: TIME_ZONE=${usersZone}.`,
});

/** Days before the end of the dated holidays on which it is said. */
const holidaysEndDays = 30;

/** Says that the dated holidays of a calendar have ended, or end soon. Undefined while they do not. */
export function holidaysEnd(last: string, now: Date): Record<'message' | 'remedy', string> | undefined {
  const daysLeft = (Date.parse(last) - now.getTime()) / 86_400_000;
  if (daysLeft > holidaysEndDays) return undefined;
  return {
    message: `The dated holidays of the rules ${daysLeft < 0 ? 'ended' : 'end'} on ${last}.`,
    remedy:
      'Add those of the next year, or write days of every year without one, such as 12-25, and remove past dates.',
  };
}

const holidays = defineCheck({
  id: 'holidays_end',
  measure: ({ rules, takenAt }) => {
    const { lastHoliday = null } = known(rules) ?? {};
    return lastHoliday === null ? undefined : holidaysEnd(lastHoliday, takenAt);
  },
  level: 'warning',
  sentence: ({ message }) => message,
  remedy: ({ remedy }) => remedy,
});

const useOf = ({ credential }: Snapshot) => known(credential)?.use ?? 'none';

/** The remedy for a refusal by the service (section 7). A reason begins with the error code. */
function remedyOf(reason: string, use: Bearer, scope: string, otherwise: string): string {
  const [, code = '', status] = /^([a-z_]+)(?:.*?\((\d{3})\))?/.exec(reason) ?? [];
  switch (code) {
    case 'login_required':
    case 'unauthenticated':
      return use === 'login' ? `Run ${toType('auth login')}.` : 'Set API_KEY to a key that is valid and not revoked.';
    case 'insufficient_scope':
      return use === 'login'
        ? `Run ${toType('auth login')} and grant the scope ${scope}.`
        : `Grant the scope ${scope} to the credential.`;
    case 'permission_denied':
      return `The account does not own the line, SMS is not enabled for it, or ${bearers[use].name.toLowerCase()} may not use it. Change it in the portal.`;
    case 'invalid_request':
      return status === '422'
        ? 'The account has no rate for the destination: have it enabled at the service, or exclude such numbers from the rule.'
        : `The service does not accept the request. ${otherwise}`;
    case 'network':
    case 'timeout':
    case 'server':
    case 'rate_limited':
    case 'circuit_open':
      return 'The service was unavailable or overloaded: check that API_BASE_URL is reachable. If this lasts, ask the service’s operator.';
    default:
      return otherwise;
  }
}

/** Actions of the last day that failed or are uncertain, with their rule. */
function failedActions(snapshot: Snapshot, wanted: 'failed' | 'unclear') {
  const failures = known(snapshot.rules)?.failures ?? [];
  return failures
    .filter(({ state }) => state === wanted)
    .map((each) => ({
      ...each,
      use: useOf(snapshot),
      times: each.count === 1 ? '' : ` ${quantity(each.count)} times`,
    }));
}

const targetRefuses = defineCheck({
  id: 'target_refuses',
  measure: ({ rules }) => known(rules)?.refusingTargets,
  level: 'warning',
  sentence: ({ count }) =>
    `A target does not accept what rules tell it. Steps of rules that wait for it: ${quantity(count)}.`,
  detail: ({ target, reason }) => `The target is ${target}: ${reason}.`,
  remedy: `Try it with ${toType('notify test')}, and correct it in NOTIFY_TARGETS of all workers. The steps are tried again for a day.`,
  since: ({ since }) => since,
});

const actionFailed = defineCheck({
  id: 'action_failed',
  measure: (snapshot) => failedActions(snapshot, 'failed'),
  level: 'warning',
  sentence: ({ times }) => `An action of a rule failed${times} in the last day.`,
  detail: ({ rule, kind, reason }) => `The rule is ${rule}, the action ${kind}: ${reason}.`,
  // The scope of all actions except replies, which are sends (section 4.2).
  remedy: ({ kind, reason, use }) =>
    /^(?:notify|webhook) /.test(kind)
      ? `Try the target with ${toType('notify test')}; ${toType('rules retry')} performs the steps again.`
      : remedyOf(reason, use, 'sms:write', 'See ops.rule_actions, state failed.'),
});

const actionUnclear = defineCheck({
  id: 'action_unclear',
  measure: (snapshot) => failedActions(snapshot, 'unclear'),
  level: 'warning',
  sentence: ({ times }) => `A rule may or may not have performed an action${times}.`,
  detail: ({ rule, kind, reason }) => `The rule is ${rule}, the action ${kind}: ${reason}.`,
  remedy: 'Check the conversation: the action is not retried. See ops.rule_actions, state unclear.',
});

const rulesFailed = defineCheck({
  id: 'rules_failed',
  measure({ rules }) {
    const failing = known(rules)?.failing ?? [];
    const count = failing.reduce((sum, each) => sum + each.count, 0);
    return count > 0 && { count, names: failing.map(({ rule }) => rule).join(', ') };
  },
  level: 'warning',
  sentence: ({ count }) => `Rules could not be evaluated ${quantity(count)} times in the last day.`,
  detail: ({ names }) => `The rules are ${names}.`,
  remedy: `These rules did nothing. The reason is in ops.rule_runs, and begins with "error:". ${toType('rules check')} checks the file.`,
});

const resumes = `${toType('sends resume')} resumes them; texts that have expired by then are not sent.`;

const sendsPaused = defineCheck({
  id: 'sends_paused',
  measure({ sends, takenAt }) {
    const control = known(sends)?.control;
    // `writes_lost` reports the pause of a recovery.
    if (!control?.isPaused || control.by === 'recovery') return undefined;
    const { by, since, reason } = control;
    const who = by === 'ledger' ? 'the daemon itself' : 'the operator';
    return { by, since, reason, paused: `Paused ${ago(since, takenAt)} by ${who}.` };
  },
  level: ({ by }) => (by === 'ledger' ? 'problem' : 'warning'),
  sentence: 'All automatic texts are paused.',
  remedy: ({ paused }) => `${paused} ${resumes}`,
  detail: ({ reason }) => `The reason: ${reason}.`,
  since: ({ since }) => since,
});

const optOutsWaiting = defineCheck({
  id: 'opt_outs_waiting',
  measure: ({ sends }) => known(sends)?.waitingOptOuts,
  level: 'notice',
  sentence: (count) =>
    `${countOf(count, 'number')} may have opted out by a text: no automatic text goes there until somebody decides.`,
  remedy: `Read the texts with ${toType('opt-outs list')} or on the page of sends, and confirm or clear each.`,
});

const sendsToApprove = defineCheck({
  id: 'sends_to_approve',
  measure({ sends, takenAt }) {
    const { count, since, isLate } = known(sends)?.approvals ?? {};
    return count && since && { count, since, isLate, waited: ago(since, takenAt) };
  },
  level: ({ isLate }) => (isLate ? 'warning' : 'notice'),
  sentence: ({ count, waited }) =>
    `${countOf(count, 'automatic text')} ${count === 1 ? 'waits' : 'wait'} for approval, the oldest planned ${waited}.`,
  remedy: `Approve or reject each on the page of sends, or with ${toType('sends approve')} and ${toType('sends reject')}; what nobody approves expires.`,
  since: ({ since }) => since,
});

const sendsReview = defineCheck({
  id: 'sends_review',
  measure: ({ sends }) => known(sends)?.counts.NEEDS_HUMAN,
  level: 'problem',
  sentence: (count) => `${countOf(count, 'automatic text')} may or may not have gone out.`,
  remedy: `Manual review: list them with ${toType('sends list --state NEEDS_HUMAN')}, read the thread, and record the outcome with ${toType('sends settle')}. Nothing is sent again.`,
});

const sendsUnknown = defineCheck({
  id: 'sends_unknown',
  measure: ({ sends }) => known(sends)?.counts.UNKNOWN,
  level: 'warning',
  sentence: (count) =>
    `The outcome of ${countOf(count, 'automatic text')} is unknown: the answer to the request was lost.`,
  remedy: `Trunkline searches the threads for the texts, for a day at most, and sends nothing again. ${toType('sends list --state UNKNOWN')} lists them.`,
});

/** The fraction of the daily money budget from which the operator is warned. */
const nearCap = 0.8;
const ofMoney = 'gate:budget_money';

const sendsNearCap = defineCheck({
  id: 'sends_near_cap',
  measure({ sends }) {
    const { today, dailyMicros = 0, troubles = [] } = known(sends) ?? {};
    const used = (today?.spent ?? 0) + (today?.reserved ?? 0);
    const isUsedUp = troubles.some(({ kind, reason, isOver }) => kind === 'budget' && reason === ofMoney && !isOver);
    return dailyMicros > 0 && used >= nearCap * dailyMicros && !isUsedUp && { used, dailyMicros };
  },
  level: 'warning',
  sentence: ({ used, dailyMicros }) =>
    `${Math.floor((used / dailyMicros) * 100)}% of the daily budget of automatic texts are used (${dollars(used)} of ${dollars(dailyMicros)}).`,
  remedy: `Beyond it, no text is sent until midnight UTC. To send more, raise it under \`budgets\` in the rules file; to stop, run ${toType('sends pause')}.`,
});

const sendsPrice = defineCheck({
  id: 'sends_price',
  measure({ sends }) {
    const { dearest, unitMicros = 0 } = known(sends) ?? {};
    const before = dearest?.beforeMicros ?? unitMicros;
    return dearest && dearest.micros > Math.max(unitMicros, 2 * before) && { ...dearest, before };
  },
  level: 'warning',
  sentence: ({ micros, before }) =>
    `A segment of an automatic text was charged ${price(micros)}, where ${price(before)} was usual.`,
  remedy: `For a day, a text leaves only while the daily budget would pay it at ten times that price. If the price is right, raise \`daily_dollars\` under \`budgets\` in the rules file; if it is wrong, ask the service. ${toType('sends pause')} stops all texts.`,
  since: ({ at }) => at,
});

/** Problems of one kind, each with its number of texts, such as `3 automatic texts`, and the matching words. */
function troublesOf({ sends }: Snapshot, wanted: SendTrouble['kind']) {
  const troubles = known(sends)?.troubles.filter(({ kind }) => kind === wanted) ?? [];
  return troubles.map((trouble) => ({
    ...trouble,
    texts: countOf(trouble.count, 'automatic text'),
    ...(trouble.count === 1 ? { was: 'was', has: 'has', it: 'it' } : { was: 'were', has: 'have', it: 'they' }),
  }));
}

/** The daily budget named by a gate, for example `of money ($5.00 spent, of $5.00)`. */
function budgetWords(reason: string, sends: SendsStatus | undefined): string {
  if (reason !== ofMoney || sends === undefined) return 'of texts per account';
  const { today, dailyMicros } = sends;
  const reserved = today.reserved > 0 ? ` and ${dollars(today.reserved)} reserved` : '';
  return `of money (${dollars(today.spent)} spent${reserved}, of ${dollars(dailyMicros)})`;
}

/** What a budget lacks: after a high price, the rest of the money may have to pay ten times that price. */
function lackWords(reason: string, sends: SendsStatus | undefined): string {
  const { dearest, today, dailyMicros = 0, unitMicros = 0 } = sends ?? {};
  const left = dailyMicros - (today?.spent ?? 0) - (today?.reserved ?? 0);
  const isFull = reason !== ofMoney || !dearest || left < unitMicros;
  return isFull
    ? 'is used up'
    : `would not pay a segment at ten times the highest price of the last day, ${price(dearest.micros)}`;
}

const sendsRefused = defineCheck({
  id: 'sends_refused',
  measure: (snapshot) =>
    troublesOf(snapshot, 'refused').map((trouble) => {
      const { lastAt, isOver, isTotal } = trouble;
      const since = isOver ? '; later ones were sent' : isTotal ? ', and none has been sent since' : '';
      return {
        ...trouble,
        use: useOf(snapshot),
        latest: `the last ${ago(lastAt, snapshot.takenAt)}${since}.`,
      };
    }),
  level: ({ isOver, isTotal, count }) => (isOver ? 'notice' : isTotal && count > 1 ? 'problem' : 'warning'),
  sentence: ({ texts, was, latest }) => `${texts} of the last day ${was} not sent, ${latest}`,
  detail: ({ lines, reason }) => `From ${lines.join(', ')}: ${reason}.`,
  remedy: ({ reason, use }) =>
    remedyOf(reason, use, 'sms:send', `${toType('sends show ID')} shows the history of each of them.`),
});

const sendsOverBudget = defineCheck({
  id: 'sends_over_budget',
  measure: (snapshot) =>
    troublesOf(snapshot, 'budget').map((trouble) => ({
      ...trouble,
      budget: budgetWords(trouble.reason, known(snapshot.sends)),
      lack: lackWords(trouble.reason, known(snapshot.sends)),
    })),
  level: ({ isOver }) => (isOver ? 'notice' : 'warning'),
  sentence: ({ texts, was, budget, isOver, lack }) =>
    `${texts} ${was} not sent today: the daily budget ${budget} ${isOver ? 'was used up; later ones were sent' : lack}.`,
  remedy: 'The budget is renewed at midnight UTC. To send more, raise it under `budgets` in the rules file.',
});

const sendsWaiting = defineCheck({
  id: 'sends_waiting',
  measure: (snapshot) => [
    ...troublesOf(snapshot, 'reserved').map(({ texts, has, reason }) => ({
      sentence: `${texts} ${has} waited for more than a minute for the outcome of others, which may need the rest of the daily budget ${budgetWords(reason, known(snapshot.sends))}.`,
      reason: '',
      remedy: `They are sent once the others have gone out or were found: ${toType('sends list --state UNKNOWN')} lists those that are looked for. A higher budget, under \`budgets\` in the rules file, lets more leave at a time.`,
    })),
    ...troublesOf(snapshot, 'held_up').map(({ texts, has, reason }) => ({
      sentence: `${texts} ${has} waited for more than a minute to be sent.`,
      reason,
      remedy: 'Check that a worker processes the queue `sends`, and that the service answers it.',
    })),
  ],
  level: 'warning',
  sentence: ({ sentence }) => sentence,
  remedy: ({ remedy }) => remedy,
  detail: ({ reason }) => (reason === '' ? undefined : `The reason: ${reason}.`),
});

/** Whether rules are evaluated and their texts leave. */
export const automationChecks = [
  rulesMode,
  sendsPaused,
  optOutsWaiting,
  sendsToApprove,
  sendsReview,
  sendsUnknown,
  sendsNearCap,
  sendsPrice,
  sendsRefused,
  sendsOverBudget,
  sendsWaiting,
  rulesUnreadable,
  rulesFile,
  timeZone,
  targetRefuses,
  holidays,
  actionFailed,
  actionUnclear,
  rulesFailed,
];
