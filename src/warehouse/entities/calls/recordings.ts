import { withFields } from '../../../service/answers/fields.ts';
import type { Recording } from '../../../service/entities/recording.ts';
import { mirrorTable, type SealLink } from '../../columns.ts';
import { hotQuery, type Transaction } from '../../database.ts';
import { keepDocuments } from '../../documents.ts';
import { eraseCalls, erasedCalls } from '../../erasure/calls.ts';
import { erasedAmong } from '../../erasure/erased.ts';
import { numbersMentioned } from '../../erasure/mentions.ts';
import { upsert } from '../../mirror.ts';
import { type ArtefactRead, currentArtefactReads, recordArtefactReads } from './artefacts.ts';
import { pairTranscripts } from './pairing.ts';

export const recordings = mirrorTable('warehouse.recordings', ['call_id', 'unique_id'], {
  call_id: 'text',
  unique_id: 'text',
  leg_call_id: 'text',
  started_at: 'timestamptz',
  duration_seconds: 'integer',
  talk_seconds: 'integer',
  from_endpoint: 'text',
  to_endpoint: 'text',
});

/** What one read of a call's recordings found. */
export interface RecordingsRead extends ArtefactRead {
  readonly recordings: readonly Recording[];
  /** Without it no link is kept. */
  readonly sealLink?: SealLink | undefined;
}

/**
 * Mirrors recordings, their links apart, and pairs the calls' transcripts again. Of the recordings of an erased call,
 * only that they exist.
 */
export async function writeRecordings(tx: Transaction, all: readonly RecordingsRead[]): Promise<void> {
  const reads = await clearEnds(tx, await currentArtefactReads(tx, 'recordings', all));
  if (reads.length === 0) return;
  const listed = reads.flatMap(({ callId, recordings, read, sealLink }) =>
    recordings.map((each) => ({ callId, each, read, sealLink })),
  );
  await upsert(
    tx,
    recordings,
    listed.map(({ callId, each, read }) => ({
      read,
      row: {
        call_id: callId,
        unique_id: each.uniqueId,
        leg_call_id: each.callId,
        started_at: each.startTime,
        duration_seconds: each.durationSeconds,
        talk_seconds: each.talkTimeSeconds,
        from_endpoint: each.from,
        to_endpoint: each.to,
      },
    })),
  );
  await keepLinks(tx, listed);
  await keepDocuments(
    tx,
    listed.flatMap(({ callId, each, read }) =>
      each.unknownKeys.length > 0
        ? [{ entity: 'recording' as const, key: `${callId}/${each.uniqueId}`, raw: each.raw, read }]
        : [],
    ),
  );
  await recordArtefactReads(tx, 'recordings', reads);
  await pairTranscripts(
    tx,
    listed.map(({ callId }) => callId),
  );
}

async function clearEnds(tx: Transaction, reads: readonly RecordingsRead[]): Promise<readonly RecordingsRead[]> {
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

/** The name of a recording's row, to which its sealed link is bound. */
export function recordingRow(callId: string, uniqueId: string): string {
  return `recording_urls ${callId} ${uniqueId}`;
}

async function keepLinks(
  tx: Transaction,
  listed: readonly { callId: string; each: Recording; sealLink?: SealLink | undefined }[],
): Promise<void> {
  const links = listed.flatMap(({ callId, each: { uniqueId, url }, sealLink }) =>
    url && sealLink ? [{ callId, uniqueId, url: sealLink(url, recordingRow(callId, uniqueId)) }] : [],
  );
  if (links.length === 0) return;
  await hotQuery(
    tx,
    `insert into secrets.recording_urls as t (call_id, unique_id, url)
     select distinct on (1, 2) * from unnest($1::text[], $2::text[], $3::text[]) order by 1, 2
     on conflict (call_id, unique_id) do update set url = excluded.url, last_seen_at = now()`,
    [links.map((link) => link.callId), links.map((link) => link.uniqueId), links.map((link) => link.url)],
  );
}
