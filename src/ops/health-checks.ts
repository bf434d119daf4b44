import { ago, countOf, dollars, quantity, span, streamNames } from './format.ts';
import type { RunningProcess } from './processes.ts';
import type { ActionFailure, SendsStatus, SendTrouble } from './snapshot/automation.ts';
import type { Backlog, ParkedStream } from './snapshot/mirror.ts';
import { known, type Part, type Snapshot } from './snapshot.ts';

/** The ids of all checks: alerts and metrics are told apart by them, so they stay the same across releases. */
export const checkNames = [
  'action_failed',
  'action_unclear',
  'alerts_undelivered',
  'answers_partial',
  'coverage_late',
  'coverage_unproven',
  'credential_refused',
  'database_read_only',
  'database_unavailable',
  'deliveries_refused',
  'deliveries_unrecognized',
  'disk_low',
  'history_uncompared',
  'migrations_missing',
  'mirror_behind',
  'queue_unreachable',
  'queue_settings',
  'reads_failing',
  'reads_forbidden',
  'reads_waiting',
  'reports_stale',
  'rules_failed',
  'rules_file',
  'rules_mode',
  'scope_missing',
  'sends_expired',
  'sends_near_cap',
  'sends_over_budget',
  'sends_paused',
  'sends_refused',
  'sends_review',
  'sends_unknown',
  'sends_waiting',
  'service_failing',
  'service_silent',
  'status_unknown',
  'subscription_broken',
  'texts_missing',
] as const;

export type CheckName = (typeof checkNames)[number];

/** A problem, warning or notice for the operator, with its remedy. */
export interface HealthCheck {
  readonly check: CheckName;
  /**
   * problem: data is missing or at risk, or sends do not leave. warning: needs attention. notice: for information; it affects
   * neither the verdict nor an exit code.
   */
  readonly level: 'problem' | 'warning' | 'notice';
  readonly sentence: string;
  readonly remedy: string;
  /** Since when it is known to be so. */
  readonly since?: Date;
  /** What an alert says instead, where the texts above quote others or name a line: alerts leave the house. */
  readonly alert?: { readonly sentence?: string; readonly remedy?: string };
}

/** The overall state in one sentence: the most severe check, or that all is well. */
export interface Verdict {
  readonly level: 'ok' | 'warning' | 'problem';
  readonly sentence: string;
}

/** Seconds after which a due read is late; the sweep enqueues it again after five. */
export const lateSeconds = 30;
const veryLateSeconds = 600;

export function verdictOf(snapshot: Snapshot): Verdict {
  const [worst] = healthChecks(snapshot);
  if (worst && worst.level !== 'notice') return { level: worst.level, sentence: worst.sentence };
  return { level: 'ok', sentence: healthySentence(snapshot) };
}

/** The JSON of `/api/status` and `trunkline status --json`. */
export function statusJson(snapshot: Snapshot): object {
  return { verdict: verdictOf(snapshot), concerns: withCure(healthChecks(snapshot)), ...snapshot };
}

/** The public JSON name of a remedy is `cure`. */
export function withCure(found: readonly object[]): object[] {
  return found.map((each) => {
    const { remedy, ...rest } = each as { remedy?: string };
    return remedy === undefined ? rest : { ...rest, cure: remedy };
  });
}

/** All checks that found something, by level; within a level data first, then sends and rules, then settings. */
export function healthChecks(snapshot: Snapshot): HealthCheck[] {
  const checks = [
    ...checkSchema(snapshot),
    ...checkLogin(snapshot),
    ...known(snapshot.parked, []).map((parked) => checkParked(parked, isLogin(snapshot))),
    ...checkAnswers(snapshot),
    ...checkCircuit(snapshot),
    ...checkBacklogAge(snapshot),
    ...checkCompleteness(snapshot),
    ...checkPutOff(snapshot),
    ...checkFailing(known(snapshot.backlog, [])),
    ...checkForbidden(snapshot),
    ...checkPartialAnswers(snapshot),
    ...checkModes(snapshot),
    ...checkSends(snapshot),
    ...checkRules(snapshot),
    ...checkReporting(snapshot),
    ...checkQueues(snapshot),
    ...checkSubscriptions(snapshot),
    ...checkUnknownParts(snapshot),
    ...checkInbox(snapshot),
    ...checkDisk(snapshot),
    ...checkAlerts(snapshot),
  ];
  return checks.sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
}

