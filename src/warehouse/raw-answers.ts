import { hotQuery, sql, type Transaction } from '../db/database.ts';
import { storableJson } from '../shared/storable.ts';
import { withoutMentions } from './erasure/erased.ts';
import { newestOfEach, type Provenance } from './upsert.ts';

/** A raw answer with fields that no column holds. */
interface RawAnswer {
  readonly entity: 'call' | 'message' | 'recording' | 'transcript' | 'user' | 'line' | 'subscription';
  readonly key: string;
  readonly raw: unknown;
  readonly read: Provenance;
}

/** The raw answer of an entity, if it has fields that the specification does not name. */
export function unspecified(
  entity: RawAnswer['entity'],
  key: string | number,
  { raw, unknownKeys }: { readonly raw: unknown; readonly unknownKeys: readonly string[] },
  read: Provenance,
): RawAnswer[] {
  return unknownKeys.length > 0 ? [{ entity, key: String(key), raw, read }] : [];
}

/** Separates bodies: JSON escapes this character. An array parameter would escape every quote in the bodies. */
const betweenBodies = '\u001d';

/** Stores raw answers in warehouse.documents, with URLs and erased numbers redacted; newer wins. */
export async function storeRawAnswers(tx: Transaction, documents: readonly RawAnswer[]): Promise<void> {
  const newest = newestOfEach(documents, ({ entity, key }) => `${entity} ${key}`);
  if (newest.length === 0) return;
  const bodies = await withoutMentions(
    tx,
    newest.map((each) => each.raw),
  );
  await hotQuery(
    tx,
    sql`insert into warehouse.documents as t (entity, entity_key, body, fetch_seq, fetched_at)
     select entity, entity_key, body::jsonb, fetch_seq, fetched_at
     from unnest(
       ${newest.map((each) => each.entity)}::text[], ${newest.map((each) => each.key)}::text[],
       string_to_array(${bodies.map((body) => storableJson(redactUrls(body))).join(betweenBodies)}, ${betweenBodies}),
       ${newest.map((each) => each.read.fetchSeq)}::bigint[], ${newest.map((each) => each.read.fetchedAt)}::timestamptz[]
     ) as i (entity, entity_key, body, fetch_seq, fetched_at)
     on conflict (entity, entity_key) do update
       set body = excluded.body, fetch_seq = excluded.fetch_seq, fetched_at = excluded.fetched_at
     where t.fetch_seq <= excluded.fetch_seq`,
  );
}

/*
 * The URL of a recording, a media file or a webhook is itself the credential. Raw answers are therefore stored without URLs,
 * except in fields that people wrote.
 */

const address = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>]+/gi;
const addressKey = /(?:ur[li]|link|href|media)s?$/i;
/** Fields that people wrote: a link in a text message is no secret. */
const words = new Set(['text', 'message', 'body', 'comment']);

/** A copy of a raw answer with every URL replaced. */
export function redactUrls(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => redactUrls(each, key));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redactUrls(inner, name)]));
  }
  if (typeof value !== 'string' || value === '' || words.has(key)) return value;
  if (addressKey.test(key)) return '[redacted]';
  return value.includes('://') ? value.replace(address, '[redacted]') : value;
}
