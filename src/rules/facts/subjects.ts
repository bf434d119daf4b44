import { type Database, hotQuery, type Transaction } from '../../warehouse/database.ts';
import type { Obstacle } from '../evaluate.ts';
import type { Trigger, TriggerKind } from '../triggers.ts';
import type { FactsOf } from './declared.ts';
import { plainText } from './plain.ts';

/** What a trigger is about: two parties, and what happened between them. */
export interface Subject {
  readonly line: string;
  readonly number: string;
  /** Null for a caller who never texted. */
  readonly conversationId: string | null;
  /** Texts up to this one were there at the moment of the trigger. */
  readonly lastMessageId: string;
  readonly callId: string | null;
  readonly message?: FactsOf<'message'>;
  readonly call?: FactsOf<'call'>;
  readonly transcript?: FactsOf<'transcript'>;
}

/** Beyond every id of the service: all texts of the moment count. */
const endOfTime = '9223372036854775807';

/** Finds what triggers are about, in their order. */
export async function readSubjects(
  db: Database | Transaction,
  triggers: readonly Trigger[],
): Promise<(Subject | Obstacle)[]> {
  const found = new Map<Trigger, Subject | Obstacle>();
  for (const [family, some] of Map.groupBy(triggers, ({ kind }) => families[kind])) {
    const rows = await readers[family](
      db,
      some.map(({ key }) => key),
    );
    for (const trigger of some) found.set(trigger, subjectOf(trigger.kind, rows.get(trigger.key)));
  }
  return triggers.map((trigger) => found.get(trigger) ?? 'gone');
}

type Family = 'text' | 'call' | 'transcript';

const families: Readonly<Record<TriggerKind, Family>> = {
  message_received: 'text',
  thread_idle: 'text',
  call_missed: 'call',
  call_ended: 'call',
  voicemail_left: 'call',
  transcript_ready: 'transcript',
  action_required: 'transcript',
};

/** A subject as the database has it. */
interface Found extends Omit<Subject, 'line' | 'number'> {
  readonly line: string | null;
  readonly number: string | null;
  readonly isGroup: boolean;
}

function subjectOf(kind: TriggerKind, found: Found | undefined): Subject | Obstacle {
  if (found === undefined) return 'gone';
  // What the call is called may have changed since it was noted.
  if (kind === 'call_missed' && found.call?.status !== 'missed') return 'gone';
  if (kind === 'voicemail_left' && found.call?.status !== 'voicemail') return 'gone';
  if (found.isGroup) return 'group_thread';
  const { line, number, isGroup: _, message, ...rest } = found;
  if (line === null || number === null) return 'no_other_party';
  return { line, number, ...rest, ...(kind === 'message_received' && message && { message }) };
}

type Reader = (db: Database | Transaction, keys: readonly string[]) => Promise<Map<string, Found>>;

const readers: Readonly<Record<Family, Reader>> = { text: readTexts, call: readCalls, transcript: readTranscripts };

async function readTexts(db: Database | Transaction, keys: readonly string[]): Promise<Map<string, Found>> {
  const rows = await hotQuery<{
    key: string;
    line: string;
    number: string;
    conversation_id: string;
    message_id: string;
    is_group: boolean;
    body: string | null;
    media_count: number | null;
    sent_at: Date;
  }>(
    db,
    `select k.key, c.line, c.number, c.conversation_id, m.message_id, c.participants_key <> '' as is_group, m.body, m.media_count, m.sent_at
     from unnest($1::text[]) as k (key)
     join warehouse.sms_messages m
       on m.conversation_id = split_part(k.key, '/', 1)::bigint and m.message_id = split_part(k.key, '/', 2)::bigint
     join warehouse.sms_conversations c on c.conversation_id = m.conversation_id
     where m.deleted_at is null and m.sent_at is not null`,
    [keys],
  );
  return new Map(
    rows.map((row) => [
      row.key,
      {
        line: row.line,
        number: row.number,
        conversationId: row.conversation_id,
        lastMessageId: row.message_id,
        callId: null,
        isGroup: row.is_group,
        message: {
          id: Number(row.message_id),
          text: row.body ?? '',
          plain: plainText(row.body ?? ''),
          media_count: row.media_count ?? 0,
          sent_at: row.sent_at,
        },
      },
    ]),
  );
}