const levels: readonly HealthCheck['level'][] = ['problem', 'warning', 'notice'];

/** Claims only what is proven: webhooks announce new data, but only a comparison proves history. */
function healthySentence(snapshot: Snapshot): string {
  const due = known(snapshot.backlog, []).reduce((sum, each) => sum + each.due + each.putOff, 0);
  const { days, of } = known(snapshot.completeness, undefined)?.uncompared ?? { days: 0, of: 0 };
  const what = days === 0 ? 'Everything' : 'Everything that was announced';
  const begin = due === 0 ? `${what} is mirrored` : `${what} is mirrored, except ${countOf(due, 'read')} in progress`;
  const newest = known(snapshot.freshness, [])
    .filter(({ kind, newestAt }) => (kind === 'thread' || kind === 'call') && newestAt !== null)
    .sort((a, b) => Number(b.newestAt) - Number(a.newestAt))[0];
  const end = days === 0 ? '' : ` Not proven: the calls of ${days === of ? '' : `${days} of `}the last ${of} days.`;
  if (!newest?.newestAt) return `Everything is ready; nothing has arrived yet.${end}`;
  const arrived = newest.kind === 'thread' ? 'the newest text arrived' : 'the newest call began';
  return `${begin}; ${arrived} ${ago(newest.newestAt, snapshot.takenAt)}.${end}`;
}

/** Undefined when every one of the last days was compared. */
function uncomparedWords({ completeness }: Snapshot): string | undefined {
  const { days, of } = known(completeness, undefined)?.uncompared ?? { days: 0, of: 0 };
  if (days === 0) return undefined;
  const which = days === of ? `The last ${of} days` : `${days} of the last ${of} days`;
  return `${which} of call history ${days === 1 && days !== of ? 'was' : 'were'} never compared with the service.`;
}

function checkSchema({ schema, isRefusing }: Snapshot): HealthCheck[] {
  const { isMigrated, takesWrites } = known(schema, { isMigrated: true, takesWrites: true });
  const checks: HealthCheck[] = [];
  if (isRefusing || !takesWrites) {
    checks.push({
      check: takesWrites ? 'deliveries_refused' : 'database_read_only',
      level: 'problem',
      sentence: takesWrites
        ? 'The last delivery could not be stored and was answered 503.'
        : 'Postgres accepts no writes, so deliveries are answered 503 and nothing is mirrored.',
      remedy: 'Check that DATABASE_URL names the primary and that its disk is not full, and read the log of `web`.',
    });
  }
  if (!isMigrated) {
    const sentence = 'The database lacks migrations of this release.';
    checks.push({ check: 'migrations_missing', level: 'problem', sentence, remedy: 'Run `trunkline migrate`.' });
  }
  return checks;
}

function isLogin({ credential }: Snapshot): boolean {
  return known(credential, undefined)?.use === 'login';
}

function checkLogin({ credential }: Snapshot): HealthCheck[] {
  const status = known(credential, undefined);
  if (status?.use !== 'login' || status.state !== 'lost') return [];
  const remedy = 'Run `trunkline auth login`. Nothing is lost: reading then resumes.';
  return [
    {
      check: 'credential_refused',
      level: 'problem',
      sentence: 'The login is no longer valid, so nothing is read.',
      remedy: `${remedy} The reason: ${status.lastError ?? 'not recorded'}.`,
      alert: { remedy },
    },
  ];
}

function checkParked({ kind, since, missingScope, reason }: ParkedStream, isLoggedIn: boolean): HealthCheck {
  const what = streamNames[kind];
  if (missingScope === null) {
    // The daemon's own reasons name the login command; any other reason is a refusal by the service.
    const isLoginNeeded = reason.includes('trunkline auth login');
    const remedy = isLoginNeeded || isLoggedIn ? 'Run `trunkline auth login`' : 'Set API_KEY to a valid key';
    return {
      check: 'credential_refused',
      level: 'problem',
      since,
      sentence: `${what} are not read: ${isLoginNeeded ? 'a login is needed' : 'the service refuses the credential'}.`,
      remedy: `${remedy} (${reason}). Nothing is lost: reading then resumes.`,
      alert: { remedy: `${remedy}. Nothing is lost: reading then resumes.` },
    };
  }
  const grant = isLoggedIn
    ? `Run \`trunkline auth login\` and grant ${missingScope}`
    : `Grant ${missingScope} to the credential`;
  return {
    check: 'scope_missing',
    level: 'problem',
    since,
    sentence: `${what} are not read: the credential lacks the scope ${missingScope}.`,
    remedy: `${grant}. Nothing is lost: reading then resumes.`,
  };
}

