import { isOpenSend } from '../ledger/states.ts';
import { type Database, hotQuery, query, type Transaction } from '../warehouse/database.ts';
import type { Rule, RuleSet } from './rule.ts';
import type { Trigger, TriggerKind } from './triggers.ts';

/** A row of `ops.rule_events`. */
export interface Noted {
  readonly eventId: string;
  readonly trigger: Trigger;
}

/** A transcript can be mirrored before its call: it waits some minutes for it. */
const waitsForCall = `(kind in ('transcript_ready', 'action_required') and noted_at > now() - interval '5 minutes' and not exists (
  select from warehouse.transcripts t join warehouse.calls c using (call_id)
  where t.transcript_id = case when e.kind in ('transcript_ready', 'action_required') then e.key::bigint end and c.ended_at is not null))`;

/** Whether anything is noted. Cheap: most of what is mirrored tells the rules nothing. */
export async function isAnythingNoted(db: Database): Promise<boolean> {
  const rows = await hotQuery(db, 'select from ops.rule_events where due_at <= now() limit 1', []);
  return rows.length > 0;
}

/** Takes the oldest events that are due, in the order of mirroring. They come back if the transaction is not committed. */
export async function takeEvents(tx: Transaction, most: number): Promise<Noted[]> {
  const rows = await hotQuery<{ event_id: string; kind: TriggerKind; key: string; happened_at: Date }>(
    tx,
    `delete from ops.rule_events e using (
       select event_id from ops.rule_events e where due_at <= now() and not ${waitsForCall} order by event_id limit $1
       for update skip locked) due
     where e.event_id = due.event_id
     returning e.event_id, e.kind, e.key, e.happened_at`,
    [most],
  );
  return rows
    .map(({ event_id, kind, key, happened_at }) => ({ eventId: event_id, trigger: { kind, key, at: happened_at } }))
    .sort((a, b) => Number(BigInt(a.eventId) - BigInt(b.eventId)));
}

/** Before an event is taken again that was put back. */
const pauseMs = 500;

/** Puts events back that were taken, to be taken again a moment later. It is no failure of theirs. */
export async function putBack(tx: Transaction, triggers: readonly Trigger[]): Promise<void> {
  if (triggers.length === 0) return;
  await query(
    tx,
    `insert into ops.rule_events (kind, key, happened_at, due_at)
     select kind, key, happened_at, clock_timestamp() + interval '${pauseMs} ms'
     from unnest($1::text[], $2::text[], $3::timestamptz[]) with ordinality as e (kind, key, happened_at, place) order by place`,
    [triggers.map(({ kind }) => kind), triggers.map(({ key }) => key), triggers.map(({ at }) => at)],
  );
}

/** After so many failures an event is given up. */
const mostTries = 5;

/** Lets the event be tried later that would be taken first, when it is what keeps the others from being evaluated. */
export async function deferFirst(db: Database): Promise<{ readonly isGivenUp: boolean }> {
  const rows = await query<{ is_given_up: boolean }>(
    db,
    `with first as (
       select event_id from ops.rule_events e where due_at <= now() and not ${waitsForCall} order by event_id limit 1
       for update skip locked
     ), given_up as (
       delete from ops.rule_events e using first where e.event_id = first.event_id and e.tries >= $1 returning 1
     ), deferred as (
       update ops.rule_events e set tries = tries + 1, due_at = now() + least(60, power(3, tries)) * interval '1 second'
       from first where e.event_id = first.event_id and e.tries < $1
     )
     select exists (select from given_up) as is_given_up`,
    [mostTries],
  );
  return { isGivenUp: rows[0]?.is_given_up ?? false };
}

/** Forgets what happened while rules are off: they must not act on it when they are turned on. */
export async function dropEvents(db: Database): Promise<void> {
  await query(db, 'delete from ops.rule_events where event_id <= (select max(event_id) from ops.rule_events)', []);
}

/** By what `ops.rules_loaded.since` knows a rule: one with another name or another silence is a new one. */
export function sinceKey({ name, on, idleSeconds }: Pick<Rule, 'name' | 'on' | 'idleSeconds'>): string {
  return [name, on, ...(idleSeconds === undefined ? [] : [idleSeconds])].join(' ');
}

/** Since when rules have been in force; one that is not written down is taken to be in force from now on. */
export async function readSince(tx: Transaction): Promise<(rule: Rule) => Date> {
  const [row] = await hotQuery<{ since: Record<string, string>; now: Date }>(
    tx,
    "select coalesce((select since from ops.rules_loaded), '{}') as since, clock_timestamp() as now",
    [],
  );
  return (rule) => {
    const since = row?.since[sinceKey(rule)];
    return since === undefined ? (row?.now ?? new Date()) : new Date(since);
  };
}

/**
 * Threads that have been silent long enough for a rule, and that it has not met in this silence. Read from the mirror, so
 * no timer is lost with a process. A silence is for rules that were in force before it was long enough and mirrored, so that
 * one that is new or renamed does not act on what is past. It waits until rules were tried on the text that it begins with,
 * and while a reply of ours is on its way, which ends it.
 */
export async function idleTriggers(
  tx: Transaction,
  { rules }: Pick<RuleSet, 'rules'>,
  most: number,
): Promise<Trigger[]> {
  const triggers: Trigger[] = [];
  const durations = Map.groupBy(
    rules.filter(({ on, mode }) => on === 'thread_idle' && mode !== 'off'),
    ({ idleSeconds }) => idleSeconds ?? 0,
  );
  for (const [idleSeconds, waiting] of durations) {
    const furthest = Math.max(...waiting.map(({ maxAgeSeconds }) => maxAgeSeconds));
    const rows = await query<{ key: string; at: Date; rules: string[] }>(
      tx,
      `select c.conversation_id || '/' || m.message_id as key, c.last_message_at + $1 * interval '1 second' as at, known.rules
       from warehouse.sms_conversations c
       cross join lateral (
         select message_id, first_seen_at from warehouse.sms_messages m
         where m.conversation_id = c.conversation_id and m.deleted_at is null and m.is_scheduled is not true and m.sent_at is not null
         order by m.sent_at desc, m.message_id desc limit 1
       ) m
       cross join lateral (
         select array_agg(w.rule) as rules from unnest($3::text[], $5::text[]) w (rule, since_key)
         where greatest(c.last_message_at + $1 * interval '1 second', m.first_seen_at)
           > (select (since ->> w.since_key)::timestamptz from ops.rules_loaded)
       ) known
       where not exists (select from ops.rule_events e
           where e.kind = 'message_received' and e.key = c.conversation_id || '/' || m.message_id)
         and not exists (select from ops.sends s where s.line = c.line and s.number = c.number and s.mode = 'live'
           and (${isOpenSend} or (s.state = 'SENT' and s.linked_at is null and s.settled_at > now() - interval '10 minutes')))
         and c.deleted_at is null and c.last_message_at <= now() - $1 * interval '1 second'
         and c.last_message_at > now() - ($1 + $2) * interval '1 second'
         and exists (
           select from unnest(known.rules) as w (rule)
           where not exists (select from ops.rule_runs r
             where r.rule = w.rule and r.trigger_kind = 'thread_idle' and r.trigger_key = c.conversation_id || '/' || m.message_id))
       order by c.last_message_at limit $4`,
      [idleSeconds, furthest, waiting.map(({ name }) => name), most, waiting.map(sinceKey)],
    );
    triggers.push(...rows.map(({ key, at, rules }): Trigger => ({ kind: 'thread_idle', key, at, idleSeconds, rules })));
  }
  return triggers;
}
