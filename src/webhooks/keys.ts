import { eventTypeOf } from '../shared/event-types.ts';
import { plainKey } from '../shared/json.ts';

/** The fields that an extraction reads, by the normalised names under which deliveries may carry them. */
const fields = new Set([
  ...['callid', 'callids', 'call', 'uniqueid', 'id', 'recording', 'status'],
  ...['messageid', 'msgid', 'smsid', 'direction', 'line', 'smsline', 'number', 'phonenumber', 'phone'],
  ...['fromnumber', 'from', 'sender', 'snumber'],
  ...['tonumber', 'to', 'receiver', 'recipient', 'recipients', 'groupparticipants', 'participants'],
  ...['group', 'conversation', 'thread'],
  ...['webhooktype', 'type', 'event'],
]);

const wrappers = new Set(
  (
    'data event payload body result object resource record details content notification call sms message transcript ' +
    'transcription events items records messages calls entries batch notifications conversation thread'
  ).split(' '),
);

/** Under these keys, a string is a person's text, which is never redacted, unless it is JSON. */
const texts = new Set(['message', 'text', 'content', 'sms']);

/** The value of a key that ends with one of these, or its plural, must not be stored. */
const secretEnding =
  /(?:url|uri|link|href|media|attachment|auth|jwt|sig|hmac|pwd|passphrase|session|bearer|otp|secret|token|password|passwd|apikey|accesskey|privatekey|secretkey|authorization|credential|signature|cookie)s?$/;
/** These are so telling that a key that only holds one is secret too. */
const secretWithin =
  /secret|token|password|passwd|apikey|accesskey|privatekey|authorization|credential|signature|cookie/;

/** Words of the service, which are kept where a body could not be parsed. */
const known = new Set([
  ...['true', 'false', 'null', 'redacted', 'in', 'out', 'inbound', 'outbound', 'incoming', 'outgoing', 'internal'],
  ...['received', 'sent', 'delivered', 'failed', 'queued', 'ringing', 'answered', 'missed', 'ended', 'active'],
  ...['voicemail', 'busy', 'abandoned', 'form-data'],
]);

/** Whether a word is one of the service: the name of a field that is read, of an event type, or of a state. */
export function isKnownWord(word: string): boolean {
  if (word.length > 30) return false;
  if (known.has(word.toLowerCase()) || eventTypeOf(word) !== undefined) return true;
  const { field, isWrapper } = traitsOf(word);
  return field !== undefined || isWrapper;
}

interface KeyTraits {
  /** The normalised name, if the extraction uses this field. */
  field: string | undefined;
  /** Its value may be an event itself. */
  isWrapper: boolean;
  /** Its value must not be stored. */
  isSecret: boolean;
  /** Its value is a person's text. */
  isText: boolean;
}

const remembered = new Map<string, KeyTraits>();
const maxRemembered = 2_000;

/** The meaning of a key, compared in lower case and without punctuation. Cached up to a limit. */
export function traitsOf(key: string): KeyTraits {
  const found = remembered.get(key);
  if (found !== undefined) return found;
  const traits = describe(key);
  if (remembered.size < maxRemembered && key.length <= 40) remembered.set(key, traits);
  return traits;
}

function describe(key: string): KeyTraits {
  const name = plainKey(key);
  return {
    field: fields.has(name) ? name : undefined,
    isWrapper: wrappers.has(name),
    isSecret: secretEnding.test(name) || secretWithin.test(name),
    isText: texts.has(name),
  };
}
