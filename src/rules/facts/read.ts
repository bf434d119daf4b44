import type { RawBuilder } from 'kysely';
import { type Database, hotQuery, relation, sql, type Transaction } from '../../db/database.ts';
import { hasTalkedSince } from '../../ledger/talks.ts';
import type { Pair } from '../../shared/thread.ts';
import type { Reached } from '../../warehouse/call-facts.ts';
import { sameNumbers } from '../../warehouse/phone-numbers.ts';
import { hoursOf } from '../business-hours.ts';
import type { RuleSet } from '../rule.ts';
import { happenedAt, type Trigger, type TriggerKind } from '../triggers.ts';
import type { Facts, FactsOf } from './declared.ts';
import { hoursAt } from './hours.ts';
import { factsOfRow, plainText } from './values.ts';

/**
 * Why no rule can act on a trigger: it was deleted, has no other party, belongs to a group, or is a missed call that
 * needs no call-back.
 */
export type Obstacle = 'gone' | 'no_other_party' | 'group_thread' | 'no_call_back';

/** The two parties of a trigger. */
export interface Subject extends Pair {
  /** Null for a caller who never texted. */
  readonly conversationId: string | null;
  /** The newest text at the moment of the trigger. */
  readonly lastMessageId: string;
  readonly callId: string | null;
}

/** A trigger with all that rules may know of it. */
export type Case =
  | {
      readonly trigger: Trigger;
      readonly subject: Subject;
      readonly facts: Facts;
      /** The other party's newest text before the trigger: it ends an earlier resolve. */
      readonly earlierInboundAt?: Date | undefined;
    }
  | { readonly trigger: Trigger; readonly subject: undefined; readonly facts: Obstacle };
export type KnownCase = Extract<Case, { subject: Subject }>;

export interface ReadOptions {
  /** Leaves out what rules did since the events of the triggers, and later talks. */
  readonly isPast?: boolean;
}

/**
 * Reads the facts of triggers as of their moments, in the order of the triggers, with at most five statements. Leaves
 * out the facts about replies, which come from the history.
 */
export async function readCases(
  db: Database | Transaction,
  triggers: readonly Trigger[],
  { hours, missed }: Pick<RuleSet, 'hours' | 'missed'>,
  options: ReadOptions = {},
): Promise<Case[]> {
  const cases = await readSubjects(db, triggers, missed);
  const known = cases.filter((each) => each.subject !== undefined);
  const surroundings = await readSurroundings(db, known, options);
  const rows = new Map<Case, SurroundingsRow | undefined>(known.map((each, at) => [each, surroundings[at]]));
  return cases.map((each) => {
    const row = rows.get(each);
    if (!each.subject || !row) return each;
    const { earlierInboundAt, ...surrounding } = row;
    const facts = {
      ...each.facts,
      ...factsOfRow(surrounding),
      hours: hoursAt(hoursOf(hours, each.subject.line), each.trigger.at),
    };
    return { ...each, facts, earlierInboundAt: earlierInboundAt ?? undefined };
  });
}

/** A row about the text, call or transcript of a trigger. Columns such as `message.text` are its facts. */
interface SubjectRow extends Record<string, unknown> {
  readonly key: string;
  readonly line: string | null;
  readonly number: string | null;
  readonly conversationId: string | null;
  readonly lastMessageId: string;
  readonly callId: string | null;
  readonly isGroup: boolean;
}

type Family = 'text' | 'idle' | 'call' | 'transcript';

const families: Readonly<Record<TriggerKind, Family>> = {
  message_received: 'text',
  thread_idle: 'idle',
  call_missed: 'call',
  call_ended: 'call',
  voicemail_left: 'call',
  transcript_ready: 'transcript',
  action_required: 'transcript',
};

/** The cases of triggers with the facts of the events themselves. */
async function readSubjects(
  db: Database | Transaction,
  triggers: readonly Trigger[],
  missed: RuleSet['missed'],
): Promise<Case[]> {
  const rows = new Map<string, SubjectRow>();
  for (const [family, some] of Map.groupBy(triggers, ({ kind }) => families[kind])) {
    const keys = relation('k', some, { key: 'text' });
    const found = await hotQuery<SubjectRow>(db, subjectStatements[family](keys));
    for (const row of found) rows.set(`${family} ${row.key}`, row);
  }
  return triggers.map((trigger) => caseOf(trigger, rows.get(`${families[trigger.kind]} ${trigger.key}`), missed));
}

