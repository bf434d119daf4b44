import type { Backlog, ParkedStream } from './facts/backlog.ts';
import { known, type Part, type Snapshot } from './snapshot.ts';
import { ago, countOf, quantity, span, streamNames } from './words.ts';

/** Something that an operator should know, and what to do about it. */
export interface Concern {
  readonly level: 'problem' | 'warning';
  readonly sentence: string;
  readonly cure: string;
}

/** The whole in one sentence: the gravest concern, or that all is well. */
export interface Verdict {
  readonly level: 'ok' | 'warning' | 'problem';
  readonly sentence: string;
}

/** A read that is due for longer than this, in seconds, is late; the sweep rings again after five. */
export const lateSeconds = 30;
const veryLateSeconds = 600;

export function verdictOf(snapshot: Snapshot): Verdict {
  const [gravest] = concernsOf(snapshot);
  if (gravest) return { level: gravest.level, sentence: gravest.sentence };
  return { level: 'ok', sentence: calmSentence(snapshot) };
}

/** What `/api/status` and `trunkline status --json` answer. */
export function statusOf(snapshot: Snapshot): object {
  return { verdict: verdictOf(snapshot), concerns: concernsOf(snapshot), ...snapshot };
}

/** Every concern, problems before warnings. */
export function concernsOf(snapshot: Snapshot): Concern[] {
  const concerns = [
    ...schemaConcerns(snapshot),
    ...loginConcerns(snapshot),
    ...known(snapshot.parked, []).map((parked) => parkedConcern(parked, isLogin(snapshot))),
    ...circuitConcerns(snapshot),
    ...lateConcerns(known(snapshot.backlog, []), known(snapshot.parked, [])),
    ...putOffConcerns(known(snapshot.backlog, [])),
    ...queueConcerns(snapshot),
    ...subscriptionConcerns(snapshot),
    ...failingConcerns(known(snapshot.backlog, [])),
    ...forbiddenConcerns(snapshot),
    ...inboxConcerns(snapshot),
    ...completenessConcerns(snapshot),
    ...sendConcerns(snapshot),
    ...rulesConcerns(snapshot),
    ...partialConcerns(snapshot),
    ...unknownConcerns(snapshot),
  ];
  return concerns.sort((a, b) => rank(a) - rank(b));
}

function rank({ level }: Concern): number {
  return level === 'problem' ? 0 : 1;
}

function calmSentence(snapshot: Snapshot): string {
  const due = known(snapshot.backlog, []).reduce((sum, each) => sum + each.due + each.putOff, 0);
  const begin = due === 0 ? 'Everything is mirrored' : `Everything is mirrored but ${countOf(due, 'read')} under way`;
  const newest = known(snapshot.freshness, [])
    .filter(({ kind, newestAt }) => (kind === 'thread' || kind === 'call') && newestAt !== null)
    .sort((a, b) => Number(b.newestAt) - Number(a.newestAt))[0];
  if (!newest?.newestAt) return 'Everything is ready; nothing has arrived yet.';
  const what = newest.kind === 'thread' ? 'the newest text arrived' : 'the newest call began';
  return `${begin}; ${what} ${ago(newest.newestAt, snapshot.takenAt)}.`;
}

function schemaConcerns({ schema, isRefusing }: Snapshot): Concern[] {
  const { isMigrated, takesWrites } = known(schema, { isMigrated: true, takesWrites: true });
  const unwritten = takesWrites
    ? 'The last delivery could not be stored, and was answered 503.'
    : 'Postgres takes no writes, so deliveries are answered 503 and nothing is mirrored.';
  const seeTo = 'See that DATABASE_URL names the primary, that its disk is not full, and what the log of `web` says.';
  const lacking = 'The database lacks migrations of this release.';
  return [
    ...(isRefusing || !takesWrites ? [{ level: 'problem', sentence: unwritten, cure: seeTo } as const] : []),
    ...(isMigrated ? [] : [{ level: 'problem', sentence: lacking, cure: 'Run `trunkline migrate`.' } as const]),
  ];
}

function isLogin({ credential }: Snapshot): boolean {
  return known(credential, undefined)?.use === 'login';
}

