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
