import type { Segment, Transcript } from '../api-client/client.ts';
import { hotQuery, relation, sql, type Transaction } from '../db/database.ts';
import { type ArtefactKind, type ArtefactRead, type Listed, writeArtefacts } from './artefacts.ts';
import { erasedCalls } from './erasure/erased-calls.ts';
import type { HeldCalls } from './held-calls.ts';
import { mirrorTable } from './upsert.ts';
import { type Follow, followingTranscript } from './what-follows.ts';

/** A column with spoken or written content. Empty for a transcript older than its retention. */
const unexpired =
  <Words>(words: (each: Transcript) => Words) =>
  ({ each, isExpired }: Listed<Transcript>) =>
    isExpired ? undefined : words(each);

export const transcripts = mirrorTable<Listed<Transcript>>()('warehouse.transcripts', ['transcript_id'], {
  transcript_id: ['bigint', ({ each }) => each.id],
  call_id: ['text', ({ callId }) => callId],
  recording_file: ['text', ({ each }) => each.recording],
  segment_count: ['integer', ({ each }) => each.segments?.length],
  short_summary: ['text', unexpired((each) => each.shortSummary)],
  bullet_points: ['text[]', unexpired((each) => each.bulletPoints)],
  call_purpose: ['text', ({ each }) => each.callPurpose],
  call_sentiment: ['text', ({ each }) => each.callSentiment],
  csat_score: ['integer', ({ each }) => each.customerSatisfactionScore],
  csat_note: ['text', unexpired((each) => each.customerSatisfactionScoreNote)],
  agent_performance_score: ['integer', ({ each }) => each.agentPerformanceScore],
  agent_performance_note: ['text', unexpired((each) => each.agentPerformanceScoreNote)],
  is_action_required: ['boolean', ({ each }) => each.actionRequired],
  action_required_note: ['text', unexpired((each) => each.actionRequiredNote)],
  is_urgent_action_required: ['boolean', ({ each }) => each.urgentActionRequired],
  urgent_action_required_note: ['text', unexpired((each) => each.urgentActionRequiredNote)],
  agent_name: ['text', ({ each }) => each.agentName],
  agent_speaker: ['integer', ({ each }) => each.agentSpeaker],
  agent_talk_seconds: ['double precision', ({ each }) => talkSeconds(each, true)],
  customer_talk_seconds: ['double precision', ({ each }) => talkSeconds(each, false)],
});

/** One read of a call's transcripts. */
export interface TranscriptsRead extends ArtefactRead {
  readonly transcripts: readonly Transcript[];
}

/** The columns with content. Agents' names and the account's vocabulary stay, because reports count by them. */
export const wordColumns = [
  'short_summary',
  'bullet_points',
  'csat_note',
  'agent_performance_note',
  'action_required_note',
  'urgent_action_required_note',
] as const satisfies readonly (keyof typeof transcripts.columns)[];

/**
 * Mirrors transcripts, stores their segments separately, and pairs them with the mirrored recordings. Skips transcripts
 * of erased calls. Those older than their retention are stored without content.
 */
export async function writeTranscripts(
  tx: Transaction,
  follow: Follow,
  reads: readonly TranscriptsRead[],
  locked?: HeldCalls,
): Promise<void> {
  await writeArtefacts(tx, follow, kind, reads, locked);
}

const kind: ArtefactKind<TranscriptsRead, Transcript, typeof transcripts.columns> = {
  ...{ name: 'transcripts', table: transcripts },
  watched: ['transcript_id', 'call_id', 'is_action_required', 'is_urgent_action_required'],
  ...{ withoutErased, storeContent: storeWords, followingChange: followingTranscript },
  listedBy: (read) => read.transcripts,
};

async function withoutErased(tx: Transaction, reads: readonly TranscriptsRead[]): Promise<readonly TranscriptsRead[]> {
  const erased = await erasedCalls(
    tx,
    reads.map(({ callId }) => callId),
  );
  return reads.map((each) => (erased.has(each.callId) ? { ...each, transcripts: [] } : each));
}

async function storeWords(tx: Transaction, listed: readonly Listed<Transcript>[]): Promise<string[]> {
  await storeBodies(tx, listed);
  return storeKpis(tx, listed);
}

