import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { erasableNumber } from '../../src/erasure/number.ts';
import { normalizeNumber } from '../../src/numbers.ts';
import { mentionPattern, numbersMentioned, withoutNumbers } from '../../src/warehouse/erasure/mentions.ts';
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
const around = fc.constantFrom('', ' ', 'call ', '"', ': ', ', ', 'x', '\n', '|');

test('a number is found however it is written', () => {
  fc.assert(
    fc.property(writing, around, around, ({ normal, text }, before, after) => {
      expect(numbersMentioned(before + text + after)).toContain(normal);
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
      fc.pre(normal !== other && !numbersMentioned(text).includes(other));
      expect(withoutNumbers(text, (each) => each === other)).toBe(text);
    }),
  );
});

test('Postgres finds and replaces what we do', async () => {
  const texts = fc.array(
    fc.oneof(
      writing.map(({ text }) => text),
      around,
      digits(1, 9),
    ),
    { minLength: 1, maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(writing, texts, async ({ normal, text }, others) => {
      const whole = [...others, text, ...others].join(', ');
      const replaced = await database.value(
        `select regexp_replace($1::text, $2, '[erased]', 'g')`,
        whole,
        mentionPattern(normal),
      );
      expect(replaced).toBe(withoutNumbers(whole, (each) => each === normal));
    }),
    { numRuns: 300 },
  );
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