function loginConcerns({ credential }: Snapshot): Concern[] {
  const facts = known(credential, undefined);
  if (facts?.use !== 'login' || facts.state !== 'lost') return [];
  return [
    {
      level: 'problem',
      sentence: 'Somebody has to log in again, so nothing is read.',
      cure: `Run \`trunkline auth login\`; nothing is lost, and reading goes on by itself. The reason: ${facts.lastError ?? 'not kept'}.`,
    },
  ];
}

function parkedConcern({ kind, missingScope, reason }: ParkedStream, isLoggedIn: boolean): Concern {
  const what = streamNames[kind];
  if (missingScope === null) {
    // Who needs a person to log in says so; all else is the service's own refusal.
    const isLoginNeeded = reason.includes('trunkline auth login');
    const cure = isLoginNeeded || isLoggedIn ? 'Run `trunkline auth login`' : 'See to API_KEY';
    return {
      level: 'problem',
      sentence: `${what} are not read: ${isLoginNeeded ? 'somebody has to log in' : 'the service refuses the credential'}.`,
      cure: `${cure} (${reason}). Nothing is lost: reading goes on by itself.`,
    };
  }
  const grant = isLoggedIn
    ? `Run \`trunkline auth login\` and grant ${missingScope}`
    : `Grant ${missingScope} to the credential`;
  return {
    level: 'problem',
    sentence: `${what} are not read: the credential lacks the scope ${missingScope}.`,
    cure: `${grant}; reading goes on by itself, and nothing is lost.`,
  };
}

function circuitConcerns({ circuit }: Snapshot): Concern[] {
  if (!circuit || circuit.state === 'closed') return [];
  const pause = circuit.retryAfterMs === undefined ? '' : ` The next try is in ${span(circuit.retryAfterMs / 1_000)}.`;
  return [
    {
      level: 'problem',
      sentence: 'The service fails repeatedly, so reads rest.',
      cure: `What is owed is kept and read when it answers again.${pause} If it lasts, ask the service’s operator.`,
    },
  ];
}

function lateConcerns(backlog: readonly Backlog[], parked: readonly ParkedStream[]): Concern[] {
  const waiting = backlog.filter(({ kind }) => !parked.some((each) => each.kind === kind));
  const oldest = Math.max(0, ...waiting.map(({ oldestDueSeconds }) => oldestDueSeconds ?? 0));
  if (oldest <= lateSeconds) return [];
  const due = waiting.reduce((sum, each) => sum + each.due, 0);
  return [
    {
      level: oldest > veryLateSeconds ? 'problem' : 'warning',
      sentence: `The mirror is ${span(oldest)} behind: ${countOf(due, 'read')} ${due === 1 ? 'is' : 'are'} overdue.`,
      cure: 'See that a worker runs (`trunkline worker`); if one does, start another beside it.',
    },
  ];
}

/** No process but the worker's own knows that its reads rest; what they leave undone shows it to all. */
function putOffConcerns(backlog: readonly Backlog[]): Concern[] {
  const waiting = backlog.filter(({ longestPutOffSeconds }) => (longestPutOffSeconds ?? 0) > lateSeconds);
  if (waiting.length === 0) return [];
  const count = waiting.reduce((sum, { putOff }) => sum + putOff, 0);
  return [
    {
      level: 'warning',
      sentence: `The service does not take ${countOf(count, 'read')} at present.`,
      cure: `${count === 1 ? 'It is' : 'They are'} tried again by ${count === 1 ? 'itself' : 'themselves'}; the last error was: ${waiting[0]?.sampleErrors[0] ?? 'not kept'}`,
    },
  ];
}

function queueConcerns({ queues }: Snapshot): Concern[] {
  if (queues.state === 'unknown') return [];
  const { backend, isReachable, warnings } = queues.value;
  if (!isReachable) {
    const name = backend === 'redis' ? 'Redis' : 'the queue’s schema in Postgres';
    return [
      {
        level: 'problem',
        sentence: `The queue cannot be reached, so nothing new is read.`,
        cure: `See that ${name} runs${backend === 'redis' ? ' and that REDIS_URL is right' : ''}; deliveries are kept meanwhile.`,
      },
    ];
  }
  return warnings.map((warning) => {
    const [sentence = warning, cure = ''] = warning.split(/: (?=\w+ )/, 2);
    return { level: 'warning', sentence: `${sentence}.`, cure: `${cure.charAt(0).toUpperCase()}${cure.slice(1)}` };
  });
}

