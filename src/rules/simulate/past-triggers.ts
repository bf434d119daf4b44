import type { RawBuilder } from 'kysely';
import { query, sql, type Transaction } from '../../db/database.ts';
import type { Pair } from '../../shared/thread.ts';
import { dayMs, type TimeRange } from '../../shared/time-range.ts';
import { type Calendars, hoursOf } from '../business-hours.ts';
import { idleAt, idleSince } from '../idle.ts';
import type { Rule, RuleSet } from '../rule.ts';
import { delayed, type Idle, idleKey, type Trigger } from '../triggers.ts';

/** All triggers of a period that some rule waits for, in the order of their moments. */
export async function pastTriggers(
  tx: Transaction,
  { rules, hours }: Pick<RuleSet, 'rules' | 'hours'>,
  span: TimeRange<Date>,
): Promise<Trigger[]> {
  const { from, to } = span;
  let triggers: Trigger[] = [];
  for (const [seconds, some] of Map.groupBy(rules, ({ afterSeconds }) => afterSeconds)) {
    const earlier = (at: Date) => new Date(at.getTime() - (seconds ?? 0) * 1_000);
    const found = await triggersFor(tx, some, { from: earlier(from), to: earlier(to) });
    triggers = triggers.concat(seconds === undefined ? found : found.map((trigger) => delayed(trigger, seconds)));
  }
  for (const idle of idleTimes(rules)) triggers = triggers.concat(await pastIdleTriggers(tx, span, idle, hours));
  return triggers.sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** Triggers, followed by their delayed copies for rules with `after`. */
export function withDelays(rules: readonly Rule[], triggers: readonly Trigger[]): Trigger[] {
  return triggers.flatMap((trigger) => {
    const its = rules.flatMap(({ on, afterSeconds }) => (on === trigger.kind ? (afterSeconds ?? []) : []));
    return [trigger, ...[...new Set(its)].map((seconds) => delayed(trigger, seconds))];
  });
}

async function triggersFor(tx: Transaction, rules: readonly Rule[], { from, to }: TimeRange<Date>): Promise<Trigger[]> {
  const wanted = new Set(rules.map(({ on }) => on));
  const isIn = (moment: string) => sql`${sql.ref(moment)} >= ${from} and ${sql.ref(moment)} < ${to}`;
  const triggers = [
    ...(wanted.has('message_received') ? await query(tx, textTriggers(isIn('sent_at'))) : []),
    ...(await query(
      tx,
      callTriggers(sql`started_at >= ${from}::timestamptz - interval '1 day' and ${isIn('ended_at')}`),
    )),
    ...(await query(
      tx,
      transcriptTriggers(sql`c.started_at >= ${from}::timestamptz - interval '2 days' and ${isIn('moment.at')}`),
    )),
  ].filter(({ kind }) => wanted.has(kind));
  return triggers;
}

/** The triggers of an ended call and of its transcripts. */
export async function triggersOfCall(tx: Transaction, callId: string): Promise<Trigger[]> {
  return [
    ...(await query(tx, callTriggers(sql`call_id = ${callId}`))),
    ...(await query(tx, transcriptTriggers(sql`t.call_id = ${callId}`))),
  ];
}

/** The idle times that active rules wait for. */
export function idleTimes(rules: readonly Rule[]): Idle[] {
  const times = rules.flatMap(({ idle, mode }) => (mode === 'off' ? [] : (idle ?? [])));
  return [...new Map(times.map((idle) => [idleKey(idle), idle])).values()];
}

type Condition = RawBuilder<unknown>;

const textTriggers = (isChosen: Condition) => sql<Trigger>`
  select 'message_received' as kind, conversation_id || '/' || message_id as key, sent_at as at
  from warehouse.sms_messages
  where direction = 'in' and ${isChosen} and is_scheduled is not true and deleted_at is null
  order by sent_at, message_id`;

const callTriggers = (isChosen: Condition) => sql<Trigger>`
  select e.kind, call_id as key, ended_at as at from warehouse.calls, lateral (values ('call_ended', true),
    ('call_missed', status = 'missed'), ('voicemail_left', status = 'voicemail')) e (kind, is_so)
  where e.is_so and ${isChosen} and ended_at is not null and deleted_at is null and not is_erased
  order by ended_at, call_id, e.kind`;

/** A transcript that a back-fill mirrored counts from two minutes after its call. */
const transcriptTriggers = (isChosen: Condition) => sql<Trigger>`
  select e.kind, t.transcript_id as key, moment.at
  from warehouse.transcripts t join warehouse.calls c using (call_id), lateral (
    select case when t.first_seen_at < c.ended_at + interval '1 day' then t.first_seen_at
      else c.ended_at + interval '2 minutes' end as at) moment, lateral (values ('transcript_ready', true),
    ('action_required', t.is_action_required or t.is_urgent_action_required)) e (kind, is_so)
  where e.is_so and ${isChosen} and t.deleted_at is null and c.deleted_at is null
  order by moment.at, t.transcript_id, e.kind`;

/** Threads that became idle in the period. */
async function pastIdleTriggers(
  tx: Transaction,
  { from, to }: TimeRange<Date>,
  idle: Idle,
  hours: Calendars,
): Promise<Trigger[]> {
  const aYearBefore = new Date(from.getTime() - 366 * dayMs);
  const starts = [hours, ...hours.offices].map((each) => idleSince(idle, each, from) ?? aYearBefore);
  const earliest = new Date(Math.min(...starts.map((start) => start.getTime())));
  const least = sql`${idle.seconds} * interval '1 second'`;
  const rows = await query<{ key: string; line: string; last: Date; next: Date | null }>(
    tx,
    sql`
      select conversation_id || '/' || message_id as key, line, sent_at as last, next_at as next
      from (
        select m.conversation_id, m.message_id, m.line, m.sent_at,
          lead(m.sent_at) over (partition by m.conversation_id order by m.sent_at, m.message_id) as next_at
        from warehouse.sms_messages m
        where m.sent_at >= ${earliest} and m.sent_at < ${to}
          and m.deleted_at is null and m.is_scheduled is not true and m.is_reaction is not true
      ) texts
      where sent_at + ${least} < ${to} and (next_at is null or next_at > sent_at + ${least})
      order by sent_at`,
  );
  return rows.flatMap(({ key, line, last, next }): Trigger[] => {
    const at = idleAt(idle, hoursOf(hours, line), last);
    if (!at || at < from || at >= to || (next && next <= at)) return [];
    return [{ kind: 'thread_idle', key, at, idle }];
  });
}

/** The people whom triggers are about: limits count only what rules did to them. */
export function peopleOf(tx: Transaction, triggers: readonly Trigger[]): Promise<Pick<Pair, 'number'>[]> {
  const ids = [...new Set(triggers.map(({ key }) => key.split('/', 1)[0] ?? ''))];
  // A conversation and a transcript can have the same id. One person too many does no harm.
  const numeric = sql`any(${ids.filter((id) => /^\d{1,18}$/.test(id))}::bigint[])`;
  return query(
    tx,
    sql`
      select number from warehouse.sms_conversations where conversation_id = ${numeric}
      union select external_number from warehouse.calls where call_id = any(${ids}) and external_number is not null
      union select external_number from warehouse.transcripts join warehouse.calls using (call_id)
      where transcript_id = ${numeric} and external_number is not null`,
  );
}
