import { keyOf } from '../actions/reads.ts';
import { toType } from '../shared/command-name.ts';
import { UserError, WrongUse } from '../shared/errors.ts';
import { duration } from '../shared/format.ts';
import { maskKey, maskNumbers } from '../shared/masking.ts';
import { type TraceKind, trace, traceKinds } from '../trace.ts';
import { openDatabase } from './environment.ts';
import { type Output, renderColumns } from './output.ts';

/** The trace of one item. Rejects with `UserError` if nothing is known about it. */
export async function traceOne(
  what: string,
  id: string | undefined,
  { since }: { readonly since?: Date },
): Promise<Output> {
  const { kinds, key } = subjectOf(what, id);
  await using database = await openDatabase('trace');
  const { timeZone } = database.settings;
  const all = await Promise.all(
    kinds.map(async (kind) => ({ kind, found: await trace(database.db, kind, key, since) })),
  );
  const [one, other] = all.flatMap(({ kind, found }) => (found ? [{ kind, found }] : []));
  if (!one) throw unknown(kinds, key);
  if (other) {
    const [delivery, text] = kinds.map((kind) => toType(`trace ${kind} ${key}`));
    throw new WrongUse(`${key} is a delivery and a text: ${delivery} or ${text}.`);
  }
  const { kind, found } = one;
  const name = nameOf(kind, key);
  const steps = found.steps.map((each, at) => ({
    ...each,
    afterMs: Number(each.at) - Number(found.steps[at - 1]?.at ?? each.at),
  }));
  const rows = steps.map(({ at, afterMs, step, subject, what: told }) => [
    toTheMillisecond(at, timeZone),
    afterMs < 10_000 ? `+${afterMs} ms` : `+${duration(afterMs / 1_000)}`,
    step,
    subject,
    told,
  ]);
  const explain = toType(`rules explain ${kind === 'thread' ? 'LINE/NUMBER' : key}`);
  return {
    json: { kind, key: name, timeZone, steps, isCut: found.isCut },
    text: [
      `The ${wordOf(kind)} ${name}, in times of ${timeZone}:\n`,
      renderColumns(['time', 'after', 'step', 'of', 'what'], rows),
      ...(kind === 'delivery'
        ? []
        : [`Rules whose condition was false leave no row: ${explain} says which clause it was.`]),
      ...(found.isCut ? ['Only the newest are shown: `--since` chooses another time.'] : []),
    ].join('\n'),
  };
}

const wordOf = (kind: TraceKind) => (kind === 'message' ? 'text' : kind);

/** What the arguments name: a bare id can belong to a delivery or a text. Throws `WrongUse`. */
function subjectOf(what: string, id: string | undefined): { kinds: readonly TraceKind[]; key: string } {
  const kind = traceKinds.find((each) => each === what);
  if (kind === undefined && id !== undefined) {
    throw new WrongUse(
      `"${maskNumbers(what)}" is none of ${traceKinds.join(', ')}: ${toType('trace call 1783385492.057900')}.`,
    );
  }
  const key = kind === undefined ? what : (id ?? '');
  if (kind === 'thread' || (kind === undefined && key.includes('/')))
    return { kinds: ['thread'], key: keyOf('thread', key) };
  if (kind === 'call' || (kind === undefined && key.includes('.'))) return { kinds: ['call'], key: keyOf('call', key) };
  if (!/^[1-9]\d{0,17}$/.test(key)) {
    throw new WrongUse('Name a delivery or a text by its id, a call by its id, or a thread by line/number.');
  }
  return { kinds: kind === undefined ? ['delivery', 'message'] : [kind], key };
}

/** Numbers are masked, as everywhere in the output. */
function nameOf(kind: TraceKind, key: string): string {
  return kind === 'thread' ? maskKey(kind, key) : key;
}

function unknown(kinds: readonly TraceKind[], key: string): UserError {
  const names = kinds.map((kind) => `${wordOf(kind)} ${nameOf(kind, key)}`).join(' and no ');
  // A line or a person's number alone doesn't identify a thread.
  const isNumber = kinds.length > 1 && key.length >= 7;
  const hint = isNumber ? ` If it is a phone number, name the thread: ${toType('trace LINE/NUMBER')}.` : '';
  return new UserError(
    `Nothing is known of a ${names}: ${toType('list deliveries')} shows the deliveries that are kept.${hint}`,
  );
}

function toTheMillisecond(moment: Date, timeZone: string): string {
  // The Swedish format is ISO 8601.
  return `${moment.toLocaleString('sv-SE', { timeZone })}.${String(moment.getUTCMilliseconds()).padStart(3, '0')}`;
}