function subscriptionConcerns({ subscriptions, inbox }: Snapshot): Concern[] {
  if (subscriptions.state === 'unknown') return [];
  const { ours } = subscriptions.value;
  const disabled = ours.filter(({ isEnabled }) => !isEnabled).map(({ type }) => type ?? 'unknown');
  const cure = 'Run `trunkline subscriptions ensure`; it enables them, or prints what to create by hand.';
  if (ours.some(({ isEnabled }) => isEnabled)) {
    if (disabled.length === 0) return [];
    return [{ level: 'warning', sentence: `The subscription of ${disabled.join(', ')} is disabled.`, cure }];
  }
  // Subscriptions made by hand, for a receiver without PUBLIC_URL, are not known to be ours but deliver all the same.
  const arrives = known(inbox, undefined)?.types.some(({ lastDay }) => lastDay > 0) ?? false;
  if (arrives) return [];
  return [
    {
      level: 'warning',
      sentence: 'No webhook subscription delivers to this receiver, so nothing announces what is new.',
      cure: `The receiver registers them when it runs with PUBLIC_URL. ${cure}`,
    },
  ];
}

function failingConcerns(backlog: readonly Backlog[]): Concern[] {
  return backlog
    .filter(({ stubborn }) => stubborn > 0)
    .map(({ kind, stubborn, sampleErrors }) => ({
      level: 'warning',
      sentence: `${countOf(stubborn, 'read')} of ${streamNames[kind].toLowerCase()} failed three times or more.`,
      cure: `${stubborn === 1 ? 'It is' : 'They are'} tried again by ${stubborn === 1 ? 'itself' : 'themselves'}; the last error was: ${sampleErrors[0] ?? 'not kept'}`,
    }));
}

/** That a role may not hear recordings can be meant so; a mirror without some of its texts or calls is not. */
function forbiddenConcerns({ backlog, credential }: Snapshot): Concern[] {
  const who = bearers[known(credential, undefined)?.use ?? 'none'];
  return known(backlog, [])
    .filter(({ kind, forbidden }) => forbidden > 0 && kind !== 'recordings' && kind !== 'transcripts')
    .map(({ kind, forbidden }) => ({
      level: 'warning',
      sentence: `${who.name} may not read ${forbiddenOf(kind, forbidden)}.`,
      cure: `${who.cure}; what it may not read is asked for again within a day, or now with \`trunkline resync\`.`,
    }));
}

/** Who is refused, by what is shown to the service: a key has no user whose role could be changed. */
const bearers = {
  api_key: { name: 'The API key', cure: 'Give it the permission in the portal, or set API_KEY to one that has it' },
  login: {
    name: 'The role of who logged in',
    cure: 'Give it the permission in the portal, or let somebody who may run `trunkline auth login`',
  },
  none: { name: 'The credential of the worker', cure: 'Give it the permission in the portal' },
} as const;

function forbiddenOf(kind: Backlog['kind'], count: number): string {
  if (kind === 'users' || kind === 'lines') return `the account’s ${kind}`;
  return countOf(count, kind === 'thread' ? 'conversation' : 'call');
}

function inboxConcerns({ inbox }: Snapshot): Concern[] {
  const count = known(inbox, undefined)?.unrecognized.lastDay ?? 0;
  if (count === 0) return [];
  return [
    {
      level: 'warning',
      sentence: `${quantity(count)} ${count === 1 ? 'delivery' : 'deliveries'} of the last day could not be understood.`,
      cure: 'They are kept: `trunkline events list --unrecognized` and `events show` show them; report the shape.',
    },
  ];
}

