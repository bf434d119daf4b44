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

/** Under these a string is what a person wrote: it is never parsed and never redacted. */
const texts = new Set(['message', 'text', 'content', 'sms']);

/** A key that ends with one of these (or its plural) holds what must not be kept. A space stands for any punctuation. */
export const secretWords: readonly string[] = [
  ...['url', 'uri', 'media', 'attachment', 'secret', 'token', 'password', 'passwd', 'pwd', 'api key', 'access key'],
  ...['private key', 'secret key', 'authorization', 'credential', 'signature', 'cookie'],
];

const secretEnding = new RegExp(`(?:${secretWords.join('|').replaceAll(' ', '')})s?$`);

interface KeyTraits {
  /** The normalised name when an extraction reads this field. */
  field: string | undefined;
  /** Its value may hold an event of its own. */
  isWrapper: boolean;
  /** Its value must not be kept. */
  isSecret: boolean;
  /** Its value is a person's words. */
  isText: boolean;
}

const known = new Map<string, KeyTraits>();
const maxKnown = 2_000;

/** What a key means, compared lower-cased with punctuation removed. The cache is bounded: further keys are computed again. */
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
