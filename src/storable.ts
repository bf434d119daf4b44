/** Text that Postgres can hold: NUL and lone surrogates become U+FFFD. */
export function storableText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
}

/** A value as compact JSON in which neither text nor jsonb finds a NUL or half a character. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null';
  if (!json.includes('\\u0000') && !json.includes('\\ud')) return json;
  // Every escape is consumed whole, so that an escaped backslash before a `u` is not taken for one.
  return json.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g, (code) => (code.length > 2 ? '\\ufffd' : code));
}

// A joiner that shapes an emoji or a script is what a person wrote; anywhere else it hides.
const shaped = String.raw`[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{M}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}]`;
const invisible = new RegExp(
  String.raw`(?![\n\t])\p{Cc}|(?![\u200c\u200d])\p{Cf}|(?<!${shaped})[\u200c\u200d]|[\p{Zl}\p{Zp}\p{Cs}]`,
  'gu',
);

/**
 * A text that changes nothing on a terminal but what it shows: control characters, those that turn the direction of writing
 * and those that take no room become `\uXXXX`, as in JSON, so that JSON means the same before and after. Line breaks and
 * tabs stay.
 */
export function printable(text: string): string {
  return text.replace(invisible, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}
