import { type Database, hotQuery, query, relation, sql, type Transaction } from '../db/database.ts';
import { defaultRuleLimits } from '../ledger/limits.ts';
import { isInForce } from '../ledger/rules-in-force.ts';
import { isOpenSend } from '../ledger/send.ts';
import { historyAge } from '../warehouse/what-follows.ts';
import { idleAt, idleSince } from './idle.ts';
import type { Rule, RuleSet } from './rule.ts';
import { delayed, happenedAt, idleKey, type Trigger } from './triggers.ts';

/* ops.rule_events is the outbox of the mirror for rules: a write that mirrors a text or call inserts its trigger. */

// A scalar subquery is a lookup by key for each event; an EXISTS could be planned as a hash of the whole table.

/** A transcript can be mirrored before its call: its event waits up to five minutes for the call. */
const isAwaitingCall = sql`(kind in ('transcript_ready', 'action_required') and noted_at > now() - interval '5 minutes' and (
  select true from warehouse.transcripts t join warehouse.calls c using (call_id)
  where t.transcript_id = case when e.kind in ('transcript_ready', 'action_required') then e.key::bigint end and c.ended_at is not null) is null)`;

const isDue = sql`due_at <= now()`;

/**
 * Maximum wait of the event of a call whose legs are missing: a call without legs is evaluated too.
 * `sync/readers/read-call.ts` reads them again within this time.
 */
const maxCallWait = sql`interval '1 minute'`;

const isNew = sql`(after_seconds is null and noted_at > now() - ${maxCallWait})`;

/** The service can list the legs of a call late. Until then it's unknown how far an unanswered caller came. */
const isAwaitingLegs = sql`(e.kind in ('call_missed', 'voicemail_left', 'call_ended') and ${isNew} and (
  select true from warehouse.calls c where c.call_id = e.key and c.status is distinct from 'answered' and coalesce(c.leg_count, 0) = 0) is not null)`;

/**
 * The second in the id of a call, as a text that sorts like a number: an id of another format must not cause an error.
 */
const secondOf = (callId: string) => sql`lpad(split_part(${sql.ref(callId)}, '.', 1), 11, '0') collate "C"`;

/** The latest calls that are still to be read: two of them, because one may be the event's own. */
const latestToRead = sql`
  select t.key, ${secondOf('t.key')} as second from ops.sync_targets t
  where t.dirty_version > t.clean_version and t.clean_version = 0 and t.priority = 0 and t.due_at <= now() and t.kind = 'call' and t.attempts = 0
  order by second desc limit 2`;

/**
 * Rules ask whether we have talked with the caller since. So an unanswered call that was mirrored late waits until
 * later calls are mirrored too.
 */
const isAwaitingLaterCalls = sql`(e.kind in ('call_missed', 'voicemail_left') and ${isNew}
  and happened_at < noted_at - interval '30 seconds'
  and exists (select from latest l where l.second >= ${secondOf('e.key')} and l.key <> e.key))`;

/** Locks and selects the due events, oldest first. */
const dueEvents = (limit: number, after: string) => sql`
  select event_id from ops.rule_events e
  where event_id > ${after} and ${isDue}
    and not ${isAwaitingLaterCalls} and not ${isAwaitingLegs} and not ${isAwaitingCall}
  order by event_id limit ${limit}
  for update skip locked`;

/** Whether any event is due. A cheap check, because most writes record no event. */
export async function hasDueEvents(db: Database): Promise<boolean> {
  const rows = await hotQuery(db, sql`select from ops.rule_events where ${isDue} limit 1`);
  return rows.length > 0;
}

/** A trigger, and its event. */
export interface TakenTrigger extends Trigger {
  readonly eventId: string;
}

/**
 * Deletes the oldest due events after `after`, and returns their triggers in the order of mirroring. A rollback
 * restores them. A caller that continues after the last one sees each waiting event once.
 */
export async function takeEvents(tx: Transaction, limit: number, after: string): Promise<TakenTrigger[]> {
  const rows = await hotQuery<TakenTrigger & { rules: readonly string[] | null; after: number | null }>(
    tx,
    sql`
      with latest as materialized (${latestToRead}), due as materialized (${dueEvents(limit, after)}), taken as (
        delete from ops.rule_events e where e.event_id = any (array(select event_id from due))
        returning e.event_id, e.kind, e.key, e.happened_at, e.rules, e.after_seconds
      )
      select event_id as "eventId", kind, key, happened_at as at, rules, after_seconds as after from taken order by event_id`,
  );
  return rows.map(({ rules, after, ...trigger }) => {
    const given = { ...trigger, ...(rules && { rules }) };
    return after === null ? given : { ...given, ...delayed(given, after) };
  });
}

