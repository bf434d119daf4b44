import { codeIn, meaningOf } from '../api-client/client.ts';
import { holidaysEnd, timeZoneUnset } from '../rules/file/remarks.ts';
import { toType } from '../shared/command-name.ts';
import { ago, countOf, dollars, price, quantity } from '../shared/format.ts';
import { asTold, defineCheck, type Told } from './check.ts';
import type { SendTrouble } from './overview/automation.ts';
import { known, type Snapshot } from './overview.ts';

/** No version in force, or one that this release does not understand. */
const rulesUnusable = defineCheck<Told>({
  id: 'rules_unusable',
  measure({ rules, processes }) {
    const status = known(rules);
    const areAwaited = known(processes, []).some(({ rulesMode }) => rulesMode !== null && rulesMode !== 'off');
    if (rules.state === 'known' && !status && areAwaited)
      return {
        level: 'problem',
        sentence: 'No rules are in force: the rules file cannot be used. Mirroring goes on.',
        remedy: `${toType('rules check')} shows all errors with their remedies, and ${toType('rules apply')} applies the mended file.`,
      };
    if (!status?.unreadable || status.mode === 'off') return undefined;
    const { line, message, remedy } = status.unreadable;
    return {
      level: 'problem',
      sentence: `This release does not understand line ${line} of version ${status.version} of the rules, so rules do nothing. Mirroring goes on.`,
      remedy: `Mend the rules on the page /rules/edit, or with ${toType('rules apply')}.`,
      detail: `${message} ${remedy}`,
    };
  },
  ...asTold,
});

