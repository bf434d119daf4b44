import { query, type Transaction } from '../../warehouse/database.ts';
import type { Rule } from '../rule.ts';
import type { Trigger, TriggerKind } from '../triggers.ts';

/** A span of the past, its end exclusive. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}

/** All triggers of a span that some rule waits for, in the order of happening. */
export async function pastTriggers(tx: Transaction, rules: readonly Rule[], span: Span): Promise<Trigger[]> {
  const wanted = new Set(rules.map(({ on }) => on));
  const triggers: Trigger[] = [];
  for (const [kinds, statement] of sources) {
    const some = kinds.filter((kind) => wanted.has(kind));
    if (some.length === 0) continue;
    const rows = await query<{ kind: TriggerKind; key: string; at: Date }>(tx, statement, [span.from, span.to]);
    triggers.push(...rows.filter(({ kind }) => wanted.has(kind)));
  }
  for (const idleSeconds of new Set(rules.flatMap((rule) => rule.idleSeconds ?? []))) {
    const rows = await query<{ key: string; at: Date }>(tx, silences, [span.from, span.to, idleSeconds]);
    triggers.push(...rows.map(({ key, at }): Trigger => ({ kind: 'thread_idle', key, at, idleSeconds })));
  }
  return triggers.sort(inTime);
}

function inTime(a: Trigger, b: Trigger): number {
  return a.at.getTime() - b.at.getTime();
}

const sources: readonly (readonly [readonly TriggerKind[], string])[] = [
  [
    ['message_received'],
    `select 'message_received' as kind, conversation_id || '/' || message_id as key, sent_at as at
     from warehouse.sms_messages
     where direction = 'in' and sent_at >= $1 and sent_at < $2 and is_scheduled is not true and deleted_at is null
     order by sent_at, message_id`,
  ],
  [
    ['call_missed', 'call_ended', 'voicemail_left'],
    `select e.kind, call_id as key, ended_at as at from warehouse.calls,
       lateral (values ('call_ended', true), ('call_missed', status = 'missed'), ('voicemail_left', status = 'voicemail')) e (kind, is_so)
     where e.is_so and started_at >= $1::timestamptz - interval '1 day' and ended_at >= $1 and ended_at < $2
       and deleted_at is null and not is_erased
     order by ended_at, call_id, e.kind`,
  ],
  [
    // One that was filled in later is taken to have come two minutes after its call.
    ['transcript_ready', 'action_required'],
    `select e.kind, t.transcript_id as key, moment.at from warehouse.transcripts t join warehouse.calls c using (call_id),
       lateral (select case when t.first_seen_at < c.ended_at + interval '1 day' then t.first_seen_at else c.ended_at + interval '2 minutes' end as at) moment,
       lateral (values ('transcript_ready', true), ('action_required', t.is_action_required or t.is_urgent_action_required)) e (kind, is_so)
     where e.is_so and c.started_at >= $1::timestamptz - interval '2 days' and moment.at >= $1 and moment.at < $2
       and t.deleted_at is null and c.deleted_at is null
     order by moment.at, t.transcript_id, e.kind`,
  ],
];

// What rules have sent in the span is left out: the simulation sends it anew.
const silences = `
  select conversation_id || '/' || message_id as key, sent_at + $3 * interval '1 second' as at
  from (
    select m.conversation_id, m.message_id, m.sent_at,
      lead(m.sent_at) over (partition by m.conversation_id order by m.sent_at, m.message_id) as next_at
    from warehouse.sms_messages m
    where m.sent_at >= $1::timestamptz - $3 * interval '1 second' and m.sent_at < $2
      and m.deleted_at is null and m.is_scheduled is not true and (m.send_id is null or m.sent_at < $1)
  ) texts
  where sent_at + $3 * interval '1 second' >= $1 and sent_at + $3 * interval '1 second' < $2
    and (next_at is null or next_at > sent_at + $3 * interval '1 second')
  order by at`;

/** When the thread was next written in, by anybody but rules, after a moment. */
export async function nextTextAfter(tx: Transaction, conversationId: string, at: Date): Promise<Date | undefined> {
  const [row] = await query<{ at: Date | null }>(
    tx,
    `select min(sent_at) as at from warehouse.sms_messages
     where conversation_id = $1 and sent_at > $2 and send_id is null and deleted_at is null and is_scheduled is not true`,
    [conversationId, at],
  );
  return row?.at ?? undefined;
}