/** Inserts events again for the rules with `after` that wait for them, due when that time is over. */
export async function delayEvents(
  tx: Transaction,
  { rules }: Pick<RuleSet, 'rules'>,
  triggers: readonly Trigger[],
): Promise<void> {
  const waiting = rules.filter(({ afterSeconds, mode }) => afterSeconds !== undefined && mode !== 'off');
  const later = triggers.flatMap((trigger) => {
    const { kind, rules: names, afterSeconds } = trigger;
    if (afterSeconds !== undefined) return [];
    const its = waiting.filter(({ on, name }) => on === kind && names?.includes(name) !== false);
    return [...Map.groupBy(its, (rule) => rule.afterSeconds ?? 0)].map(([seconds, some]) => {
      const given: Trigger = { ...trigger, rules: some.map(({ name }) => name) };
      return { ...delayed(given, seconds), dueAt: delayed(given, seconds).at };
    });
  });
  await requeueEvents(tx, later);
}

/** Inserts events again. Without `dueAt` they are due in half a second. Not counted as a failure. */
export async function requeueEvents(
  tx: Transaction,
  events: readonly (Trigger & { readonly dueAt?: Date })[],
): Promise<void> {
  if (events.length === 0) return;
  await query(
    tx,
    sql`
      insert into ops.rule_events (kind, key, happened_at, due_at, rules, after_seconds)
      select kind, key, at, coalesce(due_at, clock_timestamp() + interval '500 ms'), rules, after_seconds
      from ${relation(
        'e',
        events,
        {
          kind: 'text',
          key: 'text',
          at: ['timestamptz', happenedAt],
          due_at: ['timestamptz', ({ dueAt }) => dueAt],
          rules: 'jsonb',
          after_seconds: ['integer', ({ afterSeconds }) => afterSeconds],
        },
        'place',
      )} order by place`,
  );
}

const maxTries = 5;

/** SQLSTATE classes of errors that the data of one event can cause: it can't be converted, or breaks a constraint. */
const dataClasses = ['22', '23'];

/** Whether an evaluation failed because of its event. A time limit, a lost connection or a full disk is temporary. */
export function isOfEvent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return error instanceof TypeError || error instanceof RangeError || dataClasses.includes(code.slice(0, 2));
}

/** Postpones an event, so that others come first. Deletes it after five failures that the event itself caused. */
export async function postponeEvent(
  db: Database,
  eventId: string,
  isItsOwn: boolean,
): Promise<'given_up' | 'postponed'> {
  const given = sql`event_id = ${eventId} and ${isItsOwn} and tries >= ${maxTries}`;
  const gone = await query(db, sql`delete from ops.rule_events where ${given} returning 1`);
  await query(
    db,
    sql`update ops.rule_events set tries = tries + ${isItsOwn ? 1 : 0},
        due_at = now() + ${isItsOwn ? sql`least(60, power(3, tries))` : sql`10`} * interval '1 second'
      where event_id = ${eventId}`,
  );
  return gone.length > 0 ? 'given_up' : 'postponed';
}

/**
 * Deletes events that nobody evaluates, because rules that are switched on later must not act on older events. Without
 * rules in force, deletes all, else those that have been due for longer than rules look back: another release may still
 * evaluate younger ones.
 */
export async function deleteUnreadEvents(db: Database): Promise<void> {
  await query(
    db,
    sql`delete from ops.rule_events where due_at < now() - ${defaultRuleLimits.maxAgeSeconds} * interval '1 second'
      or not exists (select from ops.rule_versions v where ${isInForce})`,
  );
}

/** Deletes all events while the rules of all workers are off: rules that are switched on later don't act on them. */
export async function deleteAllEvents(db: Database): Promise<void> {
  await query(db, 'delete from ops.rule_events where event_id <= (select max(event_id) from ops.rule_events)', []);
  await query(db, `update ops.rule_versions set since = '{}' where since <> '{}'`, []);
}

/** The key of a rule in `ops.rule_versions.since`: a change of name, trigger or idle time makes a new rule. */
function sinceKey({ name, on, idle }: Pick<Rule, 'name' | 'on' | 'idle'>): string {
  return [name, on, ...(idle === undefined ? [] : [idleKey(idle)])].join(' ');
}

/** Records since when each rule of the version in force has been in force without interruption. */
export async function recordInForce(db: Database | Transaction, { rules }: Pick<RuleSet, 'rules'>): Promise<void> {
  const active = relation(
    'a',
    rules.filter(({ mode }) => mode !== 'off'),
    { key: ['text', sinceKey] },
  );
  await query(
    db,
    sql`
      with starts as (
        select coalesce(jsonb_object_agg(a.key, coalesce((v.since ->> a.key)::timestamptz, clock_timestamp())) filter (where a.key is not null), '{}') as since
        from ops.rule_versions v left join ${active} on true where ${isInForce}
      )
      update ops.rule_versions v set since = starts.since from starts where ${isInForce} and v.since <> starts.since`,
  );
}

