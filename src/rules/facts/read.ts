import { type Database, hotQuery, type Transaction } from '../../warehouse/database.ts';
import type { Obstacle } from '../evaluate.ts';
import type { Trigger } from '../triggers.ts';
import type { Facts, FactsOf } from './declared.ts';
import { type BusinessHours, hoursAt } from './hours.ts';
import { readSubjects, type Subject } from './subjects.ts';

/** A trigger with all that rules may know of it. */
export interface Case {
  readonly trigger: Trigger;
  /** Undefined where there is an obstacle. */
  readonly subject: Subject | undefined;
  readonly facts: Facts | Obstacle;
  /** Their newest text before the one that is judged: after it, an earlier resolve says nothing any more. */
  readonly earlierInboundAt?: Date | undefined;
}

/** What stands around a trigger. */
interface Surroundings {
  readonly thread: Omit<FactsOf<'thread'>, 'line' | 'number'>;
  readonly contact: Omit<FactsOf<'contact'>, 'number'>;
  readonly line: Omit<FactsOf<'line'>, 'number'>;
  readonly earlierInboundAt: Date | undefined;
}

/**
 * Reads the facts of triggers as they stood at their moment, in the order of the triggers, with a handful of statements for
 * all of them. What rules have sent is not among them yet: that is history's part.
 */
export async function readCases(
  db: Database | Transaction,
  triggers: readonly Trigger[],
  hours: BusinessHours,
  world: ReadWorld = {},
): Promise<Case[]> {
  const subjects = await readSubjects(db, triggers);
  const pending = triggers.flatMap((trigger, at): Pending[] => {
    const subject = subjects[at];
    return typeof subject === 'object' ? [{ trigger, subject }] : [];
  });
  const surroundings = await readSurroundings(db, pending, world);
  const known = new Map(
    pending.map(({ trigger, subject }, at): [Trigger, Case] => {
      const { earlierInboundAt, ...around } = surroundings[at] as Surroundings;
      const { line, number, message, call, transcript } = subject;
      const facts = {
        now: trigger.at,
        ...(message && { message }),
        ...(call && { call }),
        ...(transcript && { transcript }),
        thread: { line, number, ...around.thread },
        line: { number: line, ...around.line },
        contact: { number, ...around.contact },
        hours: hoursAt(hours, trigger.at),
      };
      return [trigger, { trigger, subject, facts, earlierInboundAt }];
    }),
  );
  return triggers.map((trigger, at) => {
    const subject = subjects[at] ?? 'gone';
    const found = known.get(trigger);
    return found ?? { trigger, subject: undefined, facts: typeof subject === 'string' ? subject : 'gone' };
  });
}

/** Which world the facts are of. */
export interface ReadWorld {
  /** From here on, what rules did is left out: the world of a simulation, which does it anew. */
  readonly withoutRulesFrom?: Date;
}

/** A trigger whose subject is found. */
interface Pending {
  readonly trigger: Trigger;
  readonly subject: Subject;
}

interface SurroundingsRow {
  ordinal: string;
  message_count: string;
  inbound_count: string;
  last_inbound_at: Date | null;
  last_outbound_at: Date | null;
  last_human_reply_at: Date | null;
  earlier_inbound_at: Date | null;
  last_direction: string | null;
  is_resolved: boolean | null;
  assigned_user_id: string | null;
  name: string | null;
  is_line: boolean;
  user_ids: string[] | null;
  contact_name: string | null;
  is_own_line: boolean;
  earlier_messages: string;
  last_message_at: Date | null;
  earlier_calls: string;
  missed_calls: string;
  last_call_at: Date | null;
}

/** A call is told of when it has ended: one that went on when a text came was not known yet. */
const wasKnown = `date_trunc('milliseconds', coalesce(k.ended_at, k.started_at)) <= s.at`;

