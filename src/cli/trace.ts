import type { Database } from '../db/database.ts';
import { type Trace, type TraceKind, trace, traceKinds } from '../ops/trace.ts';
import { toType } from '../shared/command-name.ts';
import { UserError, WrongUse } from '../shared/errors.ts';
import { countOf } from '../shared/format.ts';
import { maskKey, maskNumbers } from '../shared/masking.ts';
import { openDatabase } from './environment.ts';
import { type Output, renderColumns } from './output.ts';
import { keyOf } from './resync.ts';

interface Subject {
  readonly kind: TraceKind;
  readonly key: string;
}

/** The trace of one item. Rejects with `UserError` if nothing is known about it. */
export async function traceOne(
  what: string,
  id: string | undefined,
  { since }: { readonly since?: Date },
): Promise<Output> {
  const subjects = subjectsOf(what, id);
  await using database = await openDatabase('trace');
  const { timeZone } = database.settings;
  const { subject, found } = await findTrace(database.db, subjects, since);
  return {
    json: { ...subject, key: nameOf(subject), timeZone, ...found, steps: timed(found) },
    text: render(subject, found, timeZone),
  };
}

const words: Readonly<Record<TraceKind, string>> = {
  delivery: 'delivery',
  call: 'call',
  thread: 'thread',
  message: 'text',
};

/** The possible meanings of the arguments: a bare id can belong to a delivery or a text. Throws `WrongUse`. */
function subjectsOf(what: string, id: string | undefined): Subject[] {
  const kind = traceKinds.find((each) => each === what);
  if (kind === undefined && id !== undefined) {
    throw new WrongUse(
      `"${maskNumbers(what)}" is none of ${traceKinds.join(', ')}: ${toType('trace call 1783385492.057900')}.`,
    );
  }
  const key = kind === undefined ? what : (id ?? '');
  if (kind === 'call' || kind === 'thread') return [{ kind, key: keyOf(kind, key || undefined) }];
  if (kind === undefined && key.includes('/')) return [{ kind: 'thread', key: keyOf('thread', key) }];
  if (kind === undefined && key.includes('.')) return [{ kind: 'call', key: keyOf('call', key) }];
  if (!/^[1-9]\d{0,17}$/.test(key)) {
    throw new WrongUse('Name a delivery or a text by its id, a call by its id, or a thread by line/number.');
  }
  return kind === undefined
    ? [
        { kind: 'delivery', key },
        { kind: 'message', key },
      ]
    : [{ kind, key }];
}

async function findTrace(db: Database, subjects: readonly Subject[], since: Date | undefined) {
  const traces: { subject: Subject; found: Trace }[] = [];
  for (const subject of subjects) {
    const found = await trace(db, subject.kind, subject.key, since);
    if (found) traces.push({ subject, found });
  }
  const [only, other] = traces;
  const [{ key } = { key: '' }] = subjects;
  if (only && other) {
    throw new WrongUse(
      `${key} is a delivery and a text: ${toType(`trace delivery ${key}`)} or ${toType(`trace message ${key}`)}.`,
    );
  }
  if (only) return only;
  const names = subjects.map((each) => `${words[each.kind]} ${nameOf(each)}`).join(' and no ');
  // A line or a person's number alone doesn't identify a thread.
  const hint =
    subjects.length > 1 && key.length >= 7
      ? ` If it is a phone number, name the thread: ${toType('trace LINE/NUMBER')}.`
      : '';
  throw new UserError(
    `Nothing is known of a ${names}: ${toType('events list')} shows the deliveries that are kept.${hint}`,
  );
}

/** The key with phone numbers masked. */
function nameOf({ kind, key }: Subject): string {
  return kind === 'thread' ? maskKey(kind, key) : key;
}

/** A thread is printed with masked numbers, like everything else in the output. */
function asked(subject: Subject): string {
  return subject.kind === 'thread' ? 'LINE/NUMBER' : subject.key;
}

/** The steps, with the milliseconds since the previous one. */
function timed({ steps }: Trace) {
  return steps.map((each, at) => ({ ...each, afterMs: Number(each.at) - Number(steps[at - 1]?.at ?? each.at) }));
}

function render(subject: Subject, found: Trace, timeZone: string): string {
  const rows = timed(found).map(({ at, afterMs, step, subject: of, what }, place) => {
    return [toTheMillisecond(at, timeZone), place === 0 ? '' : duration(afterMs), step, of, what];
  });
  return [
    `The ${words[subject.kind]} ${nameOf(subject)}, in times of ${timeZone}:`,
    '',
    ...(rows.length > 0 ? [renderColumns(['time', 'after', 'step', 'of', 'what'], rows)] : []),
    ...found.pending.map(({ target, dueAt, attempts, error }) => {
      const failed = attempts > 0 ? `; ${countOf(attempts, 'read')} failed${error === null ? '' : `: ${error}`}` : '';
      return `Pending: ${target} is read at ${toTheMillisecond(dueAt, timeZone)}${failed}.`;
    }),
    ...(subject.kind === 'delivery'
      ? []
      : [
          `Rules whose condition was false leave no row: ${toType(`rules explain ${asked(subject)}`)} says which clause it was.`,
        ]),
    ...(found.isCut ? ['Only the newest are shown: `--since` chooses another time.'] : []),
  ].join('\n');
}

function toTheMillisecond(moment: Date, timeZone: string): string {
  // The Swedish format is ISO 8601.
  return `${moment.toLocaleString('sv-SE', { timeZone })}.${String(moment.getUTCMilliseconds()).padStart(3, '0')}`;
}

function duration(ms: number): string {
  if (ms < 1_000) return `+${ms} ms`;
  const seconds = ms / 1_000;
  if (seconds < 100) return `+${seconds.toFixed(1)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `+${minutes} min` : `+${Math.round(minutes / 60)} h`;
}
