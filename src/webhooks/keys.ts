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

/** Under these keys, a string is a person's text, which is never parsed and never redacted. */
const texts = new Set(['message', 'text', 'content', 'sms']);

/** The value of a key that ends with one of these, or its plural, must not be stored. A space matches any punctuation. */
export const secretWords: readonly string[] = [
  ...['url', 'uri', 'media', 'attachment', 'secret', 'token', 'password', 'passwd', 'pwd', 'api key', 'access key'],
  ...['private key', 'secret key', 'authorization', 'credential', 'signature', 'cookie'],
];

const secretEnding = new RegExp(`(?:${secretWords.join('|').replaceAll(' ', '')})s?$`);

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

const known = new Map<string, KeyTraits>();
const maxKnown = 2_000;

/** The meaning of a key, compared in lower case and without punctuation. Cached up to a limit. */
export function traitsOf(key: string): KeyTraits {
  const remembered = known.get(key);
  if (remembered !== undefined) return remembered;
  const traits = describe(key);
  if (known.size < maxKnown && key.length <= 40) known.set(key, traits);
  return traits;
}

function describe(key: string): KeyTraits {
  const name = plainKey(key);
  return {
    field: fields.has(name) ? name : undefined,
    isWrapper: wrappers.has(name),
    isSecret: secretEnding.test(name),
    isText: texts.has(name),
  };
}
