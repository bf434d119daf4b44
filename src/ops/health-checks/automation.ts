import { toType } from '../../shared/command-name.ts';
import { ago, countOf, dollars, quantity } from '../format.ts';
import type { ActionFailure, SendsStatus, SendTrouble } from '../snapshot/automation.ts';
import { known, type Snapshot } from '../snapshot.ts';
import { type Bearer, bearers, type HealthCheck } from './check.ts';

/** The checks of rules and of automatic texts. */
export function* checkAutomation(snapshot: Snapshot): Iterable<HealthCheck> {
  yield* checkModes(snapshot);
  yield* checkSends(snapshot);
  yield* checkRules(snapshot);
}

/** The RULES_MODE of the worker that takes a reply decides whether it is sent. */
function* checkModes({ processes }: Snapshot): Iterable<HealthCheck> {
  const workers = known(processes, []).filter(({ rulesMode }) => rulesMode !== null);
  const byMode = Map.groupBy(workers, ({ rulesMode }) => rulesMode);
  if (byMode.size < 2) return;
  const counts = [...byMode].map(([mode, { length }]) => `${length} with ${mode}`).sort();
  yield {
    check: 'rules_mode',
    level: 'problem',
    sentence: `The workers differ in RULES_MODE (${counts.join(', ')}), so only some actions of rules are performed.`,
    remedy: 'Set RULES_MODE to the same value for all workers, and restart those that had another one.',
  };
}

function* checkRules({ rules, credential }: Snapshot): Iterable<HealthCheck> {
  const status = known(rules, undefined);
  if (status === undefined) return;
  const { problem, version, mode, workers, hoursZone, usersZone, failing, failures } = status;
  if (problem && mode !== 'off') {
    // The first problem: its place and message, the line, and the remedy.
    const lines = problem.split('\n\n', 1).flatMap((one) => one.split('\n'));
    const [first = problem] = lines;
    const place = /^.+?:\d+:\d+(?=: )/.exec(first)?.[0];
    const remedy = lines.length > 1 ? ` ${lines.at(-1)?.trim()}` : '';
    yield {
      check: 'rules_file',
      level: version ? 'warning' : 'problem',
      sentence: version
        ? 'The rules file has an error; the rules loaded before stay in force.'
        : 'No rules are in force: the rules file cannot be used. Mirroring goes on.',
      remedy: `${first}${remedy} ${toType('rules check')} shows all errors.`,
      // A message can quote the rules; the place of an error quotes nothing.
      alert: {
        remedy: `${place === undefined ? first : `The first error is at ${place}.`} ${toType('rules check')} shows all of them with a remedy.`,
      },
    };
  }
  const versions = Map.groupBy(workers, (worker) => worker.version);
  if (versions.size > 1) {
    const each = [...versions].map(
      ([has, those]) => `${those.length} ${has === null ? 'without rules' : `with version ${has}`}`,
    );
    yield {
      check: 'rules_differ',
      level: 'warning',
      sentence: `The running workers have different rules (${each.join(', ')}); new texts and calls are evaluated by version ${version}.`,
      remedy:
        'A deploy ends this within minutes. Otherwise give all workers the same rules file (RULES_FILE), and stop those of an old release.',
    };
  }
  if (hoursZone === 'UTC' && usersZone !== null && usersZone !== 'UTC' && mode !== 'off') {
    const { message, remedy } = hoursInUtc(usersZone);
    // In a dry run nobody is told wrong hours.
    yield { check: 'rules_time_zone', level: mode === 'live' ? 'warning' : 'notice', sentence: message, remedy };
  }
  const use = known(credential, undefined)?.use ?? 'none';
  for (const failure of failures) yield checkAction(failure, use);
  if (failing.length > 0) {
    const count = failing.reduce((sum, each) => sum + each.count, 0);
    yield {
      check: 'rules_failed',
      level: 'warning',
      sentence: `Rules could not be evaluated ${quantity(count)} times in the last day: ${failing.map(({ rule }) => rule).join(', ')}.`,
      remedy: `These rules did nothing. The reason is in ops.rule_runs, and begins with "error:". ${toType('rules check')} checks the file.`,
    };
  }
}

