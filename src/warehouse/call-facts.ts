/*
 * Everything that can be derived from a call and its legs. `writeCalls` stores it with the call, rules and reports read
 * the stored columns, and `refreshFacts` computes it again for mirrored calls.
 *
 * The specification doesn't define the fields of legs (section 2.9). What they don't state is unknown, and never
 * guessed.
 */

/** How far the caller of a call got: the furthest point that its legs show. */
export const reachedValues = ['menu', 'queue', 'rang', 'mailbox', 'person', 'unknown'] as const;
export type Reached = (typeof reachedValues)[number];

/** Which inbound calls that nobody answered need a call-back. */
export interface CallBackNeed {
  /** How far their callers came. */
  readonly reached: readonly Reached[];
  /** How many seconds they lasted at least. */
  readonly seconds: number;
}

/** One end of a call or of a leg. */
interface Parties {
  readonly callerType: string | null;
  readonly callerNumber: string | null;
  readonly calledType: string | null;
  readonly calledName: string | null;
  readonly calledNumber: string | null;
}

/** The columns of a mirrored call that its facts depend on. Times are Unix milliseconds. Null: not reported. */
export interface CallColumns extends Parties {
  readonly direction: string | null;
  readonly status: string | null;
  readonly statusCode: number | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly talkSeconds: number | null;
  readonly isRecorded: boolean | null;
  readonly isAbandoned: boolean | null;
  readonly accountNumber: string | null;
  /** Its legs were read (there may be none), so they attribute the call. */
  readonly hasLegs: boolean;
}

/** The columns of a leg that the facts of its call depend on. */
export interface LegColumns extends Parties {
  readonly ordinal: number;
  readonly status: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly durationSeconds: number | null;
  readonly talkSeconds: number | null;
  readonly isRecorded: boolean | null;
}

/** The only user with an extension at a given time. Null if nobody is known, or several shared it. */
export type UserAt = (extension: string, moment: number) => string | null;

/** A call involved an extension, queue, huntgroup or number in one role. A row of `warehouse.call_attributions`. */
export interface Attribution {
  readonly kind: 'extension' | 'queue' | 'huntgroup' | 'number';
  readonly endpoint: string;
  readonly role: 'answered' | 'rang' | 'placed' | 'entered' | 'transferred_to' | 'transferred_out';
  readonly userId: string | null;
  readonly talkSeconds: number | null;
  readonly source: 'legs' | 'summary';
}

/** Columns of `warehouse.calls`. */
export interface FactColumns {
  readonly legs_wait_seconds: number | null;
  readonly legs_ring_seconds: number | null;
  readonly menu_seconds: number | null;
  readonly reached: Reached;
  readonly is_message_left: boolean;
  readonly message_seconds: number | null;
  readonly abandoned_in: 'menu' | 'queue' | 'ringing' | 'unknown' | null;
  readonly answered_user_id: string | null;
  readonly placed_user_id: string | null;
  readonly queue: string | null;
  readonly huntgroup: string | null;
}

export interface CallFacts {
  readonly columns: FactColumns;
  /** Empty unless the call was read with its legs and has a start. */
  readonly attributions: readonly Attribution[];
}

/** Computes the facts of a call. Pure. `legs` are the ones that exist, in order. */
export function callFacts(call: CallColumns, legs: readonly LegColumns[], userAt: UserAt): CallFacts {
  const interpreted = legs.map(interpretLeg);
  const path = pathOf(call, interpreted);
  const { startedAt } = call;
  const userOf = (extension: string | null | undefined) =>
    extension && startedAt !== null ? userAt(extension, startedAt) : null;
  return {
    columns: {
      ...times(call, interpreted),
      ...howFar(call, interpreted),
      abandoned_in: abandonedIn(call, interpreted, path),
      answered_user_id: userOf(path.answeredBy),
      placed_user_id: userOf(path.placedBy),
      queue: path.queue,
      huntgroup: path.huntgroup,
    },
    attributions: call.hasLegs && startedAt !== null ? attributions(call, interpreted, userOf) : [],
  };
}

/** What a party is, by its type: the types of section 2.9, and those seen in captured deliveries. */
const places = {
  ivr: 'menu',
  queue: 'queue',
  huntgroup: 'huntgroup',
  user: 'user',
  phone: 'user',
  extension: 'user',
  external: 'external',
  mailbox: 'mailbox',
  voicemail: 'mailbox',
} as const;
type Place = (typeof places)[keyof typeof places];

/** A leg, with its words and times interpreted. */
export interface InterpretedLeg extends LegColumns {
  readonly caller: Place | undefined;
  readonly called: Place | undefined;
  /** The leg states a type for the called party, known or not. */
  readonly isTyped: boolean;
  readonly endpoint: string;
  readonly isAnswered: boolean;
  readonly talkAt: number | null;
}

