import type { Extra } from './upsert.ts';

/** An answer, and its keys that have no column. */
export interface Answered {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly unknownKeys: readonly string[];
}

/** The unknown keys of answers, for the column `extra`, with URLs redacted. Undefined for an answer without any. */
export function extrasOf(answers: readonly Answered[]): (Extra | undefined)[] {
  return answers.map(({ raw, unknownKeys }) =>
    unknownKeys.length === 0
      ? undefined
      : (redactUrls(Object.fromEntries(unknownKeys.map((key) => [key, raw[key]]))) as Extra),
  );
}

/*
 * Whoever has the URL of a recording, a media file or a webhook can use it. So answers are stored without URLs, except
 * in fields that people wrote.
 */

const address = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>]+/gi;
const addressKey = /(?:ur[li]|link|href|media)s?$/i;
/** Fields that people wrote: a link in a text message isn't a secret. */
const words = new Set(['text', 'message', 'body', 'comment']);

/** A copy of an answer with every URL replaced. */
export function redactUrls(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => redactUrls(each, key));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redactUrls(inner, name)]));
  }
  if (typeof value !== 'string' || value === '' || words.has(key)) return value;
  if (addressKey.test(key)) return '[redacted]';
  return value.includes('://') ? value.replace(address, '[redacted]') : value;
}
