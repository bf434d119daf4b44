import { hash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { erasableNumber } from '../../src/privacy/erase.ts';
import { normalizeNumber } from '../../src/shared/numbers.ts';
import {
  mayMention,
  mentionPattern,
  numbersMentioned,
  roughMentionPattern,
  spellingsOf,
  withoutNumbers,
} from '../../src/warehouse/erasure/mentions.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const digits = (least: number, most: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: least, maxLength: most }).map((list) => list.join(''));
const number = digits(7, 15)
  .map(normalizeNumber)
  .filter((each) => each.length <= 15);
const separator = fc.constantFrom('', '', '', ' ', '-', '.', ') ', ' (', '/', ' - ');

/** A number as somebody may write it: separated anywhere, with or without a plus and the code of North America. */
const writing = number.chain((normal) => {
  const isNational = normal.length === 11 && normal.startsWith('1');
  return fc
    .tuple(fc.boolean(), fc.constantFrom('', '+', '('), fc.array(separator, { minLength: 15, maxLength: 15 }))
    .map(([isShort, prefix, separators]) => {
      const shown = isNational && isShort ? normal.slice(1) : normal;
      const text = [...shown].map((digit, at) => (at === 0 ? digit : `${separators[at]}${digit}`)).join('');
      return { normal, text: prefix + text };
    });
});
/** The same, in other scripts and with other separators. */
const oddWriting = fc
  .tuple(
    writing,
    fc.constantFrom('٠', '۰', '०', '０', '𝟎'),
    fc.constantFrom('\u2011', '–', '_', '\u00a0', '\u200b', ' – ', '\\n', '・'),
  )
  .map(([{ normal, text }, zero, separator]) => ({
    normal,
    text: text
      .replace(/\d/g, (each) => String.fromCodePoint((zero.codePointAt(0) ?? 0) + Number(each)))
      .replaceAll('-', separator),
  }));
const around = fc.constantFrom('', ' ', 'call ', '"', ': ', ', ', 'x', '\n', '|');

test('a number is found however it is written', () => {
  fc.assert(
    fc.property(writing, around, around, ({ normal, text }, before, after) => {
      expect([...numbersMentioned(before + text + after)]).toContain(normal);
    }),
    { numRuns: 2_000 },
  );
});

test('a text without a number keeps nothing of it, and all else', () => {
  fc.assert(
    fc.property(writing, around, around, ({ normal, text }, before, after) => {
      expect(withoutNumbers(before + text + after, (each) => each === normal)).toBe(`${before}[erased]${after}`);
    }),
    { numRuns: 2_000 },
  );
});

test('other numbers stay', () => {
  fc.assert(
    fc.property(writing, number, ({ normal, text }, other) => {
      fc.pre(normal !== other && ![...numbersMentioned(text)].includes(other));
      expect(withoutNumbers(text, (each) => each === other)).toBe(text);
    }),
  );
});

test('Postgres finds and replaces what we do', async () => {
  const texts = fc.array(
    fc.oneof(
      writing.map(({ text }) => text),
      writing.map(({ text }) => `+44 ${text}`),
      around,
      digits(1, 9),
    ),
    { minLength: 1, maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(writing, oddWriting), texts, async ({ normal, text }, others) => {
      const whole = [...others, text, ...others].join(', ');
      const [found] = await database.query(
        `select regexp_replace($1::text, $2, '[erased]', 'g') as replaced, $1 ~ $2 as precisely, $1 ~ $3 as roughly`,
        whole,
        mentionPattern(normal),
        roughMentionPattern(normal),
      );
      const spellings = new Set(spellingsOf(normal));
      const replaced = withoutNumbers(whole, (each) => spellings.has(each));
      expect(found).toEqual({ replaced, precisely: true, roughly: true });
    }),
    { numRuns: 400 },
  );
});

const british = [
  '+44 20 7946 0958',
  '020 7946 0958',
  '(020) 7946-0958',
  '+44 (0)20 7946 0958',
  '+44(0)2079460958',
  '0044 20 7946 0958',
  '00442079460958',
  '011 44 20 7946 0958',
  '01144 2079460958',
  '011-44-(0)20-7946-0958',
  '+44\u201120\u20117946\u20110958',
  '+44\u00a020\u20097946\u202f0958',
  '020\u200b7946\u2060\u00ad0958',
  '０２０－７９４６－０９５８',
  '٠٢٠ ٧٩٤٦ ٠٩٥٨',
  '+44.20.7946.0958',
  '020_7946_0958',
  '020 – 7946 – 0958',
  '020\u22127946\u22120958',
  '0\ufe0f\u20e32\ufe0f\u20e30\ufe0f\u20e37\ufe0f\u20e39\ufe0f\u20e34\ufe0f\u20e36\ufe0f\u20e30\ufe0f\u20e39\ufe0f\u20e35\ufe0f\u20e38',
  '020\n7946\t0958',
  '020・7946・0958',
];
const american = [
  '+1 (845) 555-0123',
  '845–555–0123',
  '845\u2011555\u20110123',
  '845_555_0123',
  '８４５ ５５５ ０１２３',
  '845/555/0123',
  '8 4 5 5 5 5 0 1 2 3',
  '001 845 555 0123',
  '١٨٤٥٥٥٥٠١٢٣',
  '845\u2007555\u20070123',
  '845·555·0123',
  '[845] 555 0123',
];

test.each([
  ...british.map((text) => ['442079460958', text]),
  ...american.map((text) => ['18455550123', text]),
  ['33612345678', '06 12 34 56 78'],
  ['34612345678', '612 345 678'],
  ['390612345678', '06 1234 5678'],
  ['79161234567', '8 (916) 123-45-67'],
  ['36301234567', '06 30 123 4567'],
  ...['525512345678', '5215512345678'].flatMap((number) =>
    ['+52 55 1234 5678', '+52 1 55 1234 5678', '0052 1 5512345678'].map((text) => [number, text]),
  ),
  ...['5491123456789', '541123456789'].flatMap((number) =>
    ['+54 9 11 2345-6789', '+54 11 2345-6789', '011 15 2345-6789', '+54 11 15 2345 6789'].map((text) => [number, text]),
  ),
  ...['5511987654321', '551187654321'].flatMap((number) =>
    ['+55 11 98765-4321', '+55 (11) 8765-4321', '011 98765 4321'].map((text) => [number, text]),
  ),
])('of %s, nothing is left where %j stood', async (number = '', text = '') => {
  const spellings = new Set(spellingsOf(number));
  const whole = `Call ${text}, not 12125550199`;
  const without = withoutNumbers(whole, (each) => spellings.has(each));
  expect(without).toMatch(/^Call \[erased\][\ufe0f\u20e3]*, not 12125550199$/);
  expect(mayMention(whole, (each) => spellings.has(each))).toBe(true);
  const [found] = await database.query(
    `select regexp_replace($1::text, $2, '[erased]', 'g') as replaced, $1 ~ $3 as roughly`,
    ...[whole, mentionPattern(number), roughMentionPattern(number)],
  );
  expect(found).toEqual({ replaced: without, roughly: true });
});

test.each([
  ['442079460958', '7946 0958'],
  ['442079460958', '2079460958'],
  ['442079460958', '+1 207 946 0958'],
  ['442079460958', '1020 7946 0958'],
  ['442079460958', '020 7946 09581'],
  ['442079460958', '020 7946, 0958'],
  ['442079460958', '+49 20 7946 0958'],
  ['18455550123', '555-0123'],
  ['18455550123', '0845 555 0123'],
  ['18455550123', '+44 845 555 0123'],
  ['34612345678', '0612345678'],
  ['3545551234', '5551234'],
  ['5215512345678', '1 551 234 5678'],
  ['551134567890', '+55 11 93456-7890'],
])('of %s, %j is no spelling', (number, text) => {
  const spellings = new Set(spellingsOf(number));
  expect(withoutNumbers(`Call ${text}.`, (each) => spellings.has(each))).toBe(`Call ${text}.`);
});

test.each(['\\u2011', '%20', '%E2%80%91', '&nbsp;', '&#8209;', '&#x2011;'])(
  'a delivery that was not understood can separate digits by %s',
  async (separator) => {
    const spellings = new Set(spellingsOf('442079460958'));
    const body = ['note=call+020', '7946', '0958'].join(separator);
    expect(mayMention(body, (each) => spellings.has(each))).toBe(true);
  },
);

test('a text with more candidates than can be judged counts as a mention, and costs no more than those', () => {
  const bodies = ['1 ', '12-', '123 456 7890 ', '٣ ', '1(((((', '&#1', '%20', '\\u0031'].map((each) =>
    each.repeat((1 << 20) / each.length),
  );
  for (const body of bodies) {
    let hashed = 0;
    const isErased = (each: string) => {
      hashed += 1;
      return hash('sha256', each) === '';
    };
    expect(mayMention(body, isErased), body.slice(0, 10)).toBe(true);
    expect(hashed).toBeLessThanOrEqual(20_000);
  }
});

test('a large delivery of a few numbers is judged', () => {
  const body = JSON.stringify(
    Array.from({ length: 6_000 }, (_, at) => ({ id: at, from: `1845555${1_000 + (at % 9_000)}` })),
  );
  expect(mayMention(body, () => false)).toBe(false);
  expect(mayMention(body, (each) => each === '18455551999')).toBe(true);
});

test('Postgres hashes as the receiver does', async () => {
  const { createHash } = await import('node:crypto');
  const salt = String(await database.value('select salt from secrets.erasure_salt'));
  expect(salt.length).toBeGreaterThanOrEqual(64);
  expect(await database.value('select ops.erasure_hash($1)', '18455550123')).toBe(
    createHash('sha256').update(`${salt}18455550123`).digest('hex'),
  );
});

test.each(['+1 (845) 555-0123', '845.555.0123', '1/845/5550123', ' 8455550123 '])('%j is the same number', (text) => {
  expect(erasableNumber(text)).toBe('18455550123');
});

test.each(['+44 20 7946 0958', '+44 (0)20 7946 0958', '0044 20 7946 0958', '011 44 2079460958', '٠٠٤٤٢٠٧٩٤٦٠٩٥٨'])(
  '%j is the same number abroad',
  (text) => {
    expect(erasableNumber(text)).toBe('442079460958');
  },
);

test('a number without its country code is refused', () => {
  expect(() => erasableNumber('020 7946 0958')).toThrow('country code');
});
