import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, test } from 'vitest';
import { countSegments, gsm7Cost } from '../../../src/sandbox/sending/billing.ts';
import { basicCharacters, extensionCharacters, plainSegments } from './plain-segments.ts';

const emoji = '🎉';
const shalom = 'שלום';

test.each([
  ['nothing', '', 'gsm7', 0, 0],
  ['one letter', 'a', 'gsm7', 1, 1],
  ['160 letters', 'a'.repeat(160), 'gsm7', 160, 1],
  ['161 letters', 'a'.repeat(161), 'gsm7', 161, 2],
  ['306 letters', 'a'.repeat(306), 'gsm7', 306, 2],
  ['307 letters', 'a'.repeat(307), 'gsm7', 307, 3],
  ['459 letters', 'a'.repeat(459), 'gsm7', 459, 3],
  ['460 letters', 'a'.repeat(460), 'gsm7', 460, 4],
  ['2000 letters, the longest body', 'a'.repeat(2000), 'gsm7', 2000, 14],
  ['70 dashes', '–'.repeat(70), 'ucs2', 70, 1],
  ['71 dashes', '–'.repeat(71), 'ucs2', 71, 2],
  ['134 dashes', '–'.repeat(134), 'ucs2', 134, 2],
  ['135 dashes', '–'.repeat(135), 'ucs2', 135, 3],
  ['69 letters and one dash', `${'a'.repeat(69)}—`, 'ucs2', 70, 1],
  ['160 letters and one dash', `${'a'.repeat(160)}—`, 'ucs2', 161, 3],
  ['curly quotes', `“${'a'.repeat(69)}”`, 'ucs2', 71, 2],
  ['158 letters and a euro', `${'a'.repeat(158)}€`, 'gsm7', 160, 1],
  ['159 letters and a euro', `${'a'.repeat(159)}€`, 'gsm7', 161, 2],
  ['80 brackets', '['.repeat(80), 'gsm7', 160, 1],
  ['81 brackets', '['.repeat(81), 'gsm7', 162, 2],
  ['152 brackets, 76 to a segment', '['.repeat(152), 'gsm7', 304, 2],
  ['153 brackets, which fill two segments', '['.repeat(153), 'gsm7', 306, 2],
  ['a bracket on the seam', `${'a'.repeat(152)}[${'a'.repeat(152)}`, 'gsm7', 306, 2],
  ['154 brackets', '['.repeat(154), 'gsm7', 308, 3],
  ['a bracket before the seam', `${'a'.repeat(151)}[${'a'.repeat(153)}`, 'gsm7', 306, 2],
  ['a bracket after the seam', `${'a'.repeat(153)}[${'a'.repeat(151)}`, 'gsm7', 306, 2],
  ['extension characters outside GSM-7', `€${'['.repeat(68)}–`, 'ucs2', 70, 1],
  ['35 emoji', emoji.repeat(35), 'ucs2', 70, 1],
  ['36 emoji', emoji.repeat(36), 'ucs2', 72, 2],
  ['66 emoji, 33 to a segment', emoji.repeat(66), 'ucs2', 132, 2],
  ['67 emoji, which fill two segments', emoji.repeat(67), 'ucs2', 134, 2],
  ['an emoji on the seam', `${'a'.repeat(66)}${emoji}${'a'.repeat(66)}`, 'ucs2', 134, 2],
  ['68 emoji', emoji.repeat(68), 'ucs2', 136, 3],
  ['an emoji before the seam', `${'a'.repeat(65)}${emoji}${'a'.repeat(67)}`, 'ucs2', 134, 2],
  ['Hebrew', shalom, 'ucs2', 4, 1],
  ['70 Hebrew letters', `${shalom.repeat(17)}של`, 'ucs2', 70, 1],
  ['71 Hebrew letters', `${shalom.repeat(17)}שלו`, 'ucs2', 71, 2],
  ['Arabic', 'مرحبا', 'ucs2', 5, 1],
  ['Greek capitals', 'ΔΦΓΛΩΠΨΣΘΞ'.repeat(16), 'gsm7', 160, 1],
  ['a Greek capital that looks Latin', 'Α', 'ucs2', 1, 1],
  ['small Greek', 'αβγ', 'ucs2', 3, 1],
  ['vowels with grave or acute', 'àèìòùáéíóú'.repeat(16), 'gsm7', 160, 1],
  ['a capital vowel with grave', 'À', 'ucs2', 1, 1],
  ['a vowel with a circumflex', 'ê', 'ucs2', 1, 1],
  ['a vowel with a combining acute', 'e\u0301', 'ucs2', 2, 1],
  ['line breaks', 'a\r\nb\n', 'gsm7', 5, 1],
  ['a tab', 'a\tb', 'ucs2', 3, 1],
  ['half of an emoji', '\ud83c', 'ucs2', 1, 1],
])('counts %s', (_, text, encoding, units, segments) => {
  expect(countSegments(text)).toEqual({ encoding, units, segments });
});