export function interpretLeg(leg: LegColumns): InterpretedLeg {
  const { startedAt, durationSeconds, talkSeconds } = leg;
  const after = (seconds: number | null) =>
    startedAt === null || seconds === null ? null : startedAt + seconds * 1000;
  return {
    ...leg,
    caller: placeOf(leg.callerType),
    called: placeOf(leg.calledType),
    isTyped: wordOf(leg.calledType) !== '',
    endpoint: endpointOf(leg),
    isAnswered: (talkSeconds ?? 0) > 0 || wordOf(leg.status).startsWith('answer'),
    endedAt: leg.endedAt ?? after(durationSeconds),
    talkAt: after(durationSeconds === null || talkSeconds === null ? null : durationSeconds - talkSeconds),
  };
}

/** Limits index entries. Real endpoints have about a dozen characters. */
const longestEndpoint = 200;

/** The number of a called party. For a queue or huntgroup without a number, its name. */
function endpointOf({ calledNumber, calledName }: Parties): string {
  return shortened(calledNumber || calledName || '');
}

function shortened(name: string): string {
  return name.length > longestEndpoint ? [...name].slice(0, longestEndpoint).join('') : name;
}

const isGroup = (place: Place | undefined) => place === 'queue' || place === 'huntgroup';
const attributes = (place: Place | undefined) => place === 'user' || isGroup(place);
export const isTelephone = (place: Place | undefined) => place === 'user' || place === 'external';

const extreme = (pick: (...all: number[]) => number) => (moments: readonly (number | null)[]) => {
  const known = moments.filter((each) => each !== null);
  return known.length > 0 ? pick(...known) : undefined;
};
const earliest = extreme(Math.min);
export const latest = extreme(Math.max);

type Times = Pick<FactColumns, 'legs_wait_seconds' | 'legs_ring_seconds' | 'menu_seconds'>;

/**
 * How long the caller waited, telephones rang and menus played, derived from the legs. Talking after the first answer,
 * ringing after a transfer and the menu before a queue don't count as waiting.
 */
function times(call: CallColumns, legs: readonly InterpretedLeg[]): Times {
  const { direction, startedAt } = call;
  const until = waitedUntil(call, legs);
  const isTimed = legs.every((leg) => leg.startedAt !== null);
  const began = (isThat: (leg: InterpretedLeg) => boolean, limit = Number.POSITIVE_INFINITY) =>
    earliest(legs.filter((leg) => isThat(leg) && (leg.startedAt ?? limit) <= limit).map((leg) => leg.startedAt));

  let [wait, ring, menu]: (number | undefined)[] = [];
  if (direction === 'inbound') {
    const isInTime = ({ startedAt: at }: InterpretedLeg) => at === null || (until !== undefined && at <= until);
    const isQueued =
      isGroup(placeOf(call.calledType)) ||
      legs.some((leg) => (isGroup(leg.called) || isGroup(leg.caller)) && isInTime(leg));
    const waitsFrom = isQueued ? began(({ called }) => isGroup(called), until) : startedAt;
    wait = elapsed(waitsFrom, until);
    if (isTimed)
      ring = elapsed(
        until === undefined ? undefined : (began(({ called }) => called === 'user', until) ?? until),
        until,
      );
    if (isTimed && legs.length > 0 && legs.every((leg) => leg.isTyped)) {
      const left = began(({ called }) => called !== undefined && called !== 'menu');
      menu = elapsed(startedAt, left ?? call.endedAt ?? latest(legs.map((leg) => leg.endedAt)));
    }
  } else if (direction === 'outbound' && isTimed) {
    ring = elapsed(
      began(() => true),
      until,
    );
  }
  return { legs_wait_seconds: whole(wait), legs_ring_seconds: whole(ring), menu_seconds: whole(menu) };
}

/** When the waiting ended: the first answer was connected, the mailbox answered, or the call ended unanswered. */
function waitedUntil(call: CallColumns, legs: readonly InterpretedLeg[]): number | undefined {
  switch (call.status) {
    case 'answered': {
      const talks = legs.filter(({ called, talkSeconds }) => isTelephone(called) && (talkSeconds ?? 0) > 0);
      return talks.every(({ talkAt }) => talkAt !== null) ? earliest(talks.map(({ talkAt }) => talkAt)) : undefined;
    }
    case 'voicemail':
      return legs.toSorted(byStart).at(-1)?.talkAt ?? undefined;
    case 'missed':
      return legs.length > 0 ? (call.endedAt ?? latest(legs.map(({ endedAt }) => endedAt))) : undefined;
    default:
      return undefined;
  }
}