function caseOf(trigger: Trigger, row: SubjectRow | undefined, missed: RuleSet['missed']): Case {
  const refused = (facts: Obstacle) => ({ trigger, subject: undefined, facts });
  const { kind, at: now } = trigger;
  if (row === undefined) return refused('gone');
  const { line, number, conversationId, lastMessageId, callId, isGroup } = row;
  const { message, ...facts } = factsOfRow(row);
  // The status of a call can change after its event was recorded.
  if (kind === 'call_missed' && facts.call?.status !== 'missed') return refused('gone');
  if (kind === 'voicemail_left' && facts.call?.status !== 'voicemail') return refused('gone');
  if (isGroup) return refused('group_thread');
  if (line === null || number === null) return refused('no_other_party');
  if (kind === 'call_missed' && !needsCallBack(facts.call, missed)) return refused('no_call_back');
  const text = message && { message: { ...message, plain: plainText(message.text) } };
  const subject = { line, number, conversationId, lastMessageId, callId };
  return { trigger, subject, facts: { now, ...facts, ...text } };
}

/** The view `missed_calls` has the same condition for its calls. */
function needsCallBack(call: FactsOf<'call'> | undefined, { reached, seconds }: RuleSet['missed']): boolean {
  return call?.direction === 'inbound' && reached.includes(call.reached as Reached) && call.duration_seconds >= seconds;
}

/** Greater than every id of the service: all texts up to the moment count. */
const maxId = '9223372036854775807';

/** Characters of a transcript that conditions can search. */
const maxTranscriptLength = 20_000;

const callColumns =
  sql.raw(`call.account_number as line, call.external_number as number, c.conversation_id as "conversationId",
  ${maxId} as "lastMessageId", call.call_id as "callId", false as "isGroup",
  call.call_id as "call.id", coalesce(call.direction, '') as "call.direction", coalesce(call.status, 'unknown') as "call.status",
  call.started_at as "call.started_at", call.ended_at as "call.ended_at",
  coalesce(call.duration_seconds, 0) as "call.duration_seconds", coalesce(call.talk_seconds, 0) as "call.talk_seconds",
  call.legs_wait_seconds as "call.wait_seconds", call.menu_seconds as "call.menu_seconds",
  coalesce(call.reached, 'unknown') as "call.reached", coalesce(call.is_message_left, false) as "call.message_left",
  call.message_seconds as "call.message_seconds", call.answered_user_id as "call.answered_user_id",
  coalesce(call.queue, call.huntgroup) as "call.queue"`);

const withConversation = sql.raw(`left join warehouse.sms_conversations c
  on c.line = call.account_number and c.number = call.external_number and c.participants_key = ''`);

/** `limit 1` makes it a lookup by key, also in a plan for an empty table. */
const callOf = (id: RawBuilder<unknown>) =>
  sql`cross join lateral (select * from warehouse.calls c where c.call_id = ${id} limit 1) call`;

type Keys = ReturnType<typeof relation>;

/** A text with the facts of `message`, from the text with this alias. */
const textSubject = (keys: Keys, message: 'm' | 'theirs', joined = sql``) => {
  const column = (name: string) => sql.ref(`${message}.${name}`);
  return sql<SubjectRow>`
    select k.key, c.line, c.number, c.conversation_id as "conversationId", m.message_id as "lastMessageId", null as "callId",
      c.participants_key <> '' as "isGroup", ${column('message_id')} as "message.id", coalesce(${column('body')}, '') as "message.text",
      coalesce(${column('is_reaction')}, false) as "message.is_reaction",
      coalesce(${column('media_count')}, 0) as "message.media_count", ${column('sent_at')} as "message.sent_at"
    from ${keys}
    cross join lateral (
      select * from warehouse.sms_messages m
      where m.conversation_id = split_part(k.key, '/', 1)::bigint and m.message_id = split_part(k.key, '/', 2)::bigint limit 1
    ) m
    join warehouse.sms_conversations c on c.conversation_id = m.conversation_id
    ${joined}
    where m.deleted_at is null and m.sent_at is not null`;
};

