import type { RawBuilder } from 'kysely';
import { type Database, query, sql } from './db/database.ts';
import { isPending, stateInWords } from './inbox/target-states.ts';
import { targetId, targetsOfCall } from './inbox/targets.ts';
import { maskKey, maskNumbers } from './shared/masking.ts';
import { momentOf } from './warehouse/held-calls.ts';

/** What can be traced. A thread's key is `line/number[/participants]`. */
export const traceKinds = ['delivery', 'call', 'thread', 'message'] as const;
export type TraceKind = (typeof traceKinds)[number];

/** The steps in the life of an event, in order. `pending`: a read that is still to come. */
const traceSteps = ['received', 'enqueued', 'read', 'mirrored', 'rules', 'sends', 'pending'] as const;

export interface TraceStep {
  readonly at: Date;
  readonly step: (typeof traceSteps)[number];
  /** The subject, such as `delivery 42`, with masked numbers. */
  readonly subject: string;
  readonly what: string;
}

export interface Trace {
  readonly steps: readonly TraceStep[];
  /** Older steps were left out, because there were too many. */
  readonly isCut: boolean;
}

const maxSteps = 500;

/**
 * The history of a delivery, call, thread or text, in order of time, from the tables (which only keep a target's newest
 * read). `since` sets the start; a thread's trace starts a day before its newest read or text. Undefined if nothing is
 * known.
 */
export async function trace(db: Database, kind: TraceKind, key: string, since?: Date): Promise<Trace | undefined> {
  const { asked, deliveries } = questions[kind](key, since ?? null);
  const rows = await query(
    db,
    sql<TraceStep>`with asked as materialized (${asked}), ${texts}, ${mirrored}, ${targets}, ${runs},
      steps (at, step, subject, what, place) as (${sql.join([received(deliveries), ...others], sql` union all `)})
      select at, step, subject, what from steps
      order by at desc, array_position(${[...traceSteps]}::text[], step) desc, place desc limit ${maxSteps + 1}`,
  );
  if (rows.length === 0) return undefined;
  return { steps: rows.slice(0, maxSteps).reverse().map(masked), isCut: rows.length > maxSteps };
}

function masked({ subject, what, ...step }: TraceStep): TraceStep {
  return {
    ...step,
    subject: subject.startsWith('thread ') ? maskKey('thread', subject) : subject,
    what: maskNumbers(what.replace(/\bthread \S+/g, (key) => maskKey('thread', key))),
  };
}

interface Question {
  /** One row: `since`, `until`, the `targets` as `kind key`, and the ids of the texts (NULL: all texts since then). */
  readonly asked: RawBuilder<unknown>;
  /** A condition on `d` (ops.deliveries). */
  readonly deliveries: RawBuilder<unknown>;
}

/** Uses the index on `received_at`. There is none on targets, because it would slow down the receiver. */
const isWithin = sql`d.received_at between since and until`;
const pointsThere = sql`d.targets && asked.targets`;
const isThread = (key: RawBuilder<unknown>) =>
  sql`(c.line, c.number, c.participants_key) = (split_part(${key}, '/', 1), split_part(${key}, '/', 2), split_part(${key}, '/', 3))`;

const questions: Readonly<Record<TraceKind, (key: string, since: Date | null) => Question>> = {
  delivery: (id) => ({
    asked: sql`select received_at as since, 'infinity'::timestamptz as until, targets,
      (select array_agg(split_part(n, ' ', 2)::bigint) from unnest(named) n) as message_ids
      from ops.deliveries where delivery_id = ${id}`,
    deliveries: sql`d.delivery_id = ${id}`,
  }),
  call: (id, since) => ({
    // Recordings and transcripts are rechecked for a day after the call.
    asked: sql`select coalesce(${since}, at - interval '1 hour') as since, at + interval '2 days' as until, null::bigint[] as message_ids,
      ${targetsOfCall(id).map(targetId)}::text[] as targets from (select ${momentOf(id)}::timestamptz as at) call`,
    deliveries: sql`${isWithin} and ${pointsThere}`,
  }),
  thread: (key, since) => ({
    asked: sql`select coalesce(${since}, at - interval '1 day') as since, 'infinity'::timestamptz as until,
      array['thread ' || ${key}::text] as targets, null::bigint[] as message_ids
      from (select greatest(
        (select greatest(last_message_at, changed_at) from warehouse.sms_conversations c where ${isThread(sql`${key}::text`)}),
        (select greatest(read_at, enqueued_at) from ops.sync_targets where kind = 'thread' and key = ${key})) as at) newest
      where at is not null`,
    deliveries: sql`${isWithin} and ${pointsThere}`,
  }),
  message: (id, since) => ({
    asked: sql`select coalesce(${since}, min(least(sent_at, m.first_seen_at)) - interval '1 hour', now() - interval '1 day') as since,
      coalesce(max(m.first_seen_at) + interval '1 day', now()) as until, array[${id}::bigint] as message_ids,
      array_agg('thread ' || concat_ws('/', c.line, c.number, nullif(c.participants_key, ''))) as targets
      from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id) where message_id = ${id}`,
    // A delivery that names no text may have announced this one, if it arrived before the text was mirrored.
    deliveries: sql`${isWithin} and (exists (select from unnest(named) n where split_part(n, ' ', 2) = ${id})
      or named = '{}' and ${pointsThere} and exists (select from texts where d.received_at <= first_seen_at))`,
  }),
};

