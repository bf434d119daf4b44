import { type Recording, withFields } from '../api-client/client.ts';
import type { Transaction } from '../db/database.ts';
import { numbersIn } from '../shared/numbers.ts';
import { type ArtefactKind, type ArtefactRead, type Listed, writeArtefacts } from './artefacts.ts';
import { erasedAmong } from './erasure/erased.ts';
import { eraseCalls, erasedCalls } from './erasure/erased-calls.ts';
import type { HeldCalls } from './held-calls.ts';
import { storeLinks } from './links.ts';
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

/** One read of a call's recordings. Their links are the content. */
export interface RecordingsRead extends ArtefactRead {
  readonly recordings: readonly Recording[];
}

/**
 * Mirrors recordings, stores their sealed links in the schema `secrets`, and pairs the calls' transcripts again. For an
 * erased call, stores neither links nor endpoints. For a call older than its retention, stores no links.
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
  ...{ name: 'recordings', table: recordings, watched: [], withoutErased: withoutErasedEnds, storeContent: storeUrls },
  listedBy: (read) => read.recordings,
};

async function withoutErasedEnds(
  tx: Transaction,
  reads: readonly RecordingsRead[],
): Promise<readonly RecordingsRead[]> {
  const endsOf = ({ recordings }: RecordingsRead) =>
    recordings.flatMap(({ from, to }) => [from, to].flatMap((end) => numbersIn(end ?? '')));
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

async function storeUrls(tx: Transaction, listed: readonly Listed<Recording>[]): Promise<string[]> {
  const kept = listed.filter(({ isExpired }) => !isExpired);
  const links = kept.map(({ callId, each, sealer }) => ({ owner: callId, part: each.uniqueId, url: each.url, sealer }));
  await storeLinks(tx, 'recording', links);
  return [];
}