/** Says that rules take local times for UTC. `zone` is the most frequent time zone of the account's users. */
export function hoursInUtc(zone: string): { readonly message: string; readonly remedy: string } {
  return {
    message: `Rules speak of hours, which are in UTC because TIME_ZONE is not set or UTC, while most users of the account are in ${zone}.`,
    remedy: `Set TIME_ZONE to ${zone} for all processes, and restart them.`,
  };
}

function checkAction({ rule, kind, state, reason, count }: ActionFailure, use: Bearer): HealthCheck {
  const times = count === 1 ? '' : ` ${quantity(count)} times`;
  const isUnclear = state === 'unclear';
  const what = isUnclear
    ? `The rule ${rule} may or may not have performed ${kind}${times}`
    : `The rule ${rule} failed to ${kind}${times} in the last day`;
  return {
    check: isUnclear ? 'action_unclear' : 'action_failed',
    level: 'warning',
    sentence: `${what}: ${reason}.`,
    alert: { sentence: `${what}.` },
    remedy: isUnclear
      ? 'Check the conversation: the action is not retried. See ops.rule_actions, state unclear.'
      : // The scope of all actions except replies, which are sends (section 4.2).
        remedyOf(reason, use, 'sms:write', 'see ops.rule_actions, state failed'),
  };
}

/** The remedy for a refusal by the service (section 7). A reason begins with the error code. */
function remedyOf(reason: string, use: Bearer, scope: string, otherwise: string): string {
  const code = /^[a-z_]+/.exec(reason)?.[0] ?? '';
  const status = /\((\d{3})\)/.exec(reason)?.[1];
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
        : `The service does not accept the request: ${otherwise}.`;
    case 'network':
    case 'timeout':
    case 'server':
    case 'rate_limited':
    case 'circuit_open':
      return 'The service was unavailable or overloaded: check that API_BASE_URL is reachable. If this lasts, ask the service’s operator.';
    default:
      return `${otherwise.charAt(0).toUpperCase()}${otherwise.slice(1)}.`;
  }
}

/** The share of the daily budget of money from which on the operator is warned. */
const nearCap = 0.8;

function* checkSends({ sends, credential, takenAt }: Snapshot): Iterable<HealthCheck> {
  if (sends.state === 'unknown') return;
  const { control, counts, today, dailyMicros, troubles, waitingOptOuts } = sends.value;
  const use = known(credential, undefined)?.use ?? 'none';
  if (control.isPaused) {
    const paused = `Paused ${ago(control.since, takenAt)} by ${control.by === 'ledger' ? 'the daemon itself' : 'the operator'}.`;
    const resume = `${toType('sends resume')} resumes them; texts that have expired by then are not sent.`;
    yield {
      check: 'sends_paused',
      level: control.by === 'ledger' ? 'problem' : 'warning',
      since: control.since,
      sentence: 'All automatic texts are paused.',
      remedy: `${paused} The reason: ${control.reason}. ${resume}`,
      alert: { remedy: `${paused} ${toType('status')} shows the reason, ${resume}` },
    };
  }
  if (waitingOptOuts > 0) {
    yield {
      check: 'opt_outs_waiting',
      level: 'notice',
      sentence: `${countOf(waitingOptOuts, 'number')} may have opted out by a text: no automatic text goes to ${waitingOptOuts === 1 ? 'it' : 'them'} until somebody decides.`,
      remedy: `Read the texts with ${toType('opt-outs list')} or on the page of sends, and confirm or clear each.`,
    };
  }
  const open = counts.NEEDS_HUMAN ?? 0;
  if (open > 0) {
    yield {
      check: 'sends_review',
      level: 'problem',
      sentence: `${countOf(open, 'automatic text')} may or may not have gone out.`,
      remedy: `Manual review: list them with ${toType('sends list --state NEEDS_HUMAN')}, read the thread, and record the outcome with ${toType('sends settle')}. Nothing is sent again.`,
    };
  }
  const unknown = counts.UNKNOWN ?? 0;
  if (unknown > 0) {
    yield {
      check: 'sends_unknown',
      level: 'warning',
      sentence: `The outcome of ${countOf(unknown, 'automatic text')} is unknown: the answer to the request was lost.`,
      remedy: `Trunkline searches the threads for the texts, for a day at most, and sends nothing again. ${toType('sends list --state UNKNOWN')} lists them.`,
    };
  }
  const used = (today.spent + today.reserved) / dailyMicros;
  const isUsedUp = troubles.some(
    ({ kind, reason, isOver }) => kind === 'budget' && !isOver && reason === 'gate:budget_money',
  );
  if (dailyMicros > 0 && used >= nearCap && !isUsedUp) {
    yield {
      check: 'sends_near_cap',
      level: 'warning',
      sentence: `${Math.floor(used * 100)}% of the daily budget of automatic texts are used (${dollars(today.spent + today.reserved)} of ${dollars(dailyMicros)}).`,
      remedy: `Beyond it, no text is sent until midnight UTC. To send more, raise it under \`budgets\` in the rules file; to stop, run ${toType('sends pause')}.`,
    };
  }
  for (const trouble of troubles) yield checkTrouble(trouble, sends.value, use, takenAt);
}