/** The moment of an evaluation, and from when on it may act. */
interface Clock {
  readonly now: Date;
  /** When a rule came into force, in whole seconds like the service's times; now for a rule without a record. */
  readonly since: (rule: Rule) => Date;
  /** Rules act on nothing older: the database went back then, so it isn't known what they did. */
  readonly actsAfter: Date;
}

export async function readClock(db: Database | Transaction): Promise<Clock> {
  const [row] = await hotQuery<{ now: Date; since: Record<string, string>; actsAfter: Date }>(
    db,
    sql`select clock_timestamp() as now, acts_after as "actsAfter",
        coalesce((select since from ops.rule_versions v where ${isInForce}), '{}') as since
      from ops.send_control`,
  );
  if (!row) throw new Error('ops.send_control has lost its row: apply the migrations again');
  const { now, actsAfter } = row;
  const since = (rule: Rule) => {
    const at = new Date(row.since[sinceKey(rule)] ?? now);
    return new Date(Math.floor(at.getTime() / 1_000) * 1_000);
  };
  return { now, since, actsAfter };
}

/**
 * Idle threads: the last text is as old as some rule's `for`, and that rule wasn't evaluated on it yet. Read from the
 * mirror, so that no timer can be lost. Leaves out rules that came into force after that text, because new and renamed
 * rules don't act on the past; threads whose last text the mirror found as history; threads with a pending event of the
 * last text; and threads with a reply in progress, which would end the idle time.
 */
export async function idleTriggers(
  db: Database | Transaction,
  { rules, hours }: Pick<RuleSet, 'rules' | 'hours'>,
  limit: number,
): Promise<Trigger[]> {
  const active = rules.filter(({ on, mode }) => on === 'thread_idle' && mode !== 'off');
  if (active.length === 0) return [];
  const { since, now } = await readClock(db);
  const triggers: Trigger[] = [];
  const offices = hours.offices.map((office) => ({
    hours: office,
    isItsLine: sql`c.line = any(${office.lines}::text[])`,
  }));
  const named = hours.offices.flatMap(({ lines }) => lines);
  const calendars = [{ hours, isItsLine: sql`c.line <> all(${named}::text[])` }, ...offices];
  const sameTimes = Map.groupBy(active, ({ idle }) => idle && idleKey(idle)).values();
  for (const waiting of sameTimes) {
    for (const calendar of calendars) triggers.push(...(await idleByCalendar(waiting, calendar)));
  }
  return triggers;

  async function idleByCalendar(waiting: readonly Rule[], { hours, isItsLine }: (typeof calendars)[number]) {
    const idle = waiting[0]?.idle;
    const until = idle && idleSince(idle, hours, now);
    if (!idle || !until) return [];
    const oldest = new Date(now.getTime() - 1_000 * Math.max(...waiting.map(({ maxAgeSeconds }) => maxAgeSeconds)));
    const names = relation('w', waiting, { rule: ['text', ({ name }) => name], since: ['timestamptz', since] });
    const rows = await query<{ key: string; last: Date; rules: string[] }>(
      db,
      sql`
        select c.conversation_id || '/' || m.message_id as key, c.last_message_at as last, known.rules
        from warehouse.sms_conversations c
        cross join lateral (
          select message_id from warehouse.sms_messages m
          where m.conversation_id = c.conversation_id and m.deleted_at is null and m.is_scheduled is not true
            and m.is_reaction is not true and m.sent_at is not null
          order by m.sent_at desc, m.message_id desc limit 1
        ) m
        cross join lateral (
          select array_agg(w.rule) as rules from ${names} where c.last_message_at >= w.since
        ) known
        where not exists (select from ops.rule_events e
            where e.kind = 'message_received' and e.after_seconds is null and e.key = c.conversation_id || '/' || m.message_id)
          and not exists (select from ops.sends s where s.line = c.line and s.number = c.number and s.mode = 'live'
            and (${sql.raw(isOpenSend)}
              or (s.state = 'SENT' and s.linked_at is null and s.settled_at > now() - interval '10 minutes')))
          and ${isItsLine} and c.deleted_at is null and c.last_message_at <= ${until}
          and c.first_seen_at <= c.last_message_at + ${historyAge}
          and c.last_message_at > ${idleSince(idle, hours, oldest) ?? longAgo}
          and exists (
            select from unnest(known.rules) as w (rule)
            where not exists (select from ops.rule_runs r
              where r.rule = w.rule and r.trigger_kind = 'thread_idle'
                and r.trigger_key = c.conversation_id || '/' || m.message_id))
        order by c.last_message_at limit ${limit}`,
    );
    return rows.map(
      ({ key, last, rules }): Trigger => ({
        ...{ kind: 'thread_idle', key, rules, idle, at: idleAt(idle, hours, last) ?? now },
      }),
    );
  }
}

const longAgo = new Date(0);
