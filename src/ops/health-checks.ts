import { accountRemedy } from '../credentials/account.ts';
import { toType } from '../shared/command-name.ts';
import { maskKey } from '../shared/masking.ts';
import { isDirectory } from '../warehouse/directory.ts';
import { ago, countOf, quantity, span, streamNames } from './format.ts';
import { checkAutomation } from './health-checks/automation.ts';
import { bearers, type HealthCheck } from './health-checks/check.ts';
import { checkPostgres } from './health-checks/postgres.ts';
import { checkReports } from './health-checks/reporting.ts';
import { type RunningProcess, receives, works } from './processes.ts';
import type { SubscriptionsStatus } from './snapshot/deployment.ts';
import type { ParkedStream } from './snapshot/mirror.ts';
import { known, type Snapshot } from './snapshot.ts';

/** The overall state in one sentence: the most severe check, or that all is well. */
export interface Verdict {
  readonly level: 'ok' | 'warning' | 'problem';
  readonly sentence: string;
}

/** Seconds after which a due read is late; the sweep reads it after five. */
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
  const found = [
    ...[
      checkPostgres,
      checkSchema,
      checkQueues,
      checkAccount,
      checkLogin,
      checkParked,
      checkAnswers,
      checkCircuit,
      checkBacklogAge,
      checkWeb,
      checkSettings,
      checkCompleteness,
      checkSetAside,
    ],
    ...[checkPutOff, checkFailing, checkForbidden, checkPartialAnswers, checkAutomation, checkReporting],
    ...[checkSubscriptions, checkOtherDeployments, checkUnknownParts, checkInbox, checkDisk, checkAlerts],
  ].flatMap((check) => [...check(snapshot)]);
  const isConsequence = ({ check }: HealthCheck) => found.some((cause) => consequences[cause.check]?.includes(check));
  return found.filter((each) => !isConsequence(each)).sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
}

/** What follows from another finding, and whose own remedy would mislead. */
const consequences: { readonly [cause in HealthCheck['check']]?: readonly HealthCheck['check'][] } = {
  // Processes cannot report themselves.
  database_read_only: ['mirror_behind', 'web_missing', 'coverage_late', 'deliveries_refused'],
  queue_unreachable: ['mirror_behind'],
};

const levels: readonly HealthCheck['level'][] = ['problem', 'warning', 'notice'];

/** Claims only what is proven: webhooks announce new data, but only a comparison proves history. */
function healthySentence(snapshot: Snapshot): string {
  const due = known(snapshot.backlog, []).reduce((sum, each) => sum + each.due + each.putOff, 0);
  const { days, of, texts } = known(snapshot.completeness, undefined)?.uncompared ?? { days: 0, of: 0, texts: false };
  const what = days === 0 && !texts ? 'Everything' : 'Everything that was announced';
  const begin = due === 0 ? `${what} is mirrored` : `${what} is mirrored, except ${countOf(due, 'read')} in progress`;
  const newest = known(snapshot.freshness, [])
    .filter(({ kind, newestAt }) => (kind === 'thread' || kind === 'call') && newestAt !== null)
    .sort((a, b) => Number(b.newestAt) - Number(a.newestAt))[0];
  const end = [
    days > 0 && ` Not proven: the calls of ${days === of ? '' : `${days} of `}the last ${of} days.`,
    texts && ' Not searched: older texts.',
  ]
    .filter((each) => each !== false)
    .join('');
  if (!newest?.newestAt) {
    const announced = known(snapshot.backlog, []).filter(({ kind }) => !isDirectory(kind));
    const first = announced.reduce((sum, each) => sum + each.due, 0);
    return first === 0
      ? `Everything is ready; nothing has arrived yet.${end}`
      : `Everything is ready; the first ${countOf(first, 'read')} ${first === 1 ? 'is' : 'are'} in progress.${end}`;
  }
  const arrived = newest.kind === 'thread' ? 'the newest text arrived' : 'the newest call began';
  return `${begin}; ${arrived} ${ago(newest.newestAt, snapshot.takenAt)}.${searchedWords(snapshot)}${end}`;
}

/** Seconds for which unread counts differ while a text is being mirrored. */
const unreadGraceSeconds = 60;

