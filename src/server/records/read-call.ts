import { type Database, query, sql } from '../../db/database.ts';
import { readTargetStates } from '../../ops/target-states.ts';
import type { Pair } from '../../shared/thread.ts';
import { type RuleRun, readRuns } from './automation.ts';

/** Fields of one type. */
export type Fields<Names extends string, Type> = Readonly<Record<Names, Type>>;

/** Who called whom, for a call or one of its legs. */
type Parties = Fields<'callerName' | 'callerNumber' | 'calledName' | 'calledNumber', string | null>;

export interface CallFacts
  extends Parties,
    Fields<'id' | 'outcome' | 'waitBasis' | 'ringBasis' | 'menuBasis' | 'source', string>,
    Fields<'direction' | 'abandonedIn' | 'recordingsState' | 'transcriptsState', string | null>,
    Fields<'dialledNumber' | 'externalNumber' | 'accountNumber', string | null>,
    Fields<'accountName' | 'customer' | 'answeredByName' | 'placedByName', string | null>,
    Fields<'durationSeconds' | 'talkSeconds' | 'waitSeconds' | 'ringSeconds' | 'menuSeconds', number | null>,
    Fields<'answeredByCount' | 'transferredCount' | 'repeatedCount', number | null>,
    Fields<'startedAt' | 'endedAt', Date | null>,
    Fields<'firstSeenAt' | 'changedAt', Date>,
    Fields<'isInternal' | 'hasLegs' | 'isErased', boolean> {}

export interface CallLeg extends Parties {
  readonly startedAt: Date | null;
  readonly status: string | null;
  readonly calledType: string | null;
  readonly isAnswered: boolean;
  /** A user transferred the call. */
  readonly isTransfer: boolean;
  readonly durationSeconds: number | null;
  readonly talkSeconds: number | null;
  readonly isRecorded: boolean | null;
}

export interface QueueVisit {
  readonly kind: string;
  readonly name: string;
  readonly outcome: string;
  readonly waitSeconds: number | null;
  readonly waitBasis: string;
  readonly nextName: string | null;
}

export interface CallReturn {
  /** As in reporting.missed_calls. */
  readonly by: string | null;
  readonly at: Date | null;
  readonly callId: string | null;
  readonly textedAt: Date | null;
  readonly reachedAt: Date | null;
  readonly isUnreturned: boolean;
}

export interface CallTranscript
  extends Fields<'id' | 'legPairing', string>,
    Fields<'agentName' | 'purpose' | 'sentiment', string | null>,
    Fields<'csatScore' | 'performanceScore' | 'agentSpeaker' | 'segmentCount', number | null>,
    Fields<'isActionRequired' | 'isUrgent', boolean | null> {
  /** The account's own KPIs. The value is null if there is no score. */
  readonly measures: readonly { readonly name: string; readonly value: number | null; readonly note: string | null }[];
  /** Null while texts are hidden. So are the notes of KPIs. */
  readonly words: TranscriptWords | null;
}

interface TranscriptWords
  extends Fields<'summary' | 'csatNote' | 'performanceNote' | 'actionNote' | 'urgentNote', string | null> {
  readonly points: readonly string[] | null;
  readonly segments: readonly Utterance[] | null;
}

export interface Utterance {
  readonly start?: number;
  readonly speaker?: number;
  readonly text?: string;
}

/** Limits of a call page: one call can have very many legs, transcripts and threads. */
const maxOfEach = 100;
/** How long rules may act on a call: its transcripts arrive within a day. */
const rulesMs = 2 * 86_400_000;

/** What the imported contacts `k` say of the other party, besides the name. */
export const customerWords = sql`nullif(concat_ws(' · ', k.company, 'owner ' || k.owner, 'language ' || k.language,
  nullif(array_to_string(k.tags, ', '), '')), '')`;

export type CallRecord = NonNullable<Awaited<ReturnType<typeof readCall>>>;

/**
 * Reads a call with its legs, recordings and transcripts. Undefined if it isn't mirrored, or is deleted at the service.
 */
