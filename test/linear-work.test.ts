import { describe, expect, test } from 'vitest';
import { isInstant } from '../src/api-client/answers/values.ts';
import { quoted, retryAfterMs } from '../src/api-client/transport/refusal.ts';
import { parseContacts } from '../src/cli/contacts.ts';
import { contains } from '../src/rules/conditions/condition.ts';
import { createTemplates } from '../src/rules/conditions/template.ts';
import { plainText } from '../src/rules/facts/values.ts';
import { html } from '../src/server/html.ts';
import { plainKey } from '../src/shared/json.ts';
import { maskKey, maskNumbers } from '../src/shared/masking.ts';
import { normalizeNumber, numbersIn } from '../src/shared/numbers.ts';
import { storableJson, storableText } from '../src/shared/storable.ts';
import { receiverOf, sameAddress } from '../src/sync/subscriptions/matching.ts';
import { redactUrls } from '../src/warehouse/extra.ts';
import { optOutPhrases, optOutVerdict } from '../src/warehouse/opt-out.ts';
import { typedNumber, typedThreadKey } from '../src/warehouse/phone-numbers.ts';
import { foldText, readPhrases } from '../src/warehouse/phrases.ts';
import { reactionIn } from '../src/warehouse/reaction.ts';
import { extract } from '../src/webhooks/extract.ts';
import { canonical } from '../src/webhooks/redact.ts';
import { busyMs } from './busy.ts';

/*
 * Words of strangers meet only work that is linear in their length: one text must not keep a worker busy for hours. Each function that
 * reads such words gets long repetitions, and sixteen times as much of each: linear work takes sixteen times as long, quadratic work
 * 256 times.
 */

const template = createTemplates('UTC')(
  'message_received',
  '{{ message.text | strip | strip_html | truncatewords: 20 }}',
);
if (!('render' in template)) throw new Error(template.message);

const readers: Readonly<Record<string, (words: string) => unknown>> = {
  'the verdict on opt-outs': optOutVerdict,
  'the form of a reaction': reactionIn,
  'the fact message.plain': plainText,
  'the pattern of a condition': (words) => contains(words, '(?i)^(any|more|any more| )*(a+)+z$'),
  'the text of a rule': (words) => template.render({ message: { text: words } } as never),
  'a webhook body': (words) => extract({ pathType: 'AccountSMS', query: '', body: Buffer.from(words) }, () => false),
  'a webhook body in JSON': (words) =>
    extract(
      { pathType: 'AccountSMS', query: '', body: Buffer.from(JSON.stringify({ from: words, x: words })) },
      () => false,
    ),
  'a webhook body of a call': (words) =>
    extract(
      { pathType: 'AccountEndedCalls', query: '', body: Buffer.from(`{"callId":"1.1","status":"${words}://x"}`) },
      () => false,
    ),
  redaction: (words) => canonical({ x: words }),
  'redaction of answers': (words) => redactUrls({ x: words }),
  'the key of a body': plainKey,
  masking: (words) => maskNumbers(words),
  'masking of keys': (words) => maskKey('thread', words),
  numbers: normalizeNumber,
  'numbers of an erasure': numbersIn,
  'a typed number': typedNumber,
  'a page': (words) => html`${words}`,
  storage: (words) => [storableText(words), storableJson({ x: words })],
  'a typed thread': typedThreadKey,
  'the address of a subscription': (words) => [receiverOf(words), sameAddress(`https://x/${words}`, words)],
  'a refusal': (words) => quoted(words, 'secret'),
  'Retry-After': (words) => retryAfterMs(words, words, 0),
  'a time': isInstant,
  'a list of contacts': (words) => parseContacts(`number,name,tags\n12125550123,${words}`, 'contacts.csv'),
};

const repetitions = [
  ...'aAz1١漢🛑\0\u00a0 \n\'"\\[{,=&%/?<>-:._|;',
  ...['\r\n', '\t ', '\u0301\u0316', 'á', '\ud83d'],
  ...'12 ;1.;1234567890 ;+1 (;unsubscribe any more ;any more ;stop ;no ;do not ;<a ;a+;--;--a\n;//;/hooks/;/hooks/a/b'.split(
    ';',
  ),
  ...'\\"|\\\\"|"a":1.1,|{"a":|[[|}\n|token=|token"|token\\"|token\n|token: |"token":"|https://|a://'.split('|'),
  ...'a=1& a[b]=c& a-scheme. "[{ a[b] %41 \\u0041 &#65; <script <!--'.split(' '),
];

const small = 2_048;
const factor = 16;
/** Sixteen for linear work, 256 for quadratic work, and what the collector of garbage adds. */
const maxRatio = 80;
/** Shorter times are not compared. */
const leastMs = 1;

function growthOf(read: (words: string) => unknown, make: (length: number) => string): number {
  const [few, many] = [make(small), make(small * factor)];
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 4 && least > maxRatio; tries += 1) {
    const much = busyMs(() => read(many));
    // Nothing is compared with less.
    if (much <= maxRatio * leastMs) return much / leastMs;
    const base = Math.max(...[1, 2].map(() => busyMs(() => read(few))), leastMs);
    least = Math.min(least, much / base);
  }
  return least;
}

describe.each(Object.entries(readers))('%s', (_name, read) => {
  test('takes time that is linear in the length of the words', () => {
    const slow = repetitions.flatMap((part) =>
      [
        (length: number) => `x${part.repeat(length / part.length)}!x`,
        (length: number) => `stop\\"token=${part.repeat(length / part.length)}\n`,
      ]
        .map((make) => growthOf(read, make))
        .filter((ratio) => ratio > maxRatio)
        .map((ratio) => `${JSON.stringify(part)}: ${Math.round(ratio)} times the time for ${factor} times the length`),
    );
    expect(slow).toEqual([]);
  });
});

test('the verdict on opt-outs is linear in repetitions of words and phrases of its list', () => {
  const parts = [...new Set(readPhrases(optOutPhrases).flatMap((phrase) => [phrase, ...phrase.split(' ')]))];
  // All of them would take half a minute.
  const sample = parts.filter((_, at) => at % 400 === 0).map((part) => `${part.replace(/[=*]/g, '')} `);
  expect(sample.length).toBeGreaterThan(50);
  const growth = (part: string) => growthOf(optOutVerdict, (length) => `${part.repeat(length / part.length)}zzz`);
  expect(sample.filter((part) => growth(part) > maxRatio)).toEqual([]);
});

test('marks are folded in linear time too', () => {
  const growth = growthOf(foldText, (length) => '\u0301\u0316 STOP\u0301'.repeat(length / 8));
  expect(growth).toBeLessThan(maxRatio);
  expect(busyMs(() => foldText('\u0301\u0316'.repeat(65_536)))).toBeLessThan(2_000);
});