/** Legs without a start come last. */
function byStart(a: InterpretedLeg, b: InterpretedLeg): number {
  const [first, second] = [a.startedAt ?? Number.POSITIVE_INFINITY, b.startedAt ?? Number.POSITIVE_INFINITY];
  return first === second ? a.ordinal - b.ordinal : first - second;
}

/** Milliseconds. Undefined if an end is unknown. */
export function elapsed(from: number | null | undefined, until: number | null | undefined): number | undefined {
  return from == null || until == null ? undefined : until - from;
}

const largestInteger = 2 ** 31 - 1;

/** Whole seconds. Null if unknown, negative, or too large for an `integer`. */
export function whole(milliseconds: number | undefined): number | null {
  return milliseconds === undefined || milliseconds < 0 ? null : storable(Math.round(milliseconds / 1000));
}

/** Null if the sum is too large for an `integer`. */
function storable(seconds: number | null): number | null {
  return seconds !== null && seconds > largestInteger ? null : seconds;
}

const sum = (all: readonly number[]) => all.reduce((total, each) => total + each, 0);

/** The parties that a call passed through: its legs; if no leg states a type, the ends of the call itself. */
export function endsOf(
  call: CallColumns,
  legs: readonly InterpretedLeg[],
): readonly (InterpretedLeg & { readonly source: 'legs' | 'summary' })[] {
  const typed = legs.filter(({ caller, called }) => attributes(caller) || attributes(called));
  if (typed.length > 0) return typed.map((leg) => ({ ...leg, source: 'legs' }));
  const isAnswered = call.status === 'answered';
  return [{ ...interpretLeg({ ...call, ordinal: 1, durationSeconds: null }), isAnswered, source: 'summary' }];
}

/** Who answered and placed a call; and the group it was answered from, or else the last group it entered. */
interface Path {
  readonly answeredBy: string | null | undefined;
  readonly placedBy: string | null | undefined;
  readonly queue: string | null;
  readonly huntgroup: string | null;
}

function pathOf(call: CallColumns, legs: readonly InterpretedLeg[]): Path {
  const ends = endsOf(call, legs);
  const answers = legs.filter(({ called, isAnswered }) => isTelephone(called) && isAnswered);
  const firstAnswer = Math.min(...answers.map(({ ordinal }) => ordinal));
  const lastGroup = (place: 'queue' | 'huntgroup') =>
    ends.findLast(({ called, ordinal }) => called === place && ordinal <= firstAnswer)?.endpoint || null;
  return {
    answeredBy: ends.filter(({ called, isAnswered }) => called === 'user' && isAnswered).toSorted(byStart)[0]
      ?.calledNumber,
    placedBy: ends.find(({ caller, ordinal }) => caller === 'user' && ordinal === 1)?.callerNumber,
    queue: lastGroup('queue'),
    huntgroup: lastGroup('huntgroup'),
  };
}

function attributions(
  call: CallColumns,
  legs: readonly InterpretedLeg[],
  userOf: (extension: string) => string | null,
): Attribution[] {
  const merged = new Map<string, Attribution>();
  const touch = (
    kind: Attribution['kind'],
    endpoint: string | null,
    role: Attribution['role'],
    source: Attribution['source'],
    talkSeconds: number | null = null,
  ) => {
    const name = shortened(endpoint ?? '');
    if (name === '') return;
    const key = JSON.stringify([kind, name, role]);
    const before = merged.get(key);
    const talk = before?.talkSeconds == null ? talkSeconds : before.talkSeconds + (talkSeconds ?? 0);
    merged.set(key, {
      ...{ kind, endpoint: name, role, source, talkSeconds: talk },
      userId: kind === 'extension' ? userOf(name) : null,
    });
  };
  for (const { caller, called, callerNumber, calledNumber, source, ...end } of endsOf(call, legs)) {
    const talk = end.isAnswered ? end.talkSeconds : null;
    if (caller === 'user' && end.ordinal === 1) touch('extension', callerNumber, 'placed', source, end.talkSeconds);
    if (called === 'user') touch('extension', calledNumber, end.isAnswered ? 'answered' : 'rang', source, talk);
    // Before a telephone has taken the call, its next leg isn't a transfer. A call is transferred to a person, a group
    // or outside.
    const isTaken = legs.some((each) => each.ordinal < end.ordinal && isTelephone(each.called) && each.isAnswered);
    if (caller === 'user' && called !== 'mailbox' && isTaken) {
      if (called === 'user') touch('extension', calledNumber, 'transferred_to', source);
      touch('extension', callerNumber, 'transferred_out', source);
    }
    if (called === 'queue' || called === 'huntgroup') touch(called, end.endpoint, 'entered', source);
  }
  touch('number', call.accountNumber, call.direction === 'outbound' ? 'placed' : 'entered', 'summary');
  return [...merged.values()].map((each) => ({ ...each, talkSeconds: storable(each.talkSeconds) }));
}

