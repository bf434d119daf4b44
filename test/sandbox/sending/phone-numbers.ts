import fc from 'fast-check';

/** What people put between, before and after the digits of a number. */
const formatting = fc.constantFrom('', '', '', ' ', '-', '.', '(', ')', '+', '\u2011', '\u2013', '\u00a0', '\t', ') ');

export const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });

/** The same digits, written in some other way. */
export function formatted(number: string): fc.Arbitrary<string> {
  const characters = [...number];
  return fc
    .array(formatting, { minLength: characters.length + 1, maxLength: characters.length + 1 })
    .map(([first = '', ...after]) => first + characters.map((digit, index) => digit + after[index]).join(''));
}
