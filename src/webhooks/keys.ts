import { plainKey } from '../shared/json.ts';

/** The fields that the extraction reads, by the normalised names that deliveries may use. */
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

/** A string under these keys was written by a person. It is never redacted. */
const texts = new Set(['message', 'text', 'content', 'sms']);

/** If a key ends with one of these (or its plural), its value must not be stored. */
const secretEnding =
  /(?:url|uri|link|href|media|attachment|auth|jwt|sig|hmac|pwd|passphrase|session|bearer|otp|secret|token|password|passwd|apikey|accesskey|privatekey|secretkey|authorization|credential|signature|cookie)s?$/;
/** A key that contains one of these anywhere is secret too. */
const secretWithin =
  /secret|token|password|passwd|apikey|accesskey|privatekey|authorization|credential|signature|cookie/;

interface KeyTraits {
  /** The normalised name, if the extraction reads this field. */
  field: string | undefined;
  /** Its value may itself be an event. */
  isWrapper: boolean;
  /** Its value must not be stored. */
  isSecret: boolean;
  /** A person wrote its value. */
  isText: boolean;
}

const remembered = new Map<string, KeyTraits>();
const maxRemembered = 2_000;

/** What a key means. Ignores case and punctuation. Cached, up to a limit. */
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