const withTheirLast = sql`left join lateral (
      select t.message_id, t.body, t.is_reaction, t.media_count, t.sent_at from warehouse.sms_messages t
      where t.conversation_id = m.conversation_id and t.direction = 'in' and t.deleted_at is null and t.is_scheduled is not true
        and t.is_reaction is not true and (t.sent_at, t.message_id) <= (m.sent_at, m.message_id)
      order by t.sent_at desc, t.message_id desc limit 1
    ) theirs on true`;

const subjectStatements = {
  text: (keys: Keys) => textSubject(keys, 'm'),
  idle: (keys: Keys) => textSubject(keys, 'theirs', withTheirLast),
  call: (keys: Keys) => sql<SubjectRow>`
    select k.key, ${callColumns} from ${keys}
    ${callOf(sql`k.key`)} ${withConversation}
    where call.deleted_at is null and call.ended_at is not null`,
  transcript: (keys: Keys) => sql<SubjectRow>`
    select k.key, ${callColumns},
      coalesce(left(b.full_text, ${sql.lit(maxTranscriptLength)}), '') as "transcript.text",
      t.short_summary as "transcript.summary", t.call_sentiment as "transcript.sentiment",
      coalesce(t.is_action_required, false) as "transcript.is_action_required",
      coalesce(t.is_urgent_action_required, false) as "transcript.is_urgent",
      coalesce(nullif(t.urgent_action_required_note, ''), nullif(t.action_required_note, '')) as "transcript.action_note"
    from ${keys}
    cross join lateral (select * from warehouse.transcripts t where t.transcript_id = k.key::bigint limit 1) t
    ${callOf(sql`t.call_id`)} ${withConversation}
    left join warehouse.transcript_bodies b on b.transcript_id = t.transcript_id
    where t.deleted_at is null and call.ended_at > t.first_seen_at - interval '1 day'`,
} as const;

/** The thread, line and contact of a trigger. Columns such as `thread.message_count` are their facts. */
interface SurroundingsRow extends Record<string, unknown> {
  readonly earlierInboundAt: Date | null;
}

/** A call is known once it has ended: a call in progress when a text arrived doesn't count. */
const wasKnown = sql`date_trunc('milliseconds', coalesce(k.ended_at, k.started_at)) <= s.happened_at`;

