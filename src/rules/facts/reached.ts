/** How far the caller of a call came: the furthest of what its legs show. */
export const reachedValues = ['menu', 'queue', 'rang', 'mailbox', 'person', 'unknown'] as const;
export type Reached = (typeof reachedValues)[number];

/** The part of a mirrored call that tells how far it came; null where the service did not say. */
export interface CallEnds {
  readonly direction: string | null;
  readonly status: string | null;
  readonly statusCode: number | null;
  readonly calledType: string | null;
  readonly talkSeconds: number | null;
  readonly isRecorded: boolean | null;
}

/** The same of one of its legs. */
export interface LegEnds {
  readonly callerType: string | null;
  readonly calledType: string | null;
  readonly status: string | null;
  readonly talkSeconds: number | null;
  readonly isRecorded: boolean | null;
}

export interface HowFar {
  readonly reached: Reached;
  /** A mailbox holds a message of the caller, not a hang-up at its greeting. */
  readonly isMessageLeft: boolean;
}

/** Places by the types of parties: those of section 2.9, and those of captured deliveries. */
const places = {
  ivr: 'menu',
  queue: 'queue',
  huntgroup: 'queue',
  user: 'telephone',
  phone: 'telephone',
  extension: 'telephone',
  external: 'telephone',
  mailbox: 'mailbox',
  voicemail: 'mailbox',
} as const;
type Place = (typeof places)[keyof typeof places];

/** A mailbox that was connected for less than this took no message. */
const minMessageSeconds = 3;

/**
 * How far a call came. The fields of legs are not specified (section 2.9), so what they do not say stays `unknown`, which rules
 * should take for "not far enough". Without any leg only the status of the call counts: the service lists legs late.
 */
export function howFar(call: CallEnds, legs: readonly LegEnds[]): HowFar {
  const steps = legs.map((leg) => ({ leg, place: placeOf(leg.calledType) }));
  const mailboxes = steps.filter(({ place }) => place === 'mailbox').map(({ leg }) => leg);
  const isVoicemail = wordOf(call.status) === 'voicemail';
  const isMailbox = isVoicemail || mailboxes.length > 0;
  const isMessageLeft =
    isMailbox &&
    holdsMessage(
      call,
      mailboxes,
      isVoicemail,
      steps.some(({ place }) => place === 'menu'),
    );
  const furthest = (): Reached => {
    if (isAnswered(call) || steps.some(({ leg, place }) => place === 'telephone' && isLegAnswered(leg)))
      return 'person';
    // On a call of ours there is no caller to come anywhere: its legs show whom we rang.
    if (wordOf(call.direction) === 'outbound') return 'unknown';
    if (isMailbox) return 'mailbox';
    if (steps.some(({ leg, place }) => place === 'telephone' && !isFromOutside(leg))) return 'rang';
    if (steps.some(({ leg, place }) => place === 'queue' || placeOf(leg.callerType) === 'queue')) return 'queue';
    if (legs.length === 0) return 'unknown';
    if (steps.every(({ place }) => place === 'menu')) return 'menu';
    return legs.every(({ calledType }) => wordOf(calledType) === '') ? byCalledType(call) : 'unknown';
  };
  return { reached: furthest(), isMessageLeft };
}

function holdsMessage(
  call: CallEnds,
  mailboxes: readonly LegEnds[],
  isVoicemail: boolean,
  isFromMenu: boolean,
): boolean {
  if (call.isRecorded === true || mailboxes.some(({ isRecorded }) => isRecorded === true)) return true;
  const known = mailboxes.flatMap(({ talkSeconds }) => talkSeconds ?? []);
  // The talk time of the whole call can be that of a person who passed the caller on, or of a menu.
  const ofCall = isVoicemail && !isFromMenu ? (call.talkSeconds ?? 0) : 0;
  const seconds = known.length > 0 ? known.reduce((sum, each) => sum + each, 0) : ofCall;
  return seconds >= minMessageSeconds;
}

/** Where the call itself says that it went, for legs without types. An outside party says nothing about telephones of ours. */
function byCalledType({ calledType }: CallEnds): Reached {
  const place = wordOf(calledType) === 'external' ? undefined : placeOf(calledType);
  return place === 'telephone' ? 'rang' : (place ?? 'unknown');
}

/** A leg from outside to outside rings at no telephone that one of ours passed the caller on to. */
function isFromOutside({ callerType, calledType }: LegEnds): boolean {
  return wordOf(calledType) === 'external' && ['external', ''].includes(wordOf(callerType));
}

/** All status codes from 1 report that somebody answered. */
function isAnswered({ status, statusCode }: CallEnds): boolean {
  return wordOf(status) === 'answered' || (statusCode ?? 0) >= 1;
}

function isLegAnswered({ status, talkSeconds }: LegEnds): boolean {
  return (talkSeconds ?? 0) > 0 || wordOf(status).startsWith('answer');
}

function placeOf(type: string | null): Place | undefined {
  const word = wordOf(type);
  return Object.hasOwn(places, word) ? places[word as keyof typeof places] : undefined;
}

/** Legs write their words in any case: `NO ANSWER`, `Hunt-Group`. */
function wordOf(text: string | null): string {
  return (text ?? '').toLowerCase().replace(/[^a-z]+/g, '');
}