/** Seconds without any answer, and seconds without an answer of one operation while others are answered. */
const unansweredSeconds = 5;
const unansweredOperationSeconds = 15;

/** The process to which the service has not answered for longest, of those that have waited for too long. */
export function unanswered(processes: readonly RunningProcess[]): RunningProcess | undefined {
  const waiting = processes.filter(({ waitingSeconds, answeredSeconds }) => {
    if (waitingSeconds === null) return false;
    const isSilent = answeredSeconds === null || answeredSeconds >= waitingSeconds;
    return waitingSeconds > (isSilent ? unansweredSeconds : unansweredOperationSeconds);
  });
  return waiting.sort((a, b) => (b.waitingSeconds ?? 0) - (a.waitingSeconds ?? 0))[0];
}

/** Every process reports how long its requests wait, so that a hanging service is found before a request times out. */
function checkAnswers({ processes }: Snapshot): HealthCheck[] {
  const longest = unanswered(known(processes, []));
  if (longest === undefined) return [];
  const { waitingSeconds, answeredSeconds, waitingOperation } = longest;
  const since = span(waitingSeconds ?? 0);
  if (answeredSeconds !== null && answeredSeconds < (waitingSeconds ?? 0)) {
    return [
      {
        check: 'service_silent',
        level: 'warning',
        sentence: `The service has not answered ${waitingOperation} for ${since}; it answers other requests.`,
        remedy: 'Pending reads are kept and retried. If this lasts, ask the service’s operator.',
      },
    ];
  }
  const last =
    answeredSeconds === null ? 'It has not answered yet' : `Its last answer was ${span(answeredSeconds)} ago`;
  return [
    {
      check: 'service_silent',
      level: 'problem',
      sentence: `The service does not answer: a request (${waitingOperation}) has been waiting for ${since}.`,
      remedy: `${last}. Pending reads are kept and retried. Check that API_BASE_URL is reachable from the worker, or ask the service’s operator.`,
    },
  ];
}

function checkCircuit({ circuit, processes }: Snapshot): HealthCheck[] {
  const isOpen = circuit !== undefined && circuit.state !== 'closed';
  if (!isOpen && !known(processes, []).some(({ isApiFailing }) => isApiFailing)) return [];
  const next =
    circuit?.retryAfterMs === undefined ? '' : ` The next retry is in ${span(circuit.retryAfterMs / 1_000)}.`;
  return [
    {
      check: 'service_failing',
      level: 'problem',
      sentence: 'The service fails repeatedly, so no request is sent for a while.',
      remedy: `Pending reads are kept and retried.${next} If this lasts, ask the service’s operator.`,
    },
  ];
}

function checkBacklogAge(snapshot: Snapshot): HealthCheck[] {
  const parked = known(snapshot.parked, []);
  const waiting = known(snapshot.backlog, []).filter(({ kind }) => !parked.some((each) => each.kind === kind));
  const oldest = Math.max(0, ...waiting.map(({ oldestDueSeconds }) => oldestDueSeconds ?? 0));
  if (oldest <= lateSeconds) return [];
  const due = waiting.reduce((sum, each) => sum + each.due, 0);
  const workers = known(snapshot.processes, undefined)?.filter(({ role }) => role === 'worker').length;
  return [
    {
      check: 'mirror_behind',
      level: oldest > veryLateSeconds || workers === 0 ? 'problem' : 'warning',
      since: new Date(snapshot.takenAt.getTime() - oldest * 1_000),
      sentence: `The mirror is ${span(oldest)} behind: ${countOf(due, 'read')} ${due === 1 ? 'is' : 'are'} overdue${workers === 0 ? ', and no worker runs' : ''}.`,
      remedy: workers
        ? `${countOf(workers, 'worker')} ${workers === 1 ? 'runs' : 'run'}: read the log, or start another one (\`trunkline worker\`).`
        : 'Start a worker (`trunkline worker`); if one runs, check that it uses this database.',
    },
  ];
}