async function readSurroundings(
  db: Database | Transaction,
  known: readonly KnownCase[],
  { isPast = false }: ReadOptions,
): Promise<SurroundingsRow[]> {
  if (known.length === 0) return [];
  const formsOf = ({ subject }: KnownCase) => sameNumbers(subject.number);
  // A search for several forms costs more, and few countries have them.
  const haveForms = known.some((each) => formsOf(each).length > 1);
  const isNumber = (column: string) => sql`${sql.ref(column)} = ${haveForms ? sql`any(s.numbers)` : sql`s.number`}`;
  const subjects = relation(
    's',
    known,
    {
      conversation_id: ['bigint', ({ subject }) => subject.conversationId],
      line: ['text', ({ subject }) => subject.line],
      number: ['text', ({ subject }) => subject.number],
      numbers: ['text[]', (each) => (haveForms ? formsOf(each) : undefined)],
      at: ['timestamptz', ({ trigger }) => trigger.at],
      happened_at: ['timestamptz', ({ trigger }) => happenedAt(trigger)],
      last_message_id: ['bigint', ({ subject }) => subject.lastMessageId],
      call_id: ['text', ({ subject }) => subject.callId],
      is_text: ['boolean', ({ trigger }) => trigger.kind === 'message_received' && trigger.afterSeconds === undefined],
    },
    'ordinal',
  );
  const isNotByRule = (sendOrRun: string, at: string) =>
    sql`(not ${isPast} or ${sql.ref(sendOrRun)} is null or ${sql.ref(at)} < date_trunc('second', s.at))`;
  return hotQuery<SurroundingsRow>(
    db,
    sql`
      select thread.*, state.is_resolved as "thread.is_resolved",
        s.line as "line.number", coalesce(l.name, '') as "line.name", l.line is not null as "line.can_text",
        s.number as "contact.number", coalesce(contact.name, caller.name) as "contact.name",
        contact.company as "contact.company", contact.owner as "contact.owner", contact.language as "contact.language",
        coalesce(contact.tags, '{}') as "contact.tags",
        not exists (
          select from warehouse.sms_messages m
          where ${isNumber('m.number')} and m.is_scheduled is not true and m.deleted_at is null
            and m.sent_at < s.happened_at + interval '1 ms'
            and (date_trunc('milliseconds', m.sent_at), m.message_id) < (s.happened_at, s.last_message_id)
            and ${isNotByRule('m.send_id', 'm.sent_at')}
        ) and not exists (
          select from warehouse.calls k
          where ${isNumber('k.external_number')} and k.started_at < s.happened_at and ${wasKnown}
            and k.call_id is distinct from s.call_id and k.deleted_at is null
        ) as "contact.is_new",
        ${hasTalkedSince({
          isNumber,
          callId: sql`s.call_id`,
          since: sql`coalesce(own.started_at, s.happened_at)`,
          until: sql`known.until`,
        })} as "contact.talked_since"
      from ${subjects}
      left join warehouse.sms_lines l on l.line = s.line and l.deleted_at is null
      left join lateral (select * from warehouse.calls c where c.call_id = s.call_id limit 1) own on true
      left join warehouse.contacts contact on contact.number = warehouse.contact_number(s.number)
      cross join lateral (
        -- A past trigger could be evaluated once it was mirrored, which a back-fill can have done long after.
        select case when ${isPast} then greatest(s.at, case
          when own.first_seen_at < s.at + interval '1 day' then own.first_seen_at end) end as until
      ) known
      left join lateral (
        select a.sent_at, a.message_id from warehouse.sms_messages a
        where a.conversation_id = s.conversation_id and a.direction = 'out' and a.is_scheduled is not true and a.deleted_at is null
          and (date_trunc('milliseconds', a.sent_at), a.message_id) <= (s.at, s.last_message_id) and a.send_id is null
          and not exists (select from ops.sends o where o.line = a.line and o.message_id = a.message_id)
        order by a.sent_at desc, a.message_id desc limit 1
      ) answer on true
      cross join lateral (
        select count(*) as "thread.message_count",
          count(*) filter (where direction = 'in') as "thread.inbound_count",
          count(*) filter (where direction is distinct from 'in') as "thread.outbound_count",
          count(*) filter (where direction = 'in'
            and (answer.message_id is null or (m.sent_at, m.message_id) > (answer.sent_at, answer.message_id))) as "thread.unanswered_count",
          max(sent_at) filter (where direction = 'in') as "thread.last_inbound_at",
          max(sent_at) filter (where direction = 'out' and sent_by is not null and send_id is null
            and not exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id)
          ) as "thread.last_human_reply_at",
          coalesce((array_agg(direction order by sent_at desc, message_id desc))[1], '') as "thread.last_direction",
          max(sent_at) filter (where direction = 'in' and (not s.is_text or m.message_id <> s.last_message_id)) as "earlierInboundAt"
        from warehouse.sms_messages m
        where m.conversation_id = s.conversation_id and m.is_scheduled is not true and m.is_reaction is not true
          and m.deleted_at is null and (date_trunc('milliseconds', m.sent_at), m.message_id) <= (s.at, s.last_message_id)
          and ${isNotByRule('m.send_id', 'm.sent_at')}
      ) thread
      left join lateral (
        -- Compares a resolve with texts by the service's clock, in whole seconds, and by our clock: only a text that was
        -- mirrored after the resolve was observed ends it.
        select e.is_resolved and not exists (
          select from warehouse.sms_messages m
          where m.conversation_id = s.conversation_id and m.direction = 'in' and m.is_scheduled is not true
            and m.is_reaction is not true and m.deleted_at is null and m.first_seen_at > e.observed_at
            and m.sent_at >= date_trunc('second', coalesce(e.resolved_at, '-infinity')) and m.sent_at <= s.at
            and (not s.is_text or (m.sent_at, m.message_id) < (s.at, s.last_message_id))) as is_resolved
        from warehouse.sms_conversation_events e
        where e.conversation_id = s.conversation_id and e.axis = 'resolved'
          and date_trunc('second', coalesce(e.resolved_at, e.observed_at)) <= s.at
          and ${isNotByRule('e.run_id', 'e.observed_at')}
        order by e.observed_at desc limit 1
      ) state on true
      left join lateral (
        select reporting.person_name(k.caller_name) as name from warehouse.calls k
        where k.external_number = s.number and k.direction = 'inbound' and k.started_at <= s.at and ${wasKnown}
          and reporting.person_name(k.caller_name) is not null
        order by k.started_at desc limit 1
      ) caller on true
      order by s.ordinal`,
  );
}