function searchedWords({ completeness, takenAt }: Snapshot): string {
  const searched = (known(completeness, undefined)?.lines ?? [])
    .filter(
      ({ state, since }) => state === 'behind' && takenAt.getTime() - since.getTime() > unreadGraceSeconds * 1_000,
    )
    .reduce((sum, { missing }) => sum + missing, 0);
  return searched === 0 ? '' : ` Being searched for: ${countOf(searched, 'unread text')} that no webhook announced.`;
}

function* checkSchema({ schema, isRefusing }: Snapshot): Iterable<HealthCheck> {
  const { isMigrated, takesWrites, outdatedViews } = known(schema, {
    isMigrated: true,
    takesWrites: true,
    outdatedViews: [],
  });
  if (isRefusing || !takesWrites) {
    yield {
      check: takesWrites ? 'deliveries_refused' : 'database_read_only',
      level: 'problem',
      sentence: takesWrites
        ? 'The last delivery could not be stored and was answered 503.'
        : 'Postgres accepts no writes, so deliveries are answered 503 and nothing is mirrored.',
      remedy: 'Check that DATABASE_URL names the primary and that its disk is not full, and read the log of `web`.',
    };
  }
  if (!isMigrated) {
    yield {
      check: 'migrations_missing',
      level: 'problem',
      sentence: 'The database lacks migrations of this release.',
      remedy: `Run ${toType('migrate')}.`,
    };
  }
  if (outdatedViews.length > 0) {
    const some = outdatedViews.slice(0, 3).join(', ');
    const more = outdatedViews.length > 3 ? ` and ${outdatedViews.length - 3} more` : '';
    yield {
      check: 'views_stale',
      level: 'warning',
      sentence: `The reports are not all those of this release: ${some}${more}.`,
      remedy: `Run ${toType('migrate')}; it names whatever is in the way.`,
    };
  }
}

/** Each process asks with its own address and credential. */
function* checkAccount({ processes }: Snapshot): Iterable<HealthCheck> {
  const running = known(processes, []);
  const refused = running.filter(({ accountProblem }) => accountProblem !== null);
  const [first] = refused;
  if (!first?.accountProblem) return;
  const who = refused.length === running.length ? '' : ` of ${refused.length} of ${running.length} processes`;
  yield {
    check: 'account_unrecognized',
    level: 'problem',
    sentence: `The account${who} is not recognized, so nothing is read, proven or sent: ${first.accountProblem}.`,
    remedy: accountRemedy,
    alert: { sentence: `The account${who} is not recognized, so nothing is read, proven or sent.` },
  };
}

function* checkLogin({ credential }: Snapshot): Iterable<HealthCheck> {
  const status = known(credential, undefined);
  if (status?.use !== 'login' || status.state !== 'lost') return;
  const remedy = `Run ${toType('auth login')}. Nothing is lost: reading then resumes.`;
  yield {
    check: 'credential_refused',
    level: 'problem',
    sentence: 'The login is no longer valid, so nothing is read.',
    remedy: `${remedy} The reason: ${status.lastError ?? 'not recorded'}.`,
    alert: { remedy },
  };
}

function* checkParked({ parked, credential }: Snapshot): Iterable<HealthCheck> {
  const isLoggedIn = known(credential, undefined)?.use === 'login';
  // The sentences of refusals differ by operation; the credential is the same one.
  const together = Map.groupBy(known(parked, []), ({ missingScope, code }) =>
    missingScope === null ? isLoginNeeded(code) : missingScope,
  );
  for (const streams of together.values()) yield* checkStreams(streams, isLoggedIn);
}

/** Whether nobody is logged in; any other code is a refusal by the service. */
function isLoginNeeded(code: string): boolean {
  return code === 'login_required';
}

/** Streams that wait for the same reason, the longest first. */
function* checkStreams(streams: readonly ParkedStream[], isLoggedIn: boolean): Iterable<HealthCheck> {
  const [first] = streams;
  if (first) yield checkStream(first, streams, isLoggedIn);
}