export async function readCall(db: Database, callId: string) {
  const call = await readFacts(db, callId);
  if (!call) return undefined;
  const transcripts = await readTranscripts(db, callId);
  const targets = (['call', 'recordings', 'transcripts'] as const).map((kind) => ({ kind, key: callId }));
  return {
    call,
    legs: await readLegs(db, callId),
    visits: await readVisits(db, callId),
    /** Undefined unless the call was missed. */
    returned: await readReturn(db, callId),
    /** Missed calls returned by this call. */
    returns: await readReturned(db, call),
    recordings: await readRecordings(db, callId),
    transcripts,
    /** Threads with the other party, starting with the line that was called. */
    threads: await readThreads(db, call),
    runs: await readCallRuns(db, call, transcripts),
    origins: await readTargetStates(db, targets),
    areWordsShown: true,
  };
}

async function readFacts(db: Database, callId: string): Promise<CallFacts | undefined> {
  const [row] = await query(
    db,
    sql<CallFacts>`select f.call_id as id, f.started_at as "startedAt", f.ended_at as "endedAt", f.direction, f.is_internal as "isInternal",
       f.outcome, f.abandoned_in as "abandonedIn", ${customerWords} as customer,
       coalesce(case when f.direction = 'inbound' then k.name end, nullif(f.caller_name, '')) as "callerName",
       nullif(f.caller_number, '') as "callerNumber",
       coalesce(case when f.direction = 'outbound' then k.name end, nullif(f.called_name, '')) as "calledName",
       nullif(f.called_number, '') as "calledNumber", nullif(f.dialled_number, '') as "dialledNumber",
       f.external_number as "externalNumber", f.account_number as "accountNumber", nullif(l.name, '') as "accountName",
       a.user_name as "answeredByName", f.answered_by_count as "answeredByCount", b.user_name as "placedByName",
       f.duration_seconds as "durationSeconds", f.talk_seconds as "talkSeconds", f.wait_seconds as "waitSeconds",
       f.wait_basis as "waitBasis", f.ring_seconds as "ringSeconds", f.ring_basis as "ringBasis", f.menu_seconds as "menuSeconds",
       f.menu_basis as "menuBasis", f.transferred_count as "transferredCount", f.repeated_count as "repeatedCount",
       f.has_legs as "hasLegs", c.recordings_state as "recordingsState",
       c.transcripts_state as "transcriptsState", c.is_erased as "isErased", c.source, c.first_seen_at as "firstSeenAt",
       c.changed_at as "changedAt"
     from reporting.fct_call f join warehouse.calls c using (call_id)
       left join warehouse.contacts k on k.number = warehouse.contact_number(f.external_number)
       left join warehouse.sms_lines l on l.line = f.account_number
       left join reporting.dim_user a on a.user_key = f.answered_user_key
       left join reporting.dim_user b on b.user_key = f.placed_user_key
     where f.call_id = ${callId}`,
  );
  return row;
}

function readLegs(db: Database, callId: string): Promise<CallLeg[]> {
  return query(
    db,
    sql<CallLeg>`select started_at as "startedAt", status, coalesce(talk_seconds > 0, status ~* '^answer', false) as "isAnswered",
       ordinal > 1 and caller_type is not distinct from 'user' as "isTransfer",
       nullif(caller_name, '') as "callerName", nullif(caller_number, '') as "callerNumber", called_type as "calledType",
       nullif(called_name, '') as "calledName", nullif(called_number, '') as "calledNumber",
       duration_seconds as "durationSeconds", talk_seconds as "talkSeconds", is_recorded as "isRecorded"
     from warehouse.call_legs where call_id = ${callId} and deleted_at is null order by ordinal limit ${maxOfEach}`,
  );
}

function readVisits(db: Database, callId: string): Promise<QueueVisit[]> {
  return query(
    db,
    sql<QueueVisit>`select v.kind, coalesce(q.endpoint_name, v.endpoint) as name, v.outcome, v.wait_seconds as "waitSeconds",
       v.wait_basis as "waitBasis", n.queue_name as "nextName"
     from reporting.fct_queue_visit v
       left join rollups.endpoints q on q.kind = v.kind and q.endpoint = v.endpoint
       left join reporting.dim_queue n on n.queue_key = v.next_queue_key
     where v.call_id = ${callId} order by v.visit_number limit ${maxOfEach}`,
  );
}

async function readReturn(db: Database, callId: string): Promise<CallReturn | undefined> {
  const [row] = await query(
    db,
    sql<CallReturn>`select returned_by as by, returned_at as at, returned_call_id as "callId", texted_at as "textedAt",
       reached_at as "reachedAt", is_unreturned as "isUnreturned"
     from reporting.missed_calls where call_id = ${callId}`,
  );
  return row;
}

