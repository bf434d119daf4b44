/** Text that Postgres can hold: NUL and lone surrogates become U+FFFD. */
export function storableText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
}

// Escapes that jsonb refuses. A false alarm (an escaped backslash before the u) only costs the slow path.
const refusedEscape = /\\u(?:0000|d[89a-f])/i;

/** JSON text that Postgres can hold as jsonb. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null';
  return refusedEscape.test(json) ? JSON.stringify(withStorableText(value)) : json;
}

function withStorableText(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(withStorableText);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableText(key), withStorableText(inner)]));
}

const address = /^[a-z][a-z0-9+.-]*:\/\//i;

/** A copy of a raw answer in which every address is replaced: recordings, media and webhooks are opened by theirs. */
export function withoutUrls(value: unknown): unknown {
  if (typeof value === 'string') return address.test(value.trimStart()) ? '[redacted]' : value;
  if (Array.isArray(value)) return value.map(withoutUrls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, isAddressKey(key) ? redacted(inner) : withoutUrls(inner)]),
  );
}

function isAddressKey(key: string): boolean {
  return /(?:url|media)$/i.test(key);
}

function redacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redacted);
  return typeof value === 'string' && value !== '' ? '[redacted]' : withoutUrls(value);
}