function checkStream(
  { since, missingScope, code, reason }: ParkedStream,
  streams: readonly ParkedStream[],
  isLoggedIn: boolean,
): HealthCheck {
  const names = streams.map(({ kind }, at) => (at === 0 ? streamNames[kind] : streamNames[kind].toLowerCase()));
  const what = names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  if (missingScope === null) {
    const isMissing = isLoginNeeded(code);
    const remedy =
      isMissing || isLoggedIn ? `Run ${toType('auth login')}` : 'Set API_KEY to a valid key in every process';
    return {
      check: 'credential_refused',
      level: 'problem',
      since,
      sentence: `${what} are not read: ${isMissing ? 'a login is needed' : 'the service refuses the credential'}.`,
      remedy: `${remedy} (${reason}). Nothing is lost: reading then resumes.`,
      alert: { remedy: `${remedy}. Nothing is lost: reading then resumes.` },
    };
  }
  const grant = isLoggedIn
    ? `Run ${toType('auth login')} and grant ${missingScope}`
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
function* checkAnswers({ processes, takenAt }: Snapshot): Iterable<HealthCheck> {
  const longest = unanswered(known(processes, []));
  if (longest === undefined) return;
  const { waitingSeconds, answeredSeconds, waitingOperation } = longest;
  const lasted = waitingSeconds ?? 0;
  const isSilent = answeredSeconds === null || answeredSeconds >= lasted;
  const last =
    answeredSeconds === null ? 'It has not answered yet' : `Its last answer was ${span(answeredSeconds)} ago`;
  yield {
    check: 'service_silent',
    level: isSilent ? 'problem' : 'warning',
    since: new Date(takenAt.getTime() - lasted * 1_000),
    sentence: isSilent
      ? `The service does not answer: a request (${waitingOperation}) has been waiting for ${span(lasted)}.`
      : `The service has not answered ${waitingOperation} for ${span(lasted)}; it answers other requests.`,
    remedy: isSilent
      ? `${last}. Pending reads are kept and retried. Check that API_BASE_URL is reachable from the worker, or ask the service’s operator.`
      : 'Pending reads are kept and retried. If this lasts, ask the service’s operator.',
  };
}

function* checkCircuit({ circuit, processes, takenAt }: Snapshot): Iterable<HealthCheck> {
  const longest = Math.max(...known(processes, []).map(({ failingSeconds }) => failingSeconds ?? -1));
  const isOpen = circuit !== undefined && circuit.state !== 'closed';
  if (longest < 0 && !isOpen) return;
  const next =
    circuit?.retryAfterMs === undefined ? '' : ` The next retry is in ${span(circuit.retryAfterMs / 1_000)}.`;
  const remedy = (more: string) =>
    `Pending reads are kept and retried.${more} ${toType('doctor')} asks the service and names the error. If this lasts, ask the service’s operator.`;
  yield {
    check: 'service_failing',
    level: 'problem',
    ...(longest >= 0 && { since: new Date(takenAt.getTime() - longest * 1_000) }),
    sentence:
      longest < 0
        ? 'The service fails repeatedly, so no request is sent for a while.'
        : `The service fails: every request has failed for ${span(longest)}.`,
    remedy: remedy(next),
    alert: { remedy: remedy('') },
  };
}

function* checkBacklogAge(snapshot: Snapshot): Iterable<HealthCheck> {
  const parked = known(snapshot.parked, []);
  const waiting = known(snapshot.backlog, []).filter(({ kind }) => !parked.some((each) => each.kind === kind));
  const oldest = Math.max(0, ...waiting.map(({ oldestDueSeconds }) => oldestDueSeconds ?? 0));
  if (oldest <= lateSeconds) return;
  const due = waiting.reduce((sum, each) => sum + each.due, 0);
  const workers = known(snapshot.processes, undefined)?.filter(works).length;
  yield {
    check: 'mirror_behind',
    level: oldest > veryLateSeconds || workers === 0 ? 'problem' : 'warning',
    since: new Date(snapshot.takenAt.getTime() - oldest * 1_000),
    sentence: `The mirror is ${span(oldest)} behind: ${countOf(due, 'read')} ${due === 1 ? 'is' : 'are'} overdue${workers === 0 ? ', and no worker runs' : ''}.`,
    remedy: workers
      ? `${countOf(workers, 'worker')} ${workers === 1 ? 'runs' : 'run'}: read the log, or start another one (${toType('worker')}).`
      : `Start a worker (${toType('worker')}); if one runs, check that it uses this database.`,
  };
}

const ofKind = { thread: 'texts', call: 'a call', recordings: 'recordings', transcripts: 'transcripts' } as const;

/** What ended its process twice is read no more, so that other reads go on. */
function* checkSetAside({ setAside }: Snapshot): Iterable<HealthCheck> {
  for (const { work, kind, key, since, nextAt } of known(setAside, [])) {
    const what = isDirectory(kind) ? `the ${kind}` : ofKind[kind];
    const did = work === 'read' ? `The read of ${what}` : `The evaluation of the rules on ${what}`;
    const command = toType(`resync ${kind}${key === 'all' ? '' : ` ${key}`}`);
    const advice = 'The log of the worker says where it hung or failed. Update Trunkline, or report it;';
    yield {
      check: 'work_set_aside',
      level: 'problem',
      ...(since !== null && { since }),
      sentence: `${did} (${maskKey(kind, key)}) ended its process twice, so it is set aside.`,
      remedy: `${advice} ${command} takes it up again. By itself it is tried again on ${nextAt.toISOString().slice(0, 16)}Z.`,
      alert: {
        sentence: `${did} ended its process twice, so it is set aside.`,
        remedy: `${advice} ${toType('status')} names it, and ${toType('resync')} takes it up again.`,
      },
    };
  }
}

/** Without any process, this is no deployment yet. */
function* checkWeb({ processes }: Snapshot): Iterable<HealthCheck> {
  const running = known(processes, []);
  if (running.length === 0 || running.some(receives)) return;
  yield {
    check: 'web_missing',
    level: 'problem',
    sentence: 'No `web` process runs, so nobody receives the webhooks of the service.',
    remedy: `Start one (${toType('web')}); if one runs, check that it uses this database. What is missed meanwhile is searched for when one runs.`,
  };
}

/** Seconds for which the processes of a rolling deploy may differ. */
const rollingSeconds = 60;

/** Processes of one deployment whose secrets differ. */
function* checkSettings({ processes, takenAt }: Snapshot): Iterable<HealthCheck> {
  const running = known(processes, []);
  const address = differingSince(running, ({ addressHash }) => addressHash);
  const key = differingSince(running, ({ keyName }) => keyName);
  const isLasting = (since: Date | undefined): since is Date =>
    since !== undefined && takenAt.getTime() - since.getTime() > rollingSeconds * 1_000;
  if (isLasting(key)) {
    yield {
      check: 'keys_differ',
      level: 'problem',
      since: key,
      sentence:
        'Processes have different values of ENCRYPTION_KEY, so links to recordings that one stores cannot be opened by another.',
      remedy: `Set the same ENCRYPTION_KEY in every process (without one, the same API_KEY), and restart what differs from the others: ${startsOf(differing(running, ({ keyName }) => keyName))}.`,
    };
  }
  if (isLasting(address)) {
    yield {
      check: 'receivers_differ',
      level: 'warning',
      since: address,
      sentence:
        'Receivers have different values of WEBHOOK_SECRET or PUBLIC_URL. The one that was started last has the webhooks.',
      remedy: `Each accepts both secrets meanwhile. Give them the same settings, and restart the one that is out of date: ${startsOf(running.filter(receives))}.`,
    };
  }
}

/** When the youngest process whose value differs from another's was started; undefined when all agree that have one. */
function differingSince(running: readonly RunningProcess[], valueIn: (each: RunningProcess) => string | null) {
  const having = running.filter((each) => valueIn(each) !== null);
  const youngest = having.at(-1);
  const other = youngest && having.findLast((each) => valueIn(each) !== valueIn(youngest));
  return other && having[having.indexOf(other) + 1]?.startedAt;
}

/** The processes whose value differs from that of most; from the youngest's where no value is the most common. */
function differing(running: readonly RunningProcess[], valueIn: (each: RunningProcess) => string | null) {
  const having = running.filter((each) => valueIn(each) !== null);
  // Youngest first, and the sort keeps their order.
  const groups = [...Map.groupBy(having.toReversed(), valueIn).values()].sort((a, b) => b.length - a.length);
  return having.filter((each) => !groups[0]?.includes(each));
}

function startsOf(running: readonly RunningProcess[]): string {
  return running.map(({ role, startedAt }) => `${role} of ${startedAt.toISOString().slice(0, 19)}Z`).join(', ');
}

const showsError = `${toType('status')} shows the last error.`;

function* checkPutOff({ backlog, takenAt }: Snapshot): Iterable<HealthCheck> {
  const waiting = known(backlog, []).filter(({ longestPutOffSeconds }) => (longestPutOffSeconds ?? 0) > lateSeconds);
  if (waiting.length === 0) return;
  const count = waiting.reduce((sum, { putOff }) => sum + putOff, 0);
  const longest = Math.max(...waiting.map(({ longestPutOffSeconds }) => longestPutOffSeconds ?? 0));
  yield {
    check: 'reads_waiting',
    level: 'warning',
    // The waits double, so a read has failed for about as long as it waits now.
    since: new Date(takenAt.getTime() - longest * 1_000),
    sentence: `${countOf(count, 'read')} failed and ${count === 1 ? 'waits' : 'wait'} for a retry.`,
    remedy: `Nothing has to be done. The last error was: ${waiting[0]?.sampleErrors[0] ?? 'not recorded'}`,
    alert: { remedy: `They are retried. If this lasts, the service may be down: ${toType('doctor')} asks it.` },
  };
}

function* checkQueues({ queues }: Snapshot): Iterable<HealthCheck> {
  if (queues.state === 'unknown') return;
  const { backend, isReachable, reason, warnings, notices } = queues.value;
  if (!isReachable) {
    const name = backend === 'redis' ? 'Redis' : 'the queue’s schema in Postgres';
    yield {
      check: 'queue_unreachable',
      level: 'problem',
      sentence: 'The queue cannot be reached, so nothing new is read.',
      remedy: `${reason === undefined ? '' : `${reason} `}Check that ${name} runs${backend === 'redis' ? ' and that REDIS_URL is right' : ''}. Deliveries are kept meanwhile.`,
    };
    return;
  }
  for (const each of warnings) yield ofStore(each, 'warning');
  for (const each of notices) yield ofStore(each, 'notice');
}

/** A message of the queue store: a sentence, and after a colon its remedy. */
function ofStore(text: string, level: HealthCheck['level']): HealthCheck {
  const [sentence = text, remedy = ''] = text.split(/: (?=\w+ )/, 2);
  const upper = `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}`;
  return { check: 'queue_settings', level, sentence: `${sentence}.`, remedy: upper };
}

function* checkSubscriptions({ subscriptions, inbox }: Snapshot): Iterable<HealthCheck> {
  if (subscriptions.state === 'unknown') return;
  const { ours, broken, repaired } = subscriptions.value;
  const disabled = ours.filter(({ isEnabled }) => !isEnabled).map(({ type }) => type ?? 'unknown');
  const remedy = `Run ${toType('subscriptions ensure')}; it enables them, or prints what to create by hand.`;
  const warning = { check: 'subscription_broken', level: 'warning' } as const;
  if (ours.some(({ isEnabled }) => isEnabled)) {
    const types = [...new Set([...disabled, ...broken])];
    if (types.length === 0) return yield* checkRepaired(repaired);
    const what = broken.length === 0 ? 'is disabled' : 'is disabled or missing';
    yield { ...warning, sentence: `The subscription of ${types.join(', ')} ${what}.`, remedy };
    return;
  }
  // Without PUBLIC_URL, subscriptions created by hand cannot be recognized as ours, but they deliver.
  const arrives = known(inbox, undefined)?.types.some(({ lastDay }) => lastDay > 0) ?? false;
  if (arrives && broken.length === 0) return;
  yield {
    ...warning,
    sentence: 'No webhook subscription delivers to this receiver, so new texts and calls are not announced.',
    remedy: `The receiver registers them when it runs with PUBLIC_URL. ${remedy}`,
  };
}

/** Each deployment answers texts by rules of its own, and knows nothing of the other. */
function* checkOtherDeployments({ subscriptions, rules }: Snapshot): Iterable<HealthCheck> {
  const hosts = known(subscriptions, undefined)?.otherDeployments ?? [];
  if (hosts.length === 0) return;
  yield {
    check: 'account_shared',
    level: known(rules, undefined)?.mode === 'live' ? 'warning' : 'notice',
    sentence: `Another deployment of Trunkline receives the webhooks of this account: ${hosts.join(', ')}.`,
    remedy: `If both have RULES_MODE=live, each text may be answered twice: let one of them send. If it does not run any more, remove its subscriptions (${toType('subscriptions list')}, ${toType('subscriptions remove')}).`,
    alert: { sentence: 'Another deployment of Trunkline receives the webhooks of this account.' },
  };
}

/** Somebody changes what the mirror depends on. */
function* checkRepaired(repaired: SubscriptionsStatus['repaired']): Iterable<HealthCheck> {
  const since = repaired.map((each) => each.since).sort((a, b) => Number(a) - Number(b))[0];
  if (since === undefined) return;
  const what = repaired.map(({ type, fault }) => `that of ${type} was ${fault}`).join(', ');
  yield {
    check: 'subscription_broken',
    level: 'warning',
    since,
    sentence: `Webhook subscriptions were changed at the service (${what}); they are repaired.`,
    remedy:
      'Nothing has to be done: what was lost meanwhile is searched. If no receiver of yours with other settings was stopped then, find out who changes them in the portal.',
  };
}

function* checkFailing({ backlog }: Snapshot): Iterable<HealthCheck> {
  for (const { kind, stubborn, sampleErrors } of known(backlog, [])) {
    if (stubborn === 0) continue;
    const retried = stubborn === 1 ? 'It is retried.' : 'They are retried.';
    yield {
      check: 'reads_failing',
      level: 'warning',
      sentence: `${countOf(stubborn, 'read')} of ${streamNames[kind].toLowerCase()} failed three times or more.`,
      remedy: `${retried} The last error was: ${sampleErrors[0] ?? 'not recorded'}`,
      alert: { remedy: `${retried} ${showsError}` },
    };
  }
}

/** Recordings may be forbidden on purpose; missing texts or calls never are. */
function* checkForbidden({ backlog, credential }: Snapshot): Iterable<HealthCheck> {
  const who = bearers[known(credential, undefined)?.use ?? 'none'];
  for (const { kind, forbidden } of known(backlog, [])) {
    if (forbidden === 0 || kind === 'recordings' || kind === 'transcripts') continue;
    const what = isDirectory(kind)
      ? `the account’s ${kind}`
      : countOf(forbidden, kind === 'thread' ? 'conversation' : 'call');
    yield {
      check: 'reads_forbidden',
      level: 'warning',
      sentence: `${who.name} may not read ${what}.`,
      remedy: `${who.remedy}. The reads are retried within a day, or now with ${toType('resync')}.`,
    };
  }
}

function* checkInbox({ inbox }: Snapshot): Iterable<HealthCheck> {
  const count = known(inbox, undefined)?.unrecognized.lastDay ?? 0;
  if (count === 0) return;
  yield {
    check: 'deliveries_unrecognized',
    level: 'notice',
    sentence: `${quantity(count)} ${count === 1 ? 'delivery' : 'deliveries'} of the last day could not be parsed.`,
    remedy: `They are kept: ${toType('events list --unrecognized')} shows them; ${toType('events discard --before DATE --unrecognized')} removes them.`,
  };
}

/** An hour is compared two minutes after its end, and until then the newest proven one ended an hour before. */
const lateProofSeconds = 2 * 3_600;

function* checkCompleteness({ completeness, takenAt }: Snapshot): Iterable<HealthCheck> {
  if (completeness.state === 'unknown') return;
  const { unprovenCount, difference, provenUntil, lines, openGapCount, openGapSince, uncompared } = completeness.value;
  if (openGapCount > 0) {
    yield {
      check: 'gap_open',
      level: 'warning',
      ...(openGapSince !== null && { since: openGapSince }),
      sentence: `Webhooks may have been lost in ${countOf(openGapCount, 'period')}: a possible gap, not searched yet.`,
      remedy: `It is searched automatically, as soon as a worker runs and the service answers it: ${toType('doctor')} says what is in the way. ops.gaps has the times and reasons.`,
    };
  }
  if (unprovenCount > 0) {
    yield {
      check: 'coverage_unproven',
      level: 'warning',
      sentence: `${countOf(unprovenCount, 'hour')} of call history ${unprovenCount === 1 ? 'is' : 'are'} not proven complete.`,
      remedy: `${unprovenCount === 1 ? 'It is' : 'They are'} compared again automatically. The newest reason: ${difference ?? 'not recorded'}`,
      alert: { remedy: `${unprovenCount === 1 ? 'It is' : 'They are'} compared again automatically. ${showsError}` },
    };
  }
  const provenAgo = provenUntil === null ? 0 : (takenAt.getTime() - provenUntil.getTime()) / 1_000;
  if (provenAgo > lateProofSeconds) {
    yield {
      check: 'coverage_late',
      level: 'warning',
      sentence: `Call history is proven complete only up to ${span(provenAgo)} ago; each hour should be, soon after its end.`,
      remedy: `Check that a worker runs and that the service answers it: ${toType('doctor')} names the reason.`,
    };
  }
  const unexplained = lines.filter(({ state }) => state === 'unexplained');
  if (unexplained.length > 0) {
    yield {
      check: 'texts_missing',
      level: 'warning',
      sentence: `Unread texts of ${unexplained.map(({ line }) => line).join(', ')} cannot be found: a possible gap.`,
      remedy: `If you know who may have written, run ${toType('resync thread LINE/NUMBER')}, or ${toType('backfill threads --numbers FILE')} with a file of their numbers.`,
      alert: { sentence: `Unread texts of ${countOf(unexplained.length, 'line')} cannot be found: a possible gap.` },
    };
  }
  const { days, of, texts } = uncompared;
  if (days > 0 || texts) {
    const which = days === of ? `The last ${of} days` : `${days} of the last ${of} days`;
    yield {
      check: 'history_uncompared',
      level: 'notice',
      sentence:
        days > 0
          ? `${which} of call history ${days === 1 && days !== of ? 'was' : 'were'} never compared with the service.`
          : 'Texts from before the first start were never searched for.',
      remedy: `${toType('backfill calls')} fills in and proves call history, ${toType('backfill threads')} searches for older texts, and ${toType('coverage')} shows what is proven for each day.`,
    };
  }
}

/** Partial answers prove no absence (section 8): deleted rows stay, and no rule texts into such a thread. */
function* checkPartialAnswers({ drift, takenAt }: Snapshot): Iterable<HealthCheck> {
  const partial = known(drift, undefined)?.partial ?? [];
  const [latest] = partial;
  if (latest === undefined) return;
  yield {
    check: 'answers_partial',
    level: 'warning',
    sentence: `Answers of ${partial.map(({ operation }) => operation).join(', ')} may be incomplete.`,
    remedy: `They contain \`${latest.path}\` beside their data, last seen ${ago(latest.lastSeenAt, takenAt)}: the service may have begun to page its lists. Until a release of Trunkline reads further pages, nothing counts as deleted because such an answer lacks it.`,
  };
}

function* checkReporting({ reporting, takenAt }: Snapshot): Iterable<HealthCheck> {
  const status = known(reporting, undefined);
  if (status) yield* checkReports(status, takenAt);
}

function* checkUnknownParts(snapshot: Snapshot): Iterable<HealthCheck> {
  const unknown = Object.entries(snapshot).filter(([, part]) => part?.state === 'unknown');
  const [first] = unknown;
  if (first === undefined) return;
  yield {
    check: 'status_unknown',
    level: 'warning',
    sentence: `Parts of this status could not be read: ${unknown.map(([name]) => name).join(', ')}.`,
    remedy: `The error was: ${first[1].reason}`,
    alert: { remedy: showsError },
  };
}

/** Below this share or these bytes of free space. */
const lowDisk = { share: 0.1, bytes: 1024 ** 3 };
const fullDisk = { share: 0.02, bytes: 256 * 1024 ** 2 };

/** Only the disk of the embedded Postgres can be seen. */
function* checkDisk({ disk }: Snapshot): Iterable<HealthCheck> {
  const found = known(disk, undefined);
  if (found === undefined) return;
  const { freeBytes, totalBytes } = found;
  const isBelow = ({ share, bytes }: typeof lowDisk) => freeBytes < bytes || freeBytes < share * totalBytes;
  if (!isBelow(lowDisk)) return;
  yield {
    check: 'disk_low',
    level: isBelow(fullDisk) ? 'problem' : 'warning',
    sentence: `The disk of the database has ${gigabytes(freeBytes)} of ${gigabytes(totalBytes)} left. When it is full, deliveries are answered 503 and nothing is mirrored.`,
    remedy: 'Free space on the disk of DATA_DIR, or enlarge it. Nothing has to be restarted.',
  };
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

function* checkAlerts({ alerts }: Snapshot): Iterable<HealthCheck> {
  for (const { target, count, error } of known(alerts, undefined)?.undelivered ?? []) {
    yield {
      check: 'alerts_undelivered',
      level: 'warning',
      sentence: `${countOf(count, 'alert')} could not be sent by ${target}: ${error}.`,
      remedy: `Check the NOTIFY_ variables of this target with ${toType('notify test')}. The messages are retried for a day.`,
    };
  }
}