function completenessConcerns({ completeness }: Snapshot): Concern[] {
  if (completeness.state === 'unknown') return [];
  const { unprovenCount, difference, lines } = completeness.value;
  const concerns: Concern[] = [];
  if (unprovenCount > 0) {
    concerns.push({
      level: 'warning',
      sentence: `${countOf(unprovenCount, 'hour')} of call history ${unprovenCount === 1 ? 'is' : 'are'} not proven complete.`,
      cure: `${unprovenCount === 1 ? 'It is' : 'They are'} compared again by ${unprovenCount === 1 ? 'itself' : 'themselves'}; the newest reason: ${difference ?? 'not kept'}`,
    });
  }
  const unexplained = lines.filter(({ state }) => state === 'unexplained');
  if (unexplained.length > 0) {
    concerns.push({
      level: 'warning',
      sentence: `Unread texts of ${unexplained.map(({ line }) => line).join(', ')} cannot be found: a possible gap.`,
      cure: 'If you know who may have written, put the numbers into a file: `trunkline backfill threads --numbers FILE`.',
    });
  }
  return concerns;
}

/** Such answers prove no absence (section 8): what is deleted at the service stays, and no rule texts into such a thread. */
function partialConcerns({ drift, takenAt }: Snapshot): Concern[] {
  const partial = known(drift, undefined)?.partial ?? [];
  const [latest] = partial;
  if (latest === undefined) return [];
  return [
    {
      level: 'warning',
      sentence: `Answers of ${partial.map(({ operation }) => operation).join(', ')} may be only a part of what there is.`,
      cure: `\`${latest.path}\` stands beside their data, last ${ago(latest.lastSeenAt, takenAt)}: the service may have begun to page its lists. Nothing is taken for deleted by them; look for a release of Trunkline that reads them.`,
    },
  ];
}

function rulesConcerns({ rules }: Snapshot): Concern[] {
  const { problem, version, mode, failedCount } = known(rules, undefined) ?? { problem: null, failedCount: 0 };
  const concerns: Concern[] = [];
  if (problem && mode !== 'off') {
    const sentence = version ? 'The rules file has a mistake, so the rules before it stay.' : 'No rules are in force.';
    concerns.push({ level: 'warning', sentence, cure: problem.split('\n')[0] ?? problem });
  }
  if (failedCount > 0) {
    concerns.push({
      level: 'warning',
      sentence: `${countOf(failedCount, 'action')} of rules failed in the last day, or may have.`,
      cure: "See ops.rule_actions (state in ('failed', 'unclear')): reason says why.",
    });
  }
  return concerns;
}

function sendConcerns({ sends }: Snapshot): Concern[] {
  if (sends.state === 'unknown') return [];
  const { control, counts } = sends.value;
  const concerns: Concern[] = [];
  const open = counts.NEEDS_HUMAN ?? 0;
  if (open > 0) {
    concerns.push({
      level: 'warning',
      sentence: `${countOf(open, 'automatic text')} may or may not have gone out.`,
      cure: 'See `trunkline sends list --state NEEDS_HUMAN`, look into the thread, and `trunkline sends settle`. Nothing is sent again by itself.',
    });
  }
  if (control.isPaused) {
    concerns.push({
      level: control.by === 'ledger' ? 'problem' : 'warning',
      sentence: 'All automatic texts are paused.',
      cure: `The reason: ${control.reason}. \`trunkline sends resume\` lets them out again.`,
    });
  }
  return concerns;
}

function unknownConcerns(snapshot: Snapshot): Concern[] {
  const unknown = Object.entries(snapshot).flatMap(([name, part]: [string, Part<unknown> | unknown]) =>
    isUnknown(part) ? [{ name, reason: part.reason }] : [],
  );
  const [first] = unknown;
  if (first === undefined) return [];
  return [
    {
      level: 'warning',
      sentence: `Not all could be asked: ${unknown.map(({ name }) => name).join(', ')}.`,
      cure: `Postgres said: ${first.reason}`,
    },
  ];
}

function isUnknown(part: unknown): part is { state: 'unknown'; reason: string } {
  return typeof part === 'object' && part !== null && 'state' in part && part.state === 'unknown' && 'reason' in part;
}