const texts = sql`texts as (
  select m.* from asked cross join unnest(targets) t
    join warehouse.sms_conversations c on t like 'thread %' and ${isThread(sql`substr(t, 8)`)}
    join warehouse.sms_messages m using (conversation_id)
  where case when message_ids is null then greatest(m.first_seen_at, m.changed_at) >= since else message_id = any(message_ids) end)`;

/** The mirrored rows that were asked for, each with the key under which it triggers rules. */
const mirrored = sql`call_ids as (
    select distinct split_part(t, ' ', 2) as call_id from asked cross join unnest(targets) t where t not like 'thread %'
  ), mirrored (subject, trigger, words, first_seen_at, changed_at, deleted_at, deleted_reason) as (
    select 'message ' || message_id, conversation_id || '/' || message_id, direction || 'bound', first_seen_at, changed_at, deleted_at,
      deleted_reason from texts
    union all select 'call ' || call_id, call_id, coalesce(status, 'no status'), first_seen_at, changed_at, deleted_at, deleted_reason
      from warehouse.calls join call_ids using (call_id)
    union all select 'recording ' || unique_id, null, null, first_seen_at, changed_at, deleted_at, deleted_reason
      from warehouse.recordings join call_ids using (call_id)
    union all select 'transcript ' || transcript_id, transcript_id::text, null, first_seen_at, changed_at, deleted_at, deleted_reason
      from warehouse.transcripts join call_ids using (call_id))`;

const targets = sql`targets as (
  select kind || ' ' || key as subject, since, until, ${stateInWords} as state_words, state, ${isPending} as is_pending, due_at, attempts,
    case when enqueued_at > '-infinity' then greatest(enqueued_at, received_at) end as enqueued_at, read_at, received_at, ' for delivery ' || delivery_id as cause,
    last_error, coalesce(' (' || last_error || ')', '') as failure
  from asked cross join unnest(targets) t
    join ops.sync_targets r on (r.kind, r.key) = (split_part(t, ' ', 1), substr(t, strpos(t, ' ') + 1))
    left join ops.deliveries using (delivery_id))`;

const runs = sql`runs as (
    select r.* from asked cross join ops.rule_runs r where evaluated_at >= since and trigger_key in (select trigger from mirrored)
  ), actions as (
    select rule, a.* from runs join ops.rule_actions a using (run_id)
  ), sends as (
    select send_id from actions union select s.send_id from ops.sends s join texts using (line, message_id))`;

const received = (deliveries: RawBuilder<unknown>) => sql`
  select received_at, 'received', 'delivery ' || delivery_id, concat(coalesce(event_type, 'no type'), case when is_erased then ', erased' end,
    ', points at ', coalesce(d.targets[1], 'nothing'), ' and ' || nullif(cardinality(d.targets), 1) - 1 || ' more'), delivery_id
  from asked cross join ops.deliveries d where ${deliveries}`;

const others = [
  sql`select enqueued_at, 'enqueued', subject, concat('a job', cause), 0
    from targets where enqueued_at between since and until`,

  sql`select read_at, 'read', subject, concat('through the API', case when received_at <= read_at then cause end, ': ',
      case when state_words = 'being read' then 'in progress' when state <> 'active' then state || failure
        when attempts > 0 or last_error is not null then 'failed' || failure else 'done' end), 0
    from targets where read_at between since and until`,

  sql`select e.at, 'mirrored', subject, e.what, 0 from asked cross join mirrored cross join lateral (
      select first_seen_at, concat_ws(', ', words, 'new')
      union all select changed_at, concat_ws(', ', words, 'changed') where changed_at > first_seen_at
      union all select deleted_at, 'marked deleted: ' || coalesce(deleted_reason, 'not listed') where deleted_at is not null
    ) e (at, what) where e.at >= since`,

  sql`select observed_at, 'mirrored', 'message ' || message_id, 'receipt: ' || coalesce(e.delivery_status, 'no status'), 0
    from asked cross join texts join warehouse.sms_message_delivery_events e using (conversation_id, message_id) where observed_at >= since`,

  // A run, with the facts that its condition used.
  sql`select evaluated_at, 'rules', 'rule ' || rule, concat(trigger_kind, ', ', mode, ': ', reason, (
      select ', since ' || string_agg(concat(key, ' = ', case when value = 'null' then 'missing' else value::text end), ', ')
      from jsonb_each(facts))), run_id
    from runs`,

  sql`select coalesce(settled_at, begun_at, due_at), 'rules', 'rule ' || rule,
      concat(concat_ws(' ', kind, target), ': ', state, ' (' || reason || ')'), run_id
    from actions`,

  sql`select observed_at, 'sends', 'send ' || send_id,
      concat(to_state, ', by the ', case actor when 'rule' then 'rule ' || rule else actor end, ': ' || e.reason), event_id
    from sends join ops.sends s using (send_id) join ops.send_events e using (send_id)`,

  sql`select greatest(due_at, now()), 'pending', subject, concat(state_words, ', attempts: ' || nullif(attempts, 0), failure), 0
    from targets where is_pending`,
];
