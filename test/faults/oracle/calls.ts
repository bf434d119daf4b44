import type { Pool } from 'pg';
import { belongingOf } from '../../../src/warehouse/links.ts';
import { links } from '../deployment/deployment.ts';
import type { FaultyService, Resource } from '../deployment/service.ts';
import { type Columns, differences, expectedRow, type Row } from './differences.ts';

const call = {
  call_id: 'id',
  direction: 'direction',
  status: 'status',
  status_code: 'statusCode',
  caller_type: 'callerType',
  caller_name: 'callerName',
  caller_number: 'callerNumber',
  called_type: 'calledType',
  called_name: 'calledName',
  called_number: 'calledNumber',
  dialled_number: 'dialledNumber',
  caller_id_internal: 'callerIdInternal',
  caller_id_external: 'callerIdExternal',
  started_at: 'startTime',
  ended_at: 'endTime',
  duration_seconds: 'durationSeconds',
  talk_seconds: 'talkTimeSeconds',
  transferred_count: 'transferred',
  is_abandoned: 'abandoned',
  is_recorded: 'recorded',
  called_back_call_id: 'calledBack',
  repeated_count: 'repeated',
};
const leg = {
  unique_id: 'uniqueId',
  leg_call_id: 'callId',
  bridged_from_call_id: 'bridgedFromCallId',
  status: 'status',
  caller_number: 'callerNumber',
  called_number: 'calledNumber',
  started_at: 'startTime',
  duration_seconds: 'durationSeconds',
  talk_seconds: 'talkTimeSeconds',
  is_recorded: 'recorded',
};
const recording = {
  unique_id: 'uniqueId',
  leg_call_id: 'callId',
  url: 'url',
  started_at: 'startTime',
  duration_seconds: 'durationSeconds',
  talk_seconds: 'talkTimeSeconds',
  from_endpoint: 'from',
  to_endpoint: 'to',
};
const transcript = {
  transcript_id: 'id',
  call_id: 'callId',
  recording_file: 'recording',
  short_summary: 'shortSummary',
  bullet_points: 'bulletPoints',
  call_purpose: 'callPurpose',
  call_sentiment: 'callSentiment',
  csat_score: 'customerSatisfactionScore',
  agent_performance_score: 'agentPerformanceScore',
  is_action_required: 'actionRequired',
  agent_name: 'agentName',
  agent_speaker: 'agentSpeaker',
  words: 'words',
};

/** Where the mirror of a call, its legs, recordings and transcripts is not what the service answers now. */
export async function callDifferences(database: Pool, service: FaultyService, callId: string): Promise<string[]> {
  const [shown, recordings, transcripts] = await Promise.all([
    service.read<Resource & { legs: Resource[] }>(`/calls/${callId}`),
    service.read(`/calls/${callId}/recordings`),
    service.read(`/calls/${callId}/transcripts`),
  ]);
  const spoken = transcripts.map((each) => ({
    ...each,
    words: (each.segments as { text: string }[]).map(({ text }) => text).join('\n'),
  }));
  const rowsOf = async (sql: string) => (await database.query<Row>(sql, [callId])).rows;
  const held = `call_id = $1 and deleted_at is null`;
  return [
    ...differences(`call ${callId}`, of([shown], call), await rowsOf(`select * from warehouse.calls where ${held}`)),
    ...differences(
      `leg of ${callId}`,
      of(shown.legs, leg),
      await rowsOf(`select * from warehouse.call_legs where ${held} order by ordinal`),
    ),
    ...differences(
      `recording of ${callId}`,
      sorted(of(recordings, recording), 'unique_id'),
      sorted(
        (
          await rowsOf(
            `select r.*, l.link from warehouse.recordings r join secrets.links l on l.kind = 'recording' and l.owner = r.call_id and l.part = r.unique_id
               where ${held}`,
          )
        ).map((row) => ({
          ...row,
          url: links.open(String(row.link), belongingOf('recording', { owner: callId, part: String(row.unique_id) })),
        })),
        'unique_id',
      ),
    ),
    ...differences(
      `transcript of ${callId}`,
      sorted(of(spoken, transcript), 'transcript_id'),
      sorted(
        await rowsOf(
          `select t.*, b.full_text as words from warehouse.transcripts t
           join warehouse.transcript_bodies b using (transcript_id) where ${held}`,
        ),
        'transcript_id',
      ),
    ),
  ];
}

function of(resources: readonly Resource[], columns: Columns): Row[] {
  return resources.map((resource) => expectedRow(resource, columns));
}

function sorted(rows: readonly Row[], column: string): Row[] {
  return [...rows].sort((a, b) => (String(a[column]) < String(b[column]) ? -1 : 1));
}