const showsError = '`trunkline status` shows the last error.';

function checkPutOff({ backlog, takenAt }: Snapshot): HealthCheck[] {
  const waiting = known(backlog, []).filter(({ longestPutOffSeconds }) => (longestPutOffSeconds ?? 0) > lateSeconds);
  if (waiting.length === 0) return [];
  const count = waiting.reduce((sum, { putOff }) => sum + putOff, 0);
  const longest = Math.max(...waiting.map(({ longestPutOffSeconds }) => longestPutOffSeconds ?? 0));
  return [
    {
      check: 'reads_waiting',
      level: 'warning',
      // The waits double, so a read has failed for about as long as it waits now.
      since: new Date(takenAt.getTime() - longest * 1_000),
      sentence: `${countOf(count, 'read')} failed and ${count === 1 ? 'waits' : 'wait'} for a retry.`,
      remedy: `Nothing has to be done. The last error was: ${waiting[0]?.sampleErrors[0] ?? 'not recorded'}`,
      alert: { remedy: 'They are retried. If this lasts, the service may be down: `trunkline doctor` asks it.' },
    },
  ];
}

function checkQueues({ queues }: Snapshot): HealthCheck[] {
  if (queues.state === 'unknown') return [];
  const { backend, isReachable, reason, warnings, notices } = queues.value;
  if (!isReachable) {
    const name = backend === 'redis' ? 'Redis' : 'the queue’s schema in Postgres';
    return [
      {
        check: 'queue_unreachable',
        level: 'problem',
        sentence: 'The queue cannot be reached, so nothing new is read.',
        remedy: `${reason === undefined ? '' : `${reason} `}Check that ${name} runs${backend === 'redis' ? ' and that REDIS_URL is right' : ''}. Deliveries are kept meanwhile.`,
      },
    ];
  }
  return [...warnings.map((each) => ofStore(each, 'warning')), ...notices.map((each) => ofStore(each, 'notice'))];
}

/** A message of the queue store: a sentence, and after a colon its remedy. */
function ofStore(text: string, level: HealthCheck['level']): HealthCheck {
  const [sentence = text, remedy = ''] = text.split(/: (?=\w+ )/, 2);
  const upper = `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}`;
  return { check: 'queue_settings', level, sentence: `${sentence}.`, remedy: upper };
}

function checkSubscriptions({ subscriptions, inbox }: Snapshot): HealthCheck[] {
  if (subscriptions.state === 'unknown') return [];
  const { ours, broken } = subscriptions.value;
  const disabled = ours.filter(({ isEnabled }) => !isEnabled).map(({ type }) => type ?? 'unknown');
  const remedy = 'Run `trunkline subscriptions ensure`; it enables them, or prints what to create by hand.';
  const warning = { check: 'subscription_broken', level: 'warning' } as const;
  if (ours.some(({ isEnabled }) => isEnabled)) {
    const types = [...new Set([...disabled, ...broken])];
    if (types.length === 0) return [];
    const what = broken.length === 0 ? 'is disabled' : 'is disabled or missing';
    return [{ ...warning, sentence: `The subscription of ${types.join(', ')} ${what}.`, remedy }];
  }
  // Without PUBLIC_URL, subscriptions created by hand cannot be recognized as ours, but they deliver.
  const arrives = known(inbox, undefined)?.types.some(({ lastDay }) => lastDay > 0) ?? false;
  if (arrives && broken.length === 0) return [];
  return [
    {
      ...warning,
      sentence: 'No webhook subscription delivers to this receiver, so new texts and calls are not announced.',
      remedy: `The receiver registers them when it runs with PUBLIC_URL. ${remedy}`,
    },
  ];
}