/**
 * Searches the other party's calls within the callback window, because there is no index from a return to its missed
 * call.
 */
async function readReturned(db: Database, { id, externalNumber, startedAt }: CallFacts) {
  if (externalNumber === null || startedAt === null) return [];
  return query(
    db,
    sql<{ id: string; startedAt: Date }>`select m.call_id as id, m.started_at as "startedAt"
     from reporting.params p
       cross join lateral (
         select call_id from warehouse.calls
         where external_number = ${externalNumber} and started_at >= ${startedAt}::timestamptz - p.callback_window and started_at <= ${startedAt}
           and direction = 'inbound' and status is distinct from 'answered'
         offset 0
       ) c join reporting.missed_calls m on m.call_id = c.call_id
     where m.returned_call_id = ${id} order by m.started_at limit ${maxOfEach}`,
  );
}

function readRecordings(db: Database, callId: string) {
  return query(
    db,
    sql<
      { startedAt: Date | null; durationSeconds: number | null } & Fields<'from' | 'to', string | null>
    >`select started_at as "startedAt", duration_seconds as "durationSeconds",
       nullif(from_endpoint, '') as "from", nullif(to_endpoint, '') as "to"
     from warehouse.recordings where call_id = ${callId} and deleted_at is null order by started_at, unique_id limit ${maxOfEach}`,
  );
}

function readTranscripts(db: Database, callId: string): Promise<CallTranscript[]> {
  return query(
    db,
    sql<CallTranscript>`select t.transcript_id as id, t.leg_pairing as "legPairing", u.user_name as "agentName",
       nullif(t.call_purpose, '') as purpose, nullif(t.call_sentiment, '') as sentiment, t.csat_score as "csatScore",
       t.agent_performance_score as "performanceScore", t.is_action_required as "isActionRequired",
       t.is_urgent_action_required as "isUrgent", t.agent_speaker as "agentSpeaker", t.segment_count as "segmentCount",
       (select coalesce(jsonb_agg(jsonb_build_object('name', k.kpi_name, 'value', k.kpi_value,
          'note', case when p.is_text_shown then nullif(k.kpi_note, '') end) order by k.ordinal), '[]')
        from warehouse.transcript_kpis k where k.transcript_id = t.transcript_id) as measures,
       case when p.is_text_shown then jsonb_build_object('summary', nullif(t.short_summary, ''), 'points', to_jsonb(t.bullet_points),
         'csatNote', nullif(t.csat_note, ''), 'performanceNote', nullif(t.agent_performance_note, ''),
         'actionNote', nullif(t.action_required_note, ''), 'urgentNote', nullif(t.urgent_action_required_note, ''),
         'segments', (select b.segments from warehouse.transcript_bodies b where b.transcript_id = t.transcript_id)) end as words
     from warehouse.transcripts t cross join reporting.params p
       left join rollups.transcript_agents a on a.transcript_id = t.transcript_id
       left join reporting.dim_user u on u.user_id = a.agent_user_id
     where t.call_id = ${callId} and t.deleted_at is null order by t.transcript_id limit ${maxOfEach}`,
  );
}

async function readThreads(db: Database, { externalNumber, accountNumber }: CallFacts) {
  if (externalNumber === null) return [];
  return query(
    db,
    sql<
      Pair & { messageCount: number; lastAt: Date | null }
    >`select line, number, message_count as "messageCount", last_message_at as "lastAt"
     from warehouse.sms_conversations where number = ${externalNumber} and participants_key = '' and deleted_at is null
     order by line is distinct from ${accountNumber}, last_message_at desc nulls last limit ${maxOfEach}`,
  );
}

async function readCallRuns(
  db: Database,
  { id, startedAt, externalNumber, accountNumber }: CallFacts,
  transcripts: readonly CallTranscript[],
): Promise<RuleRun[]> {
  if (startedAt === null || externalNumber === null || accountNumber === null) return [];
  const span = { from: startedAt, until: new Date(startedAt.getTime() + rulesMs) };
  const runs = await readRuns(db, { line: accountNumber, number: externalNumber }, span);
  const keys = new Set([id, ...transcripts.map((each) => each.id)]);
  return runs.filter(({ triggerKind, triggerKey }) => triggerKind !== 'message_received' && keys.has(triggerKey));
}