/** Dense in what costs two, long enough for several seams. */
const gsm7Text = fc.array(
  fc.oneof(fc.constantFrom(...basicCharacters), fc.constantFrom(...extensionCharacters), fc.constant('a'.repeat(40))),
  { maxLength: 120 },
);
const anyCharacter = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...basicCharacters, ...extensionCharacters) },
  { weight: 2, arbitrary: fc.constantFrom('א', 'م', 'α', 'ê', '“', '—', '\t') },
  { weight: 3, arbitrary: fc.constantFrom(emoji, '😀', '𝒳', '👍🏽', '👨‍👩‍👧', '🇩🇪', 'e\u0301', '\ud83c', '\udf89') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }) },
);
const bodies = fc
  .oneof(gsm7Text, fc.array(anyCharacter, { maxLength: 300, size: 'max' }))
  .map((parts) => parts.join(''));

test('counts as the plain reading of the specification does', () => {
  fc.assert(
    fc.property(bodies, (text) => {
      expect(countSegments(text)).toEqual(plainSegments(text));
    }),
    { numRuns: 1_000 },
  );
});

test('a longer text never has fewer segments', () => {
  fc.assert(
    fc.property(bodies, fc.constantFrom('a', '€', '–', emoji), (text, more) => {
      expect(countSegments(text + more).segments).toBeGreaterThanOrEqual(countSegments(text).segments);
    }),
  );
});

describe('beside sms-segments-calculator', () => {
  const theirs = (text: string) => {
    const message = new SegmentedMessage(text);
    return {
      encoding: message.encodingName === 'GSM-7' ? 'gsm7' : 'ucs2',
      units: message.encodedChars.reduce((sum, { codeUnits }) => sum + codeUnits.length, 0),
      segments: message.segmentsCount,
    };
  };

  /** The whole list: the properties below hold because each of these is put aside. */
  test.each([
    { why: '2.4 counts a with acute as GSM-7', text: 'á', ours: ['gsm7', 1, 1], library: ['ucs2', 1, 1] },
    { why: '2.4 counts i with acute as GSM-7', text: 'í', ours: ['gsm7', 1, 1], library: ['ucs2', 1, 1] },
    { why: '2.4 counts o with acute as GSM-7', text: 'ó', ours: ['gsm7', 1, 1], library: ['ucs2', 1, 1] },
    { why: '2.4 counts u with acute as GSM-7', text: 'ú', ours: ['gsm7', 1, 1], library: ['ucs2', 1, 1] },
    {
      why: 'it keeps what is drawn as one glyph within one segment; 2.4 counts characters',
      text: `${'a'.repeat(65)}👍🏽${'a'.repeat(65)}`,
      ours: ['ucs2', 134, 2],
      library: ['ucs2', 134, 3],
    },
    { why: 'empty text is nothing to charge', text: '', ours: ['gsm7', 0, 0], library: ['gsm7', 0, 1] },
  ])('differs, for $why', ({ text, ours, library }) => {
    expect(Object.values(countSegments(text))).toEqual(ours);
    expect(Object.values(theirs(text))).toEqual(library);
    expect(ours).not.toEqual(library);
  });

  const withoutAcutes = (text: string) => text.replace(/[áíóú]/g, 'à');

  test('costs the same for every character of the first plane but the four vowels', () => {
    const differing: string[] = [];
    for (let code = 0; code <= 0xffff; code += 1) {
      const character = String.fromCharCode(code);
      const { encoding, units } = theirs(character);
      if ((encoding === 'gsm7' ? units : undefined) !== gsm7Cost(character)) differing.push(character);
    }
    expect(differing.join('')).toBe('áíóú');
  });

  test('agrees on encoding and units of every text, the four vowels apart', () => {
    fc.assert(
      fc.property(bodies, (text) => {
        const { encoding, units } = theirs(withoutAcutes(text));
        expect(countSegments(text)).toMatchObject({ encoding, units });
      }),
      { numRuns: 300 },
    );
  });

  test('agrees on segments where every character costs one', () => {
    const ones = fc.constantFrom(...basicCharacters, 'א', 'م', 'α', '“');
    const single = fc.array(ones, { minLength: 1, maxLength: 400, size: 'max' }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(single, (text) => {
        expect(countSegments(text)).toEqual(theirs(withoutAcutes(text)));
      }),
      { numRuns: 500 },
    );
  });
});