function checkFailing(backlog: readonly Backlog[]): HealthCheck[] {
  return backlog
    .filter(({ stubborn }) => stubborn > 0)
    .map(({ kind, stubborn, sampleErrors }) => ({
      check: 'reads_failing',
      level: 'warning',
      sentence: `${countOf(stubborn, 'read')} of ${streamNames[kind].toLowerCase()} failed three times or more.`,
      remedy: `${stubborn === 1 ? 'It is' : 'They are'} retried. The last error was: ${sampleErrors[0] ?? 'not recorded'}`,
      alert: { remedy: `${stubborn === 1 ? 'It is' : 'They are'} retried. ${showsError}` },
    }));
}

/** Recordings may be forbidden on purpose; missing texts or calls never are. */
function checkForbidden({ backlog, credential }: Snapshot): HealthCheck[] {
  const who = bearers[known(credential, undefined)?.use ?? 'none'];
  return known(backlog, [])
    .filter(({ kind, forbidden }) => forbidden > 0 && kind !== 'recordings' && kind !== 'transcripts')
    .map(({ kind, forbidden }) => ({
      check: 'reads_forbidden',
      level: 'warning',
      sentence: `${who.name} may not read ${forbiddenOf(kind, forbidden)}.`,
      remedy: `${who.remedy}. The reads are retried within a day, or now with \`trunkline resync\`.`,
    }));
}

/** The refused party by credential, and its remedy: an API key has no user whose role could be changed. */
const bearers = {
  api_key: { name: 'The API key', remedy: 'Give it the permission in the portal, or set API_KEY to one that has it' },
  login: {
    name: 'The role of the logged-in user',
    remedy: 'Give it the permission in the portal, or log in as a user who has it (`trunkline auth login`)',
  },
  none: { name: 'The credential of the worker', remedy: 'Give it the permission in the portal' },
} as const;

function forbiddenOf(kind: Backlog['kind'], count: number): string {
  if (kind === 'users' || kind === 'lines') return `the account’s ${kind}`;
  return countOf(count, kind === 'thread' ? 'conversation' : 'call');
}

function checkInbox({ inbox }: Snapshot): HealthCheck[] {
  const count = known(inbox, undefined)?.unrecognized.lastDay ?? 0;
  if (count === 0) return [];
  return [
    {
      check: 'deliveries_unrecognized',
      level: 'notice',
      sentence: `${quantity(count)} ${count === 1 ? 'delivery' : 'deliveries'} of the last day could not be parsed.`,
      remedy:
        'They are kept: `trunkline events list --unrecognized` shows them; `events discard --before DATE --unrecognized` removes them.',
    },
  ];
}

/** An hour is compared two minutes after its end, and until then the newest proven one ended an hour before. */
const lateProofSeconds = 2 * 3_600;

function checkCompleteness(snapshot: Snapshot): HealthCheck[] {
  const { completeness } = snapshot;
  if (completeness.state === 'unknown') return [];
  const { unprovenCount, difference, provenUntil, lines } = completeness.value;
  const checks: HealthCheck[] = [];
  if (unprovenCount > 0) {
    checks.push({
      check: 'coverage_unproven',
      level: 'warning',
      sentence: `${countOf(unprovenCount, 'hour')} of call history ${unprovenCount === 1 ? 'is' : 'are'} not proven complete.`,
      remedy: `${unprovenCount === 1 ? 'It is' : 'They are'} compared again automatically. The newest reason: ${difference ?? 'not recorded'}`,
      alert: { remedy: `${unprovenCount === 1 ? 'It is' : 'They are'} compared again automatically. ${showsError}` },
    });
  }
  const provenAgo = provenUntil === null ? 0 : (snapshot.takenAt.getTime() - provenUntil.getTime()) / 1_000;
  if (provenAgo > lateProofSeconds) {
    checks.push({
      check: 'coverage_late',
      level: 'warning',
      sentence: `Call history is proven complete only up to ${span(provenAgo)} ago; each hour should be, soon after its end.`,
      remedy: 'Check that a worker runs and that the service answers it: `trunkline doctor` names the reason.',
    });
  }
  const unexplained = lines.filter(({ state }) => state === 'unexplained');
  if (unexplained.length > 0) {
    checks.push({
      check: 'texts_missing',
      level: 'warning',
      sentence: `Unread texts of ${unexplained.map(({ line }) => line).join(', ')} cannot be found: a possible gap.`,
      remedy:
        'If you know who may have written, put their numbers into a file and run `trunkline backfill threads --numbers FILE`.',
      alert: { sentence: `Unread texts of ${countOf(unexplained.length, 'line')} cannot be found: a possible gap.` },
    });
  }
  const uncompared = uncomparedWords(snapshot);
  if (uncompared !== undefined) {
    checks.push({
      check: 'history_uncompared',
      level: 'notice',
      sentence: uncompared,
      remedy:
        '`trunkline backfill calls` fills in and proves call history, `trunkline backfill threads` searches for older texts, and `trunkline coverage` shows what is proven for each day.',
    });
  }
  return checks;
}