const timeZone = defineCheck({
  id: 'time_zone',
  measure({ rules, reporting }) {
    const status = known(rules);
    if (!status || known(reporting)?.chosenTimeZone !== null) return undefined;
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

/** What ends a refusal by the service, whose code the reason begins with. */
function remedyOf(reason: string, otherwise: string): string {
  const code = codeIn(reason);
  return code === undefined ? otherwise : meaningOf({ code, scope: 'sms:send and sms:write' }).remedy;
}

/** Rules that could not be evaluated, actions that failed or may have, and targets that refuse what rules tell them. */
const rulesFailed = defineCheck<Told>({
  id: 'rules_failed',
  measure({ rules }) {
    const { failing = [], failures = [], refusingTargets = [] } = known(rules) ?? {};
    const count = failing.reduce((sum, each) => sum + each.count, 0);
    return [
      ...refusingTargets.map(
        (each): Told => ({
          level: 'warning',
          sentence: `A target does not accept what rules tell it. Steps of rules that wait for it: ${quantity(each.count)}.`,
          remedy: `Try it with ${toType('notify test')}, and correct it in NOTIFY_TARGETS of all workers. The steps are tried again for a day.`,
          detail: `The target is ${each.target}: ${each.reason}.`,
          since: each.since,
        }),
      ),
      ...failures.map(
        ({ state, rule, kind, reason, count }): Told => ({
          level: 'warning',
          sentence:
            state === 'failed'
              ? `Actions of rules that failed in the last day: ${quantity(count)}.`
              : `Actions of rules in the last day that may have been performed: ${quantity(count)}.`,
          remedy:
            state === 'unclear'
              ? 'Check the conversation: the action is not retried.'
              : /^(?:notify|webhook) /.test(kind)
                ? `Try the target with ${toType('notify test')}; ${toType('rules retry')} performs the steps again.`
                : remedyOf(reason, 'The page /runs has the whole reason.'),
          detail: `The rule is ${rule}, the action ${kind}: ${reason}.`,
        }),
      ),
      ...(count > 0
        ? [
            {
              level: 'warning',
              sentence: `Rules could not be evaluated ${quantity(count)} times in the last day.`,
              remedy: `These rules did nothing. The reason is in ops.rule_runs, and begins with "error:". ${toType('rules check')} checks the file.`,
              detail: `The rules are ${failing.map(({ rule }) => rule).join(', ')}.`,
            } satisfies Told,
          ]
        : []),
    ];
  },
  ...asTold,
});

const resumes = `${toType('sends resume')} resumes them; texts that have expired by then are not sent.`;

const sendsPaused = defineCheck({
  id: 'sends_paused',
  measure({ sends, takenAt }) {
    const control = known(sends)?.control;
    // `writes_lost` reports a pause for it.
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

/** Decisions that only a person can take. */
const sendsForPeople = defineCheck<Told>({
  id: 'sends_for_people',
  measure({ sends, takenAt }) {
    const { counts = {}, approvals, waitingOptOuts = 0 } = known(sends) ?? {};
    const found: Told[] = [];
    if (counts.NEEDS_HUMAN) {
      found.push({
        level: 'problem',
        sentence: `Automatic texts that may or may not have gone out: ${quantity(counts.NEEDS_HUMAN)}.`,
        remedy: `Read their threads, from the page /sends, and record the outcome with ${toType('sends settle')}. Nothing is sent again.`,
      });
    }
    if (approvals) {
      found.push({
        level: approvals.isLate ? 'warning' : 'notice',
        sentence: `Automatic texts that wait for approval: ${quantity(approvals.count)}, the oldest planned ${ago(approvals.since, takenAt)}.`,
        remedy: `Approve or reject each on the page /sends, or with ${toType('sends approve')} and ${toType('sends reject')}; what nobody approves expires.`,
        since: approvals.since,
      });
    }
    if (waitingOptOuts > 0) {
      found.push({
        level: 'notice',
        sentence: `Numbers that may have opted out by a text: ${quantity(waitingOptOuts)}. No automatic text goes there until somebody decides.`,
        remedy: `Read the texts on the page /opt-outs, and confirm or clear each, there or with ${toType('opt-outs confirm')} and ${toType('opt-outs clear')}.`,
      });
    }
    return found;
  },
  ...asTold,
});

const sendsUnknown = defineCheck({
  id: 'sends_unknown',
  measure: ({ sends }) => known(sends)?.counts.UNKNOWN,
  level: 'warning',
  sentence: (count) =>
    `The outcome of ${countOf(count, 'automatic text')} is unknown: the answer to the request was lost.`,
  remedy:
    'Trunkline searches the threads for the texts, for a day at most, and sends nothing again. The page /sends lists them.',
});

/** The fraction of the daily money budget from which the operator is warned. */
const nearCap = 0.8;
const raises = 'To send more, raise it under `budgets` in the rules file';

/** A daily budget that is used up or nearly so, or a price that may use it up. */
const sendsBudget = defineCheck<Told>({
  id: 'sends_budget',
  measure(snapshot) {
    const status = known(snapshot.sends);
    if (status === undefined) return undefined;
    const { today, dailyMicros, unitMicros, dearest } = status;
    const found = troublesOf(snapshot, 'budget').map(
      ({ texts, reason, isOver }): Told => ({
        level: isOver ? 'notice' : 'warning',
        sentence: `${texts} of today not sent: the daily budget of ${reason === 'gate:budget_money' ? 'money' : 'texts'} ${isOver ? 'was used up; later ones were sent' : 'is used up'}.`,
        remedy: `It is renewed at midnight UTC. ${raises}.`,
      }),
    );
    const used = today.spent + today.reserved;
    if (dailyMicros > 0 && used >= nearCap * dailyMicros && found.length === 0) {
      found.push({
        level: 'warning',
        sentence: `${Math.floor((used / dailyMicros) * 100)}% of the daily budget of automatic texts are used (${dollars(used)} of ${dollars(dailyMicros)}).`,
        remedy: `Beyond it, no text is sent until midnight UTC. ${raises}; to stop, run ${toType('sends pause')}.`,
      });
    }
    const before = dearest?.beforeMicros ?? unitMicros;
    if (dearest && dearest.micros > Math.max(unitMicros, 2 * before)) {
      found.push({
        level: 'warning',
        sentence: `A segment of an automatic text was charged ${price(dearest.micros)}, where ${price(before)} was usual.`,
        remedy: `For a day, a text leaves only while the daily budget would pay it at ten times that price. If the price is right, raise \`daily_dollars\` under \`budgets\` in the rules file; if it is wrong, ask the service. ${toType('sends pause')} stops all texts.`,
        since: dearest.at,
      });
    }
    return found;
  },
  ...asTold,
});

/** Texts that did not leave for one kind of reason, with their number, such as `3 automatic texts`. */
function troublesOf({ sends }: Snapshot, wanted: SendTrouble['kind']) {
  const troubles = known(sends)?.troubles.filter(({ kind }) => kind === wanted) ?? [];
  return troubles.map((trouble) => ({ ...trouble, texts: countOf(trouble.count, 'automatic text') }));
}

const sendsRefused = defineCheck({
  id: 'sends_refused',
  measure: (snapshot) =>
    troublesOf(snapshot, 'refused').map((trouble) => ({ ...trouble, latest: ago(trouble.lastAt, snapshot.takenAt) })),
  level: ({ isOver, isTotal, count }) => (isOver ? 'notice' : isTotal && count > 1 ? 'problem' : 'warning'),
  sentence: ({ texts, latest, isOver, isTotal }) =>
    `${texts} of the last day not sent, the last ${latest}${isOver ? '; later ones were sent' : isTotal ? ', and none has been sent since' : ''}.`,
  detail: ({ lines, reason }) => `From ${lines.join(', ')}: ${reason}.`,
  remedy: ({ reason }) => remedyOf(reason, 'The page /sends shows the history of each of them.'),
});

const sendsWaiting = defineCheck({
  id: 'sends_waiting',
  measure: (snapshot) => troublesOf(snapshot, 'held_up'),
  level: 'warning',
  sentence: ({ texts }) => `${texts} waited for more than a minute to be sent.`,
  remedy:
    'Check that a worker processes the queue `sends`, and that the service answers it. What waits for the rest of a daily budget leaves once the texts before it have gone out or were found.',
  detail: ({ reason }) => (reason === '' ? undefined : `The reason: ${reason}.`),
});

/** Whether rules are evaluated and their texts leave. */
export const automationChecks = [
  sendsPaused,
  sendsForPeople,
  sendsUnknown,
  sendsBudget,
  sendsRefused,
  sendsWaiting,
  rulesUnusable,
  timeZone,
  holidays,
  rulesFailed,
];