async function readSurroundings(
  db: Database | Transaction,
  pending: readonly Pending[],
  { withoutRulesFrom }: ReadWorld,
): Promise<Surroundings[]> {
  if (pending.length === 0) return [];
  const rows = await hotQuery<SurroundingsRow>(
    db,
    `select s.ordinal, thread.*, state.is_resolved, assignment.assigned_user_id, l.name, l.line is not null as is_line, users.user_ids,
       caller.contact_name, exists (select from warehouse.sms_lines o where o.line = s.number and o.deleted_at is null) as is_own_line,
       texts.*, calls.*
     from unnest($1::bigint[], $2::text[], $3::text[], $4::timestamptz[], $5::bigint[], $6::text[], $8::boolean[])
       with ordinality as s (conversation_id, line, number, at, last_message_id, call_id, is_text, ordinal)
     left join warehouse.sms_lines l on l.line = s.line and l.deleted_at is null
     cross join lateral (
       select count(*) as message_count, count(*) filter (where direction = 'in') as inbound_count,
         max(sent_at) filter (where direction = 'in') as last_inbound_at,
         max(sent_at) filter (where direction = 'out') as last_outbound_at,
         max(sent_at) filter (where direction = 'out' and sent_by is not null and send_id is null
           and not exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id)) as last_human_reply_at,
         max(sent_at) filter (where direction = 'in' and (not s.is_text or m.message_id <> s.last_message_id)) as earlier_inbound_at,
         (array_agg(direction order by sent_at desc, message_id desc))[1] as last_direction
       from warehouse.sms_messages m
       where m.conversation_id = s.conversation_id and m.is_scheduled is not true and m.deleted_at is null
         and (date_trunc('milliseconds', m.sent_at), m.message_id) <= (s.at, s.last_message_id)
         and ($7::timestamptz is null or m.send_id is null or m.sent_at < $7)
     ) thread
     left join lateral (
       -- A resolve is compared with texts by the service's clock, which shows whole seconds; a text that was mirrored after the
       -- resolve was observed is compared by ours, too.
       select e.is_resolved and not exists (
         select from warehouse.sms_messages m
         where m.conversation_id = s.conversation_id and m.direction = 'in' and m.is_scheduled is not true and m.deleted_at is null
           and m.first_seen_at > e.observed_at and m.sent_at >= date_trunc('second', coalesce(e.resolved_at, '-infinity'))
           and m.sent_at <= s.at and (not s.is_text or (m.sent_at, m.message_id) < (s.at, s.last_message_id))) as is_resolved
       from warehouse.sms_conversation_events e
       where e.conversation_id = s.conversation_id and e.axis = 'resolved'
         and date_trunc('second', coalesce(e.resolved_at, e.observed_at)) <= s.at and ($7::timestamptz is null or e.run_id is null or e.observed_at < $7)
       order by e.observed_at desc limit 1
     ) state on true
     left join lateral (
       select e.user_id as assigned_user_id from warehouse.sms_conversation_events e
       where e.conversation_id = s.conversation_id and e.axis = 'assigned' and e.observed_at <= s.at and ($7::timestamptz is null or e.run_id is null or e.observed_at < $7)
       order by e.observed_at desc limit 1
     ) assignment on true
     cross join lateral (
       select array_agg(u.user_id order by u.user_id) as user_ids from warehouse.sms_line_users u
       where u.line = s.line and u.valid_to = 'infinity'
     ) users
     left join lateral (
       select k.caller_name as contact_name from warehouse.calls k
       where k.external_number = s.number and k.direction = 'inbound' and k.started_at <= s.at and ${wasKnown} and k.caller_name <> ''
       order by k.started_at desc limit 1
     ) caller on true
     cross join lateral (
       select count(*) as earlier_messages, max(m.sent_at) as last_message_at from warehouse.sms_messages m
       where m.number = s.number and m.is_scheduled is not true and m.deleted_at is null
         and m.sent_at < s.at + interval '1 ms'
         and (date_trunc('milliseconds', m.sent_at), m.message_id) < (s.at, s.last_message_id)
         and ($7::timestamptz is null or m.send_id is null or m.sent_at < $7)
     ) texts
     cross join lateral (
       select count(*) as earlier_calls,
         count(*) filter (where k.direction = 'inbound' and k.status = 'missed' and k.started_at > s.at - interval '24 hours') as missed_calls,
         max(k.started_at) as last_call_at
       from warehouse.calls k
       where k.external_number = s.number and k.started_at < s.at and ${wasKnown} and k.call_id is distinct from s.call_id
         and k.deleted_at is null
     ) calls
     order by s.ordinal`,
    [
      pending.map(({ subject }) => subject.conversationId),
      pending.map(({ subject }) => subject.line),
      pending.map(({ subject }) => subject.number),
      pending.map(({ trigger }) => trigger.at),
      pending.map(({ subject }) => subject.lastMessageId),
      pending.map(({ subject }) => subject.callId),
      withoutRulesFrom ?? null,
      pending.map(({ trigger }) => trigger.kind === 'message_received'),
    ],
  );
  return rows.map(surroundingsOf);
}

function surroundingsOf(row: SurroundingsRow): Surroundings {
  const messages = Number(row.message_count);
  const inbound = Number(row.inbound_count);
  return {
    earlierInboundAt: row.earlier_inbound_at ?? undefined,
    thread: {
      exists: messages > 0,
      message_count: messages,
      inbound_count: inbound,
      outbound_count: messages - inbound,
      last_direction: row.last_direction ?? '',
      last_inbound_at: row.last_inbound_at ?? undefined,
      last_outbound_at: row.last_outbound_at ?? undefined,
      last_human_reply_at: row.last_human_reply_at ?? undefined,
      is_resolved: row.is_resolved ?? undefined,
      assigned_user_id: row.assigned_user_id === null ? undefined : Number(row.assigned_user_id),
    },
    line: { name: row.name ?? '', can_text: row.is_line, user_ids: (row.user_ids ?? []).map(Number) },
    contact: {
      name: row.contact_name ?? undefined,
      is_own_line: row.is_own_line,
      is_new: Number(row.earlier_messages) + Number(row.earlier_calls) === 0,
      earlier_messages: Number(row.earlier_messages),
      earlier_calls: Number(row.earlier_calls),
      missed_calls_24h: Number(row.missed_calls),
      last_message_at: row.last_message_at ?? undefined,
      last_call_at: row.last_call_at ?? undefined,
    },
  };
}