/** Partial answers prove no absence (section 8): deleted rows stay, and no rule texts into such a thread. */
function checkPartialAnswers({ drift, takenAt }: Snapshot): HealthCheck[] {
  const partial = known(drift, undefined)?.partial ?? [];
  const [latest] = partial;
  if (latest === undefined) return [];
  return [
    {
      check: 'answers_partial',
      level: 'warning',
      sentence: `Answers of ${partial.map(({ operation }) => operation).join(', ')} may be incomplete.`,
      remedy: `They contain \`${latest.path}\` beside their data, last seen ${ago(latest.lastSeenAt, takenAt)}: the service may have begun to page its lists. Until a release of Trunkline reads further pages, nothing counts as deleted because such an answer lacks it.`,
    },
  ];
}

/** The RULES_MODE of the worker that takes a reply decides whether it is sent. */
function checkModes({ processes }: Snapshot): HealthCheck[] {
  const workers = known(processes, []).filter(({ role, rulesMode }) => role === 'worker' && rulesMode !== null);
  const byMode = Map.groupBy(workers, ({ rulesMode }) => rulesMode);
  if (byMode.size < 2) return [];
  const counts = [...byMode].map(([mode, { length }]) => `${length} with ${mode}`).sort();
  return [
    {
      check: 'rules_mode',
      level: 'problem',
      sentence: `The workers differ in RULES_MODE (${counts.join(', ')}), so only some actions of rules are performed.`,
      remedy: 'Set RULES_MODE to the same value for all workers, and restart those that had another one.',
    },
  ];
}

function checkRules({ rules, credential }: Snapshot): HealthCheck[] {
  const status = known(rules, undefined);
  if (status === undefined) return [];
  const { problem, version, mode, lastDay, failures } = status;
  const checks: HealthCheck[] = [];
  if (problem && mode !== 'off') {
    const sentence = version
      ? 'The rules file has an error; the rules loaded before stay in force.'
      : 'No rules are in force.';
    checks.push({
      check: 'rules_file',
      level: version ? 'warning' : 'problem',
      sentence,
      remedy: problem.split('\n')[0] ?? problem,
      alert: { remedy: 'Run `trunkline rules check`, which names the line.' },
    });
  }
  const use = known(credential, undefined)?.use ?? 'none';
  for (const failure of failures) checks.push(checkAction(failure, use));
  const failed = lastDay.filter((each) => each.failed > 0);
  if (failed.length > 0) {
    const count = failed.reduce((sum, each) => sum + each.failed, 0);
    checks.push({
      check: 'rules_failed',
      level: 'warning',
      sentence: `Rules could not be evaluated ${quantity(count)} times in the last day: ${failed.map(({ rule }) => rule).join(', ')}.`,
      remedy:
        'These rules did nothing. The reason is in ops.rule_runs, and begins with "error:". `trunkline rules check` checks the file.',
    });
  }
  return checks;
}

function checkAction({ rule, kind, state, reason, count }: ActionFailure, use: Bearer): HealthCheck {
  const times = count === 1 ? '' : ` ${quantity(count)} times`;
  if (state === 'unclear') {
    return {
      check: 'action_unclear',
      level: 'warning',
      sentence: `The rule ${rule} may or may not have performed ${kind}${times}: ${reason}.`,
      alert: { sentence: `The rule ${rule} may or may not have performed ${kind}${times}.` },
      remedy: 'Check the conversation: the action is not retried. See ops.rule_actions, state unclear.',
    };
  }
  return {
    check: 'action_failed',
    level: 'warning',
    sentence: `The rule ${rule} failed to ${kind}${times} in the last day: ${reason}.`,
    alert: { sentence: `The rule ${rule} failed to ${kind}${times} in the last day.` },
    // The scope of all actions except replies, which are sends (section 4.2).
    remedy: remedyOf(reason, use, 'sms:write', 'see ops.rule_actions, state failed'),
  };
}