interface CallRow {
  key: string;
  call_id: string;
  line: string | null;
  number: string | null;
  conversation_id: string | null;
  direction: string | null;
  status: string | null;
  started_at: Date | null;
  ended_at: Date;
  duration_seconds: number | null;
  talk_seconds: number | null;
  transferred_count: number | null;
  is_abandoned: boolean | null;
  is_recorded: boolean | null;
  repeated_count: number | null;
}

const callColumns = `call.call_id, call.account_number as line, call.external_number as number, c.conversation_id, call.direction,
  call.status, call.started_at, call.ended_at, call.duration_seconds, call.talk_seconds, call.transferred_count,
  call.is_abandoned, call.is_recorded, call.repeated_count`;
const withConversation = `left join warehouse.sms_conversations c
  on c.line = call.account_number and c.number = call.external_number and c.participants_key = ''`;

async function readCalls(db: Database | Transaction, keys: readonly string[]): Promise<Map<string, Found>> {
  const rows = await hotQuery<CallRow>(
    db,
    `select k.key, ${callColumns} from unnest($1::text[]) as k (key)
     join warehouse.calls call on call.call_id = k.key ${withConversation}
     where call.deleted_at is null and call.ended_at is not null`,
    [keys],
  );
  return new Map(rows.map((row) => [row.key, foundCall(row)]));
}

function foundCall(row: CallRow): Found {
  return {
    line: row.line,
    number: row.number,
    conversationId: row.conversation_id,
    lastMessageId: endOfTime,
    callId: row.call_id,
    isGroup: false,
    call: {
      id: row.call_id,
      direction: row.direction ?? '',
      status: row.status ?? 'unknown',
      started_at: row.started_at ?? undefined,
      ended_at: row.ended_at,
      duration_seconds: row.duration_seconds ?? 0,
      talk_seconds: row.talk_seconds ?? 0,
      transferred_count: row.transferred_count ?? 0,
      is_abandoned: row.is_abandoned ?? false,
      is_recorded: row.is_recorded ?? false,
      repeated_count: row.repeated_count ?? 0,
    },
  };
}

/** So much of what was said can be looked through. */
const mostSpoken = 20_000;

async function readTranscripts(db: Database | Transaction, keys: readonly string[]): Promise<Map<string, Found>> {
  const rows = await hotQuery<
    CallRow & {
      transcript_id: string;
      full_text: string | null;
      short_summary: string | null;
      call_purpose: string | null;
      call_sentiment: string | null;
      csat_score: number | null;
      agent_performance_score: number | null;
      is_action_required: boolean | null;
      is_urgent_action_required: boolean | null;
      note: string | null;
      agent_name: string | null;
    }
  >(
    db,
    `select k.key, ${callColumns}, t.transcript_id, left(b.full_text, ${mostSpoken}) as full_text, t.short_summary, t.call_purpose,
       t.call_sentiment, t.csat_score, t.agent_performance_score, t.is_action_required, t.is_urgent_action_required,
       coalesce(nullif(t.urgent_action_required_note, ''), nullif(t.action_required_note, '')) as note, t.agent_name
     from unnest($1::text[]) as k (key)
     join warehouse.transcripts t on t.transcript_id = k.key::bigint
     join warehouse.calls call on call.call_id = t.call_id ${withConversation}
     left join warehouse.transcript_bodies b on b.transcript_id = t.transcript_id
     where t.deleted_at is null and call.ended_at > t.first_seen_at - interval '1 day'`,
    [keys],
  );
  return new Map(
    rows.map((row) => [
      row.key,
      {
        ...foundCall(row),
        transcript: {
          id: Number(row.transcript_id),
          text: row.full_text ?? '',
          summary: row.short_summary ?? undefined,
          purpose: row.call_purpose ?? undefined,
          sentiment: row.call_sentiment ?? undefined,
          satisfaction: row.csat_score ?? undefined,
          performance: row.agent_performance_score ?? undefined,
          is_action_required: row.is_action_required ?? false,
          is_urgent: row.is_urgent_action_required ?? false,
          action_note: row.note ?? undefined,
          agent_name: row.agent_name ?? undefined,
        },
      },
    ]),
  );
}
