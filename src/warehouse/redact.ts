/*
 * Recordings, media and webhooks are opened by their address alone, so a raw answer is kept without any: neither under a
 * key that names an address, nor inside a longer text. What people wrote is kept as they wrote it.
 */

const address = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>]+/gi;
const addressKey = /(?:ur[li]|link|href|media)s?$/i;
/** What people wrote or said: a text message may hold a link that is nobody's secret. */
const words = new Set(['text', 'message', 'body', 'comment']);

/** A copy of a raw answer in which every address is replaced. */
export function withoutUrls(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutUrls(each, key));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutUrls(inner, name)]));
  }
  if (typeof value !== 'string' || value === '' || words.has(key)) return value;
  if (addressKey.test(key)) return '[redacted]';
  return value.includes('://') ? value.replace(address, '[redacted]') : value;
}