/**
 * How far the caller had come before giving up. A missed call that never left the menu has no abandoned flag, but only
 * the caller can have ended it.
 */
function abandonedIn(
  call: CallColumns,
  legs: readonly InterpretedLeg[],
  { queue, huntgroup }: Path,
): FactColumns['abandoned_in'] {
  if (call.direction !== 'inbound') return null;
  if (call.isAbandoned && call.status !== 'answered' && call.status !== 'voicemail') {
    if (queue !== null || huntgroup !== null) return 'queue';
    if (legs.length === 0) return placeOf(call.calledType) === 'user' ? 'ringing' : 'unknown';
    if (legs.some(({ called }) => isTelephone(called) || called === 'mailbox')) return 'ringing';
    return legs.every(({ isTyped }) => isTyped) ? 'menu' : 'unknown';
  }
  const isMenuOnly = legs.length > 0 && legs.every(({ called }) => called === 'menu');
  return call.status === 'missed' && isMenuOnly ? 'menu' : null;
}

/** A mailbox connected for less than this has recorded no message. */
const minMessageSeconds = 3;

/**
 * How far a call got; whether a mailbox holds a message (not a hang-up during the greeting); and how long mailboxes
 * were connected. Rules should treat `unknown` as "not far enough". Without legs only the status of the call counts,
 * because the service lists legs late.
 */
function howFar(
  call: CallColumns,
  legs: readonly InterpretedLeg[],
): Pick<FactColumns, 'reached' | 'is_message_left' | 'message_seconds'> {
  const mailboxes = legs.filter(({ called }) => called === 'mailbox');
  const isVoicemail = wordOf(call.status) === 'voicemail';
  const isMailbox = isVoicemail || mailboxes.length > 0;
  const known = mailboxes.flatMap(({ talkSeconds }) => talkSeconds ?? []);
  // The talk time of the whole call may belong to a person who transferred the caller, or to a menu.
  const ofCall = isVoicemail && !legs.some(({ called }) => called === 'menu') ? call.talkSeconds : null;
  const seconds = known.length > 0 ? sum(known) : ofCall;
  const isRecorded = [call, ...mailboxes].some((each) => each.isRecorded === true);
  return {
    reached: furthest(call, legs, isMailbox),
    is_message_left: isMailbox && (isRecorded || (seconds ?? 0) >= minMessageSeconds),
    message_seconds: storable(seconds),
  };
}

function furthest(call: CallColumns, legs: readonly InterpretedLeg[], isMailbox: boolean): Reached {
  // All status codes from 1 on mean that somebody answered.
  const isAnswered = wordOf(call.status) === 'answered' || (call.statusCode ?? 0) >= 1;
  if (isAnswered || legs.some((leg) => isTelephone(leg.called) && leg.isAnswered)) return 'person';
  // An outbound call has no caller to track: its legs show whom we rang.
  if (wordOf(call.direction) === 'outbound') return 'unknown';
  if (isMailbox) return 'mailbox';
  // On a leg between two outside parties, no telephone of ours rings.
  const isOutside = (place: Place | undefined) => place === undefined || place === 'external';
  if (legs.some(({ caller, called }) => called === 'user' || (called === 'external' && !isOutside(caller))))
    return 'rang';
  if (legs.some(({ caller, called }) => isGroup(called) || isGroup(caller))) return 'queue';
  if (legs.length === 0) return 'unknown';
  if (legs.every(({ called }) => called === 'menu')) return 'menu';
  return legs.some(({ isTyped }) => isTyped) ? 'unknown' : byCalledType(call);
}

/**
 * The place that the call itself names, for legs without types. An outside party tells nothing about our telephones.
 */
function byCalledType({ calledType }: CallColumns): Reached {
  const place = placeOf(calledType);
  if (isGroup(place)) return 'queue';
  if (place === 'user') return 'rang';
  return place === 'menu' || place === 'mailbox' ? place : 'unknown';
}

function placeOf(type: string | null): Place | undefined {
  const word = wordOf(type);
  return Object.hasOwn(places, word) ? places[word as keyof typeof places] : undefined;
}

/** Legs write their words in any case: `NO ANSWER`, `Hunt-Group`. */
function wordOf(text: string | null): string {
  return (text ?? '').toLowerCase().replace(/[^a-z]+/g, '');
}
