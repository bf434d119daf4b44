import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, test } from 'vitest';
import { countSegments, gsm7Cost } from '../../../src/sandbox/sending/billing.ts';

/**
 * The alphabet of section 2.4 as the standard prints it (3GPP TS 23.038: 128 places in order, the escape at 27), with
 * the four vowels that the specification adds.
 */
const places =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ' +
  ' !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§' +
  '¿abcdefghijklmnopqrstuvwxyzäöñüà';
const basicCharacters = `${places.replace('\x1b', '')}áíóú`;
const extensionCharacters = '[]{}\\^~|€\f';

/** What section 2.4 says of segments: the message as it goes over the air, cut with scissors. */
function plainSegments(text: string): { encoding: string; units: number; segments: number } {
  let encoded = '';
  let isGsm7 = true;
  for (const character of text) {
    if (extensionCharacters.includes(character)) encoded += `\x1b${character}`;
    else if (basicCharacters.includes(character)) encoded += character;
    else isGsm7 = false;
  }
  if (!isGsm7) encoded = text;
  const pieces: string[] = [];
  const [single, split] = isGsm7 ? [160, 153] : [70, 67];
  const size = encoded.length <= single ? single : split;
  for (let at = 0; at < encoded.length; at += size) pieces.push(encoded.slice(at, at + size));
  return { encoding: isGsm7 ? 'gsm7' : 'ucs2', units: encoded.length, segments: pieces.length };
}

const emoji = '🎉';

test.each([
  ['nothing', '', 'gsm7', 0, 0],
  ['a bracket on the seam', `${'a'.repeat(152)}[${'a'.repeat(152)}`, 'gsm7', 306, 2],
  ['a bracket before the seam', `${'a'.repeat(151)}[${'a'.repeat(153)}`, 'gsm7', 306, 2],
  ['a bracket after the seam', `${'a'.repeat(153)}[${'a'.repeat(151)}`, 'gsm7', 306, 2],
  ['extension characters outside GSM-7', `€${'['.repeat(68)}–`, 'ucs2', 70, 1],
  ['an emoji on the seam', `${'a'.repeat(66)}${emoji}${'a'.repeat(66)}`, 'ucs2', 134, 2],
  ['an emoji before the seam', `${'a'.repeat(65)}${emoji}${'a'.repeat(67)}`, 'ucs2', 134, 2],
  ['a Greek capital that looks Latin', 'Α', 'ucs2', 1, 1],
  ['a capital vowel with grave', 'À', 'ucs2', 1, 1],
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