type Bearer = keyof typeof bearers;

/** The remedy for a refusal by the service (section 7). A reason begins with the error code. */
function remedyOf(reason: string, use: Bearer, scope: string, otherwise: string): string {
  const code = /^[a-z_]+/.exec(reason)?.[0] ?? '';
  const status = /\((\d{3})\)/.exec(reason)?.[1];
  switch (code) {
    case 'unauthenticated':
      return use === 'login' ? 'Run `trunkline auth login`.' : 'Set API_KEY to a key that is valid and not revoked.';
    case 'insufficient_scope':
      return use === 'login'
        ? `Run \`trunkline auth login\` and grant the scope ${scope}.`
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

function checkSends({ sends, credential, takenAt }: Snapshot): HealthCheck[] {
  if (sends.state === 'unknown') return [];
  const { control, counts, today, dailyMicros, troubles } = sends.value;
  const use = known(credential, undefined)?.use ?? 'none';
  const checks: HealthCheck[] = [];
  if (control.isPaused) {
    const paused = `Paused ${ago(control.since, takenAt)} by ${control.by === 'ledger' ? 'the daemon itself' : 'the operator'}.`;
    const resume = '`trunkline sends resume` resumes them; texts that have expired by then are not sent.';
    checks.push({
      check: 'sends_paused',
      level: control.by === 'ledger' ? 'problem' : 'warning',
      since: control.since,
      sentence: 'All automatic texts are paused.',
      remedy: `${paused} The reason: ${control.reason}. ${resume}`,
      alert: { remedy: `${paused} \`trunkline status\` shows the reason, ${resume}` },
    });
  }
  const open = counts.NEEDS_HUMAN ?? 0;
  if (open > 0) {
    checks.push({
      check: 'sends_review',
      level: 'problem',
      sentence: `${countOf(open, 'automatic text')} may or may not have gone out.`,
      remedy:
        'Manual review: list them with `trunkline sends list --state NEEDS_HUMAN`, read the thread, and record the outcome with `trunkline sends settle`. Nothing is sent again.',
    });
  }
  const unknown = counts.UNKNOWN ?? 0;
  if (unknown > 0) {
    checks.push({
      check: 'sends_unknown',
      level: 'warning',
      sentence: `The outcome of ${countOf(unknown, 'automatic text')} is unknown: the answer to the request was lost.`,
      remedy:
        'Trunkline searches the threads for the texts, for a day at most, and sends nothing again. `trunkline sends list --state UNKNOWN` lists them.',
    });
  }
  const used = (today.spent + today.reserved) / dailyMicros;
  const isUsedUp = troubles.some(({ kind, reason }) => kind === 'budget' && reason.includes('budget_money'));
  if (dailyMicros > 0 && used >= nearCap && !isUsedUp) {
    checks.push({
      check: 'sends_near_cap',
      level: 'warning',
      sentence: `${Math.floor(used * 100)}% of the daily budget of automatic texts are used (${dollars(today.spent + today.reserved)} of ${dollars(dailyMicros)}).`,
      remedy:
        'Beyond it, no text is sent until midnight UTC. To send more, raise it under `budgets` in the rules file; to stop, run `trunkline sends pause`.',
    });
  }
  return [...checks, ...troubles.map((trouble) => checkTrouble(trouble, sends.value, use, takenAt))];
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
        remedy: remedyOf(reason, use, 'sms:send', '`trunkline sends show ID` shows the history of each of them'),
        alert: { sentence: `${texts} of the last day ${was} not sent: ${after}` },
      };
    }
    case 'budget': {
      const which = reason.slice('gate:budget_'.length).split(/\W/, 1)[0] ?? '';
      return {
        check: 'sends_over_budget',
        level: 'warning',
        sentence: `${texts} ${was} not sent today: the daily budget ${budgetWords(which, sends)} is used up.`,
        remedy: 'The budget is renewed at midnight UTC. To send more, raise it under `budgets` in the rules file.',
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
        remedy: 'A reply to an old trigger is not sent. `trunkline sends list --state EXPIRED` lists them.',
      };
  }
}

