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