/** The talk time in seconds of the agent and of all others. Undefined if the agent isn't known among the speakers. */
function talkSeconds({ agentSpeaker, segments }: Transcript, isOfAgent: boolean): number | undefined {
  if (agentSpeaker === undefined || segments === undefined) return undefined;
  let seconds = 0;
  for (const { start, end, speaker } of segments) {
    if (start === undefined || end === undefined || speaker === undefined) continue;
    if ((speaker === agentSpeaker) === isOfAgent) seconds += Math.max(0, end - start);
  }
  return Math.round(seconds * 1000) / 1000;
}

function segmentJson({ start, end, speaker, text }: Segment): object {
  return { start: start ?? null, end: end ?? null, speaker: speaker ?? null, text: text ?? null };
}

async function storeBodies(tx: Transaction, listed: readonly Listed<Transcript>[]): Promise<void> {
  const bodies = listed.filter(({ each, isExpired }) => each.segments !== undefined && !isExpired);
  if (bodies.length === 0) return;
  await hotQuery(
    tx,
    sql`
      insert into warehouse.transcript_bodies as t (transcript_id, segments, full_text, fetch_seq)
      select distinct on (transcript_id) *
      from ${relation('listed', bodies, {
        transcript_id: ['bigint', ({ each }) => each.id],
        segments: ['jsonb', ({ each }) => (each.segments ?? []).map(segmentJson)],
        full_text: ['text', ({ each }) => (each.segments ?? []).map((segment) => segment.text ?? '').join('\n')],
        fetch_seq: ['bigint', ({ read }) => read.fetchSeq],
      })}
      order by transcript_id, fetch_seq desc
      on conflict (transcript_id) do update
        set segments = excluded.segments, full_text = excluded.full_text, fetch_seq = excluded.fetch_seq
      where t.fetch_seq <= excluded.fetch_seq`,
  );
}

/**
 * Replaces the KPIs of each transcript by those of its newest read, if they differ, and keeps new names for the
 * reports. Resolves to the calls of these transcripts.
 */
async function storeKpis(tx: Transaction, listed: readonly Listed<Transcript>[]): Promise<string[]> {
  const scored = listed.filter(({ each }) => each.customKpis !== undefined);
  if (scored.length === 0) return [];
  const held = await hotQuery(
    tx,
    sql<{ transcript_id: string; fetch_seq: string; kpis: unknown }>`
      select t.transcript_id, t.fetch_seq,
        (select json_agg(json_build_array(k.kpi_name, k.kpi_value, k.kpi_note) order by k.ordinal)
          from warehouse.transcript_kpis k where k.transcript_id = t.transcript_id) as kpis
      from warehouse.transcripts t
      join ${relation('r', scored, {
        transcript_id: ['bigint', ({ each }) => each.id],
        fetch_seq: ['bigint', ({ read }) => read.fetchSeq],
      })} using (transcript_id, fetch_seq)`,
  );
  const before = new Map(held.map((row) => [row.transcript_id, row]));
  const valuesOf = ({ each, isExpired }: Listed<Transcript>) =>
    (each.customKpis ?? []).map(({ name, value, note }) => [
      name ?? '',
      value ?? null,
      (isExpired ? null : note) ?? null,
    ]);
  const changed = scored.filter((one) => {
    const row = before.get(String(one.each.id));
    return row?.fetch_seq === one.read.fetchSeq && JSON.stringify(row.kpis ?? []) !== JSON.stringify(valuesOf(one));
  });
  if (changed.length === 0) return [];
  const ids = changed.map(({ each }) => each.id);
  await hotQuery(tx, sql`delete from warehouse.transcript_kpis where transcript_id = any(${ids}::bigint[])`);
  const kpis = changed.flatMap((one) =>
    valuesOf(one).map((values, at) => ({ id: one.each.id, ordinal: at + 1, values })),
  );
  await hotQuery(
    tx,
    sql`
      insert into warehouse.transcript_kpis (transcript_id, ordinal, kpi_name, kpi_value, kpi_note)
      select distinct on (transcript_id, ordinal) * from ${relation('k', kpis, {
        transcript_id: ['bigint', ({ id }) => id],
        ordinal: 'smallint',
        kpi_name: ['text', ({ values }) => values[0]],
        kpi_value: ['integer', ({ values }) => values[1]],
        kpi_note: ['text', ({ values }) => values[2]],
      })} order by transcript_id, ordinal`,
  );
  return changed.map(({ callId }) => callId);
}
