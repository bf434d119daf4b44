import { type Recording, withFields } from '../api-client/client.ts';
import { hotQuery, relation, sql, type Transaction } from '../db/database.ts';
import { type ArtefactKind, type ArtefactRead, type Listed, writeArtefacts } from './artefacts.ts';
import { eraseCalls, erasedCalls } from './erasure/calls.ts';
import { erasedAmong } from './erasure/erased.ts';
import { numbersMentioned } from './erasure/mentions.ts';
import type { HeldCalls } from './held-calls.ts';
import { mirrorTable } from './upsert.ts';
import type { Follow } from './what-follows.ts';

export const recordings = mirrorTable<Listed<Recording>>()('warehouse.recordings', ['call_id', 'unique_id'], {
  call_id: ['text', ({ callId }) => callId],
  unique_id: ['text', ({ each }) => each.uniqueId],
  leg_call_id: ['text', ({ each }) => each.callId],
  started_at: ['timestamptz', ({ each }) => each.startTime],
  duration_seconds: ['integer', ({ each }) => each.durationSeconds],
  talk_seconds: ['integer', ({ each }) => each.talkTimeSeconds],
  from_endpoint: ['text', ({ each }) => each.from],
  to_endpoint: ['text', ({ each }) => each.to],
});

/** One read of a call's recordings; the links are its content. */
export interface RecordingsRead extends ArtefactRead {
  readonly recordings: readonly Recording[];
}

/**
 * Mirrors recordings, stores their links, sealed, in the schema `secrets`, and pairs the calls' transcripts again. Of an erased
 * call it stores neither links nor endpoints, and of one that is older than its retention no links.
 */
export async function writeRecordings(
  tx: Transaction,
  follow: Follow,
  reads: readonly RecordingsRead[],
  locked?: HeldCalls,
): Promise<void> {
  await writeArtefacts(tx, follow, kind, reads, locked);
}

const kind: ArtefactKind<RecordingsRead, Recording, typeof recordings.columns> = {
  ...{ name: 'recordings', table: recordings, watched: [], withoutErased: withoutErasedEnds, storeContent: storeLinks },
  listedBy: (read) => read.recordings,
};

async function withoutErasedEnds(
  tx: Transaction,
  reads: readonly RecordingsRead[],
): Promise<readonly RecordingsRead[]> {
  const endsOf = ({ recordings }: RecordingsRead) =>
    recordings.flatMap(({ from, to }) => [from, to].flatMap((end) => [...numbersMentioned(end ?? '')]));
  const numbers = await erasedAmong(tx, () => reads.flatMap(endsOf));
  const named = reads.filter((each) => endsOf(each).some((number) => numbers.has(number))).map(({ callId }) => callId);
  if (named.length > 0) await eraseCalls(tx, named);
  const marked = await erasedCalls(
    tx,
    reads.map(({ callId }) => callId),
  );
  const bare = { url: undefined, from: undefined, to: undefined, unknownKeys: [] };
  return reads.map((each) =>
    marked.has(each.callId) || named.includes(each.callId)
      ? { ...each, recordings: each.recordings.map((one) => withFields(one, bare)) }
      : each,
  );
}

/** Identifies the row of a recording; its sealed link is bound to it. */
export function recordingRow(callId: string, uniqueId: string): string {
  return `recording_urls ${callId} ${uniqueId}`;
}

async function storeLinks(tx: Transaction, listed: readonly Listed<Recording>[]): Promise<string[]> {
  const links = listed.flatMap(({ callId, each: { uniqueId, url }, sealLink, isExpired }) =>
    url && sealLink && !isExpired ? [{ callId, uniqueId, url: sealLink(url, recordingRow(callId, uniqueId)) }] : [],
  );
  if (links.length === 0) return [];
  await hotQuery(
    tx,
    sql`
      insert into secrets.recording_urls as t (call_id, unique_id, url)
      select distinct on (call_id, unique_id) *
      from ${relation('listed', links, {
        call_id: ['text', (link) => link.callId],
        unique_id: ['text', (link) => link.uniqueId],
        url: 'text',
      })}
      order by call_id, unique_id
      on conflict (call_id, unique_id) do update set url = excluded.url, last_seen_at = now()`,
  );
  return [];
}