function checkTrouble(trouble: SendTrouble, sends: SendsStatus, use: Bearer, takenAt: Date): HealthCheck {
  const { kind, reason, count, lastAt, lines, isTotal, isOver } = trouble;
  const texts = countOf(count, 'automatic text');
  const was = count === 1 ? 'was' : 'were';
  const when = `the last ${ago(lastAt, takenAt)}`;
  switch (kind) {
    case 'refused': {
      const after = `${reason}, ${when}${isOver ? '; later ones were sent' : isTotal ? ', and none has been sent since' : ''}.`;
      return {
        check: 'sends_refused',
        level: isOver ? 'notice' : isTotal && count > 1 ? 'problem' : 'warning',
        sentence: `${texts} of the last day ${was} not sent from ${lines.join(', ')}: ${after}`,
        remedy: remedyOf(reason, use, 'sms:send', `${toType('sends show ID')} shows the history of each of them`),
        alert: { sentence: `${texts} of the last day ${was} not sent: ${after}` },
      };
    }
    case 'budget': {
      const which = reason.slice('gate:budget_'.length).split(/\W/, 1)[0] ?? '';
      return {
        check: 'sends_over_budget',
        level: isOver ? 'notice' : 'warning',
        sentence: `${texts} ${was} not sent today: the daily budget ${budgetWords(which, sends)} ${isOver ? 'was used up; later ones were sent' : 'is used up'}.`,
        remedy: 'The budget is renewed at midnight UTC. To send more, raise it under `budgets` in the rules file.',
      };
    }
    case 'reserved': {
      const which = reason.slice('gate:budget_'.length).split(/\W/, 1)[0] ?? '';
      return {
        check: 'sends_waiting',
        level: 'warning',
        sentence: `${texts} ${count === 1 ? 'has' : 'have'} waited for more than a minute for the outcome of others, which may need the rest of the daily budget ${budgetWords(which, sends)}.`,
        remedy: `${count === 1 ? 'It follows' : 'They follow'} once the others have gone out or were found: ${toType('sends list --state UNKNOWN')} lists those that are looked for. A higher budget, under \`budgets\` in the rules file, lets more leave at a time.`,
      };
    }
    case 'held_up':
      return {
        check: 'sends_waiting',
        level: 'warning',
        sentence: `${texts} ${count === 1 ? 'has' : 'have'} waited for more than a minute to be sent${reason === '' ? '' : `: ${reason}`}.`,
        remedy: 'Check that a worker processes the queue `sends`, and that the service answers it.',
        alert: { sentence: `${texts} ${count === 1 ? 'has' : 'have'} waited for more than a minute to be sent.` },
      };
    case 'too_old':
      return {
        check: 'sends_expired',
        level: 'notice',
        sentence: `${texts} of the last day expired before ${count === 1 ? 'it' : 'they'} could be sent, ${when}.`,
        remedy: `A reply to an old trigger is not sent. ${toType('sends list --state EXPIRED')} lists them.`,
      };
  }
}

function budgetWords(which: string, { today, dailyMicros }: SendsStatus): string {
  const set = today.reserved > 0 ? ` and ${dollars(today.reserved)} reserved` : '';
  if (which === 'money') return `of money (${dollars(today.spent)} spent${set}, of ${dollars(dailyMicros)})`;
  return which === 'line' ? 'of texts per line' : 'of texts per account';
}