function budgetWords(which: string, { today, dailyMicros }: SendsStatus): string {
  const set = today.reserved > 0 ? ` and ${dollars(today.reserved)} reserved` : '';
  if (which === 'money') return `of money (${dollars(today.spent)} spent${set}, of ${dollars(dailyMicros)})`;
  return which === 'line' ? 'of texts per line' : 'of texts per account';
}

function checkReporting({ reporting }: Snapshot): HealthCheck[] {
  const facts = known(reporting, undefined);
  if (!facts) return [];
  const { timeZone, wantedTimeZone, isCurrent } = facts;
  if (wantedTimeZone !== null && wantedTimeZone !== timeZone) {
    return [
      {
        check: 'reports_stale',
        level: 'warning',
        sentence: `TIME_ZONE is ${wantedTimeZone}, but the days and hours of the reports are still those of ${timeZone}.`,
        remedy: `Run \`trunkline reporting rebuild\`; workers may keep running. Or set TIME_ZONE back to ${timeZone}.`,
      },
    ];
  }
  if (isCurrent) return [];
  return [
    {
      check: 'reports_stale',
      level: 'warning',
      sentence:
        'Not all reports follow the definitions of now: hours, holidays, delivery words or reporting.params changed, or a rebuild has not ended.',
      remedy: 'Run `trunkline reporting rebuild`, unless it runs; workers may keep running.',
    },
  ];
}

function checkUnknownParts(snapshot: Snapshot): HealthCheck[] {
  const unknown = unknownParts(snapshot);
  const [first] = unknown;
  if (first === undefined) return [];
  return [
    {
      check: 'status_unknown',
      level: 'warning',
      sentence: `Parts of this status could not be read: ${unknown.map(({ name }) => name).join(', ')}.`,
      remedy: `The error was: ${first.reason}`,
      alert: { remedy: showsError },
    },
  ];
}

/** Whether every part could be read, so that what the checks do not find is not there. */
export function isWhole(snapshot: Snapshot): boolean {
  return unknownParts(snapshot).length === 0;
}

function unknownParts(snapshot: Snapshot): { name: string; reason: string }[] {
  return Object.entries(snapshot).flatMap(([name, part]: [string, Part<unknown> | unknown]) =>
    isUnknown(part) ? [{ name, reason: part.reason }] : [],
  );
}

function isUnknown(part: unknown): part is { state: 'unknown'; reason: string } {
  return typeof part === 'object' && part !== null && 'state' in part && part.state === 'unknown' && 'reason' in part;
}

/** Below this share or these bytes of free space. */
const lowDisk = { share: 0.1, bytes: 1024 ** 3 };
const fullDisk = { share: 0.02, bytes: 256 * 1024 ** 2 };

/** Only the disk of the embedded Postgres can be seen. */
function checkDisk({ disk }: Snapshot): HealthCheck[] {
  const found = known(disk, undefined);
  if (found === undefined) return [];
  const { freeBytes, totalBytes } = found;
  const isBelow = ({ share, bytes }: typeof lowDisk) => freeBytes < bytes || freeBytes < share * totalBytes;
  if (!isBelow(lowDisk)) return [];
  return [
    {
      check: 'disk_low',
      level: isBelow(fullDisk) ? 'problem' : 'warning',
      sentence: `The disk of the database has ${gigabytes(freeBytes)} of ${gigabytes(totalBytes)} left. When it is full, deliveries are answered 503 and nothing is mirrored.`,
      remedy: 'Free space on the disk of DATA_DIR, or enlarge it. Nothing has to be restarted.',
    },
  ];
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

function checkAlerts({ alerts }: Snapshot): HealthCheck[] {
  return known(alerts, { open: [], undelivered: [] }).undelivered.map(({ target, count, error }) => ({
    check: 'alerts_undelivered',
    level: 'warning',
    sentence: `${countOf(count, 'alert')} could not be sent by ${target}: ${error}.`,
    remedy:
      'Check the NOTIFY_ variables of this target with `trunkline notify test`. The messages are retried for a day.',
  }));
}
