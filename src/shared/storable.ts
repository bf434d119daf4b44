/** Replaces NUL and lone surrogates, which Postgres text can't hold, with U+FFFD. */
export function storableText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
}

/** Compact JSON of a value, without NUL and lone surrogates, which neither text nor jsonb can hold. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null';
  if (!json.includes('\\u0000') && !json.includes('\\ud')) return json;
  // Matches whole escapes, so an escaped backslash before a `u` isn't mistaken for one.
  return json.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g, (code) => (code.length > 2 ? '\\ufffd' : code));
}

// Emoji and some scripts need the zero-width joiner. Elsewhere it may hide something.
const shaped = String.raw`[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{M}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}]`;
const invisible = new RegExp(
  String.raw`(?![\n\t])\p{Cc}|(?![\u200c\u200d])\p{Cf}|(?<!${shaped})[\u200c\u200d]|[\p{Zl}\p{Zp}\p{Cs}]`,
  'gu',
);

/**
 * Makes a text safe to print on a terminal: control, bidirectional and zero-width characters become `\uXXXX`, as in
 * JSON, so printed JSON keeps its meaning. Line breaks and tabs stay.
 */
export function printable(text: string): string {
  return text.replace(invisible, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}
