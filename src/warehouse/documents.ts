import { storableJson } from '../storable.ts';
import { newestOfEach, type Provenance } from './columns.ts';
import { hotQuery, type Transaction } from './database.ts';
import { withoutMentions } from './erasure/erased.ts';
import { withoutUrls } from './redact.ts';

/** A raw answer that says more than the columns do. */
export interface Document {
  readonly entity: 'call' | 'message' | 'recording' | 'transcript' | 'user' | 'line' | 'subscription';
  readonly key: string;
  readonly raw: unknown;
  readonly read: Provenance;
}

/** JSON escapes it in its texts. As elements of an array, bodies would have each of their quotes escaped, and read again. */
const betweenBodies = '\u001d';

/** Keeps raw answers, URLs and the numbers of who was erased redacted; newer wins. */
export async function keepDocuments(tx: Transaction, documents: readonly Document[]): Promise<void> {
  const kept = newestOfEach(documents, ({ entity, key }) => `${entity} ${key}`);
  if (kept.length === 0) return;
  const bodies = await withoutMentions(
    tx,
    kept.map((each) => each.raw),
  );
  await hotQuery(
    tx,
    `insert into warehouse.documents as t (entity, entity_key, body, fetch_seq, fetched_at)
     select entity, entity_key, body::jsonb, fetch_seq, fetched_at
     from unnest($1::text[], $2::text[], string_to_array($3, '${betweenBodies}'), $4::bigint[], $5::timestamptz[])
       as i (entity, entity_key, body, fetch_seq, fetched_at)
     on conflict (entity, entity_key) do update
       set body = excluded.body, fetch_seq = excluded.fetch_seq, fetched_at = excluded.fetched_at
     where t.fetch_seq <= excluded.fetch_seq`,
    [
      kept.map((each) => each.entity),
      kept.map((each) => each.key),
      bodies.map((body) => storableJson(withoutUrls(body))).join(betweenBodies),
      kept.map((each) => each.read.fetchSeq),
      kept.map((each) => each.read.fetchedAt),
    ],
  );
}
