import { sql } from '../db/database.ts';
import { isParked, isPending, stateInWords } from '../inbox/target-states.ts';
import { targetKinds } from '../inbox/targets.ts';
import { type SendState, states } from '../ledger/states.ts';
import { sendReasonWords, sendStateWords } from '../ledger/words.ts';
import { outcomeWords as ruleOutcomeWords } from '../rules/explain.ts';
import { actionStateWords } from '../rules/runs.ts';
import { commandName } from '../shared/command-name.ts';
import { eventTypes } from '../shared/event-types.ts';
import { spellingsOf, typedNumber } from '../warehouse/phone-numbers.ts';
import { BadAddress } from './errors.ts';
import { html } from './html.ts';
import type { Filter, List } from './list.ts';
import { aboveRules } from './records/above-rules.ts';
import { aboveSends } from './records/above-sends.ts';
import { aboveOptOuts } from './records/opt-outs.ts';
import { subjectOfRun } from './records/rule-runs.ts';
import type { Condition } from './table.ts';
import { codes } from './words.ts';

/*
 * Every list of the daemon. A new one is a declaration here: its page, CSV, JSON and `trunkline list` follow from it.
 */

/** Options labelled with their value. */
const named = (values: readonly string[]) => Object.fromEntries(values.map((value) => [value, value]));
const equals = (column: Condition) => (value: string) => sql`${column} = ${value}`;

/** The other party's name by the imported contacts, and the number. */
const customer = (number: Condition) =>
  sql`coalesce((select k.name || ' (' || ${number} || ')' from warehouse.contacts k where k.number = warehouse.contact_number(${number})), ${number})`;

const ofNumber = (label: string, column: Condition, name = 'number'): Filter => ({
  label,
  placeholder: 'a number',
  where(text) {
    const found = typedNumber(text, { orShortCode: true, orUnassigned: true });
    if ('number' in found) return sql`${column} = any(${spellingsOf(found.number)})`;
    // Rows lead here with every number that the mirror holds, also with one that nobody can have.
    if (/^\d{3,15}$/.test(text)) return sql`${column} = ${text}`;
    throw new BadAddress(`${name} is ${found.problem}.`);
  },
});
const ofRule: Filter = { label: 'Rule', placeholder: 'its name', where: equals(sql`r.rule`) };
const modes = named(['live', 'dry-run']);

const threads: List = {
  name: 'threads',
  title: 'Conversations',
  about: html`Every text thread, the newest first. A thread shows its texts, the calls between them and what rules did.`,
  from: sql`warehouse.sms_conversations`,
  order: sql`r.last_message_at desc nulls last, r.conversation_id desc`,
  at: { column: sql`r.last_message_at`, span: 'month' },
  filters: {
    state: {
      label: 'State',
      options: { waiting: 'they wrote last', answered: 'we wrote last' },
      where: (value) => sql`r.last_direction = ${value === 'waiting' ? 'in' : 'out'}`,
    },
    number: ofNumber('Customer', sql`r.number`),
    line: ofNumber('Our line', sql`r.line`, 'line'),
  },
  select: sql`case when r.participants_key = '' then ${customer(sql`r.number`)} else 'Group of ' || array_to_string(r.participants, ', ') end as customer,
    r.last_message_at as newest_at, newest.words,
    case r.last_direction when 'in' then 'they wrote last' when 'out' then 'we wrote last' end || case when r.is_resolved then ', resolved' else '' end as state, coalesce(nullif(l.name, ''), r.line) as line, r.message_count as texts,
    concat_ws('/', r.line, r.number, nullif(r.participants_key, '')) as thread`,
  joins: sql`left join warehouse.sms_lines l on l.line = r.line left join lateral (
      select left(m.body, 120) as words from warehouse.sms_messages m
      where m.number = r.number and m.conversation_id = r.conversation_id and m.deleted_at is null and m.sent_at = r.last_message_at limit 1
    ) newest on true`,
  words: ['words'],
  empty: html`No text was held in this time. New ones show within a second; <code>${commandName} backfill threads</code> reads older ones.`,
};

const calls: List = {
  name: 'calls',
  title: 'Calls',
  about: html`Every call with the world outside, the newest first.`,
  from: sql`reporting.fct_call`,
  order: sql`r.started_at desc, r.call_id desc`,
  at: { column: sql`r.started_at`, span: 'week' },
  filters: {
    direction: { label: 'Direction', options: named(['inbound', 'outbound']), where: equals(sql`r.direction`) },
    outcome: { label: 'Outcome', options: codes.outcome, where: equals(sql`r.outcome`) },
    returned: {
      label: 'Return',
      options: { missing: 'to be called back' },
      where: () =>
        sql`r.needs_call_back and exists (select from reporting.missed_calls m where m.call_id = r.call_id and m.is_unreturned)`,
    },
    number: ofNumber('Customer', sql`r.external_number`),
  },
  select: sql`coalesce(${customer(sql`r.external_number`)}, case when r.direction = 'outbound' then r.called_name else r.caller_name end, 'withheld') as customer,
    r.started_at, r.direction, r.outcome, r.account_number as our_number, q.queue_name as queue, u.user_name as agent,
    r.wait_seconds, r.talk_seconds, r.call_id`,
  joins: sql`left join reporting.dim_queue q on q.queue_key = coalesce(r.queue_key, r.huntgroup_key)
    left join reporting.dim_user u on u.user_key = coalesce(r.answered_user_key, r.placed_user_key)`,
  empty: html`No call was held in this time. New ones show within a second of their end; <code>${commandName} backfill calls</code> reads older ones.`,
};

const deliveries: List = {
  name: 'deliveries',
  title: 'Deliveries',
  about: html`Webhook requests as they came. A delivery only says what to read; <a href="/targets">the reads</a> bring the data. <code>${commandName} trace delivery 42</code> tells what one led to, <code>${commandName} events replay</code> reads it again.`,
  from: sql`ops.deliveries`,
  order: sql`r.delivery_id desc`,
  at: { column: sql`r.received_at`, span: 'week' },
  filters: {
    type: {
      label: 'Event type',
      options: { ...named(eventTypes), none: 'none in the address' },
      where: (type) => (type === 'none' ? sql`r.event_type is null` : sql`r.event_type = ${type}`),
    },
    recognized: {
      label: 'Recognized',
      options: { no: 'not recognized', yes: 'recognized' },
      where: (value) => (value === 'no' ? sql`not r.is_recognized` : sql`r.is_recognized`),
    },
  },
  select: sql`r.delivery_id as delivery, r.received_at, r.event_type as type, r.claimed_type as type_in_body, r.content_type, r.user_agent,
    nullif(concat_ws('; ', variadic r.targets[1:3]), '') || case when cardinality(r.targets) > 3 then ' and ' || cardinality(r.targets) - 3 || ' more' else '' end as points_at,
    case when r.is_erased then 'erased' when r.is_recognized then 'yes' when r.targets = '{}' then 'no' else 'in part' end as recognized,
    coalesce((select octet_length(bytes) from secrets.bodies b where b.delivery_id = r.delivery_id), octet_length(r.body)) as bytes`,
  hidden: ['type_in_body', 'content_type', 'user_agent'],
  show: { delivery: (id) => id },
  empty: html`No delivery came in this time. Deliveries show here within a second; <a href="/">the status page</a> says whether the webhooks are registered, and <code>${commandName} doctor</code> what stops them.`,
};

/** Each one is read through an index, however many targets there are. */
const targetStates: Readonly<Record<string, Condition>> = {
  trouble: sql`r.last_error is not null`,
  failing: sql`r.last_error is not null and ${isPending}`,
  refused: sql`r.last_error is not null and r.state <> 'active'`,
  parked: sql`${isPending} and ${isParked}`,
  pending: isPending,
};

const targets: List = {
  name: 'targets',
  title: 'Reads',
  about: html`What is read through the API: the threads, calls and so on that <a href="/deliveries">deliveries</a> or comparisons made pending, with the error of the newest read. A failed read is retried by itself, ever less often; <code>${commandName} resync</code> reads at once.`,
  from: sql`ops.sync_targets`,
  order: sql`r.priority, r.due_at, r.kind, r.key`,
  filters: {
    state: {
      label: 'State',
      usual: 'trouble',
      options: {
        trouble: 'failed or refused',
        failing: 'failed, will be retried',
        refused: 'gone or refused for good',
        parked: 'parked',
        pending: 'pending',
      },
      where: (state) => targetStates[state] ?? sql`true`,
    },
    kind: { label: 'Kind', options: named(targetKinds), where: equals(sql`r.kind`) },
  },
  select: sql`r.key, r.kind, ${stateInWords} as state, r.attempts as failures_in_a_row, r.last_error as why, r.read_at,
    case when ${isPending} then r.due_at end as next_at, 'delivery ' || r.delivery_id as because_of`,
  empty: html`No read failed or was refused. Reads that wait for their turn are <a href="/targets?state=pending">pending</a>.`,
};

const coverage: List = {
  name: 'coverage',
  title: 'Coverage by day',
  about: html`Whether everything that the service reports is held. Call history is compared hour by hour (UTC), so a day is complete when each hour of it is proven; today counts the hours that are over. Times in which deliveries may have been lost are gaps: what happened then is searched through the API.`,
  // Hours that were never compared have no row, also those of the first day.
  from: sql`(select (h at time zone 'UTC')::date as day, min(h) as day_at, count(*) as hours, count(*) filter (where state = 'proven') as proven_hours,
      sum(reported_count) as reported_calls, sum(held_count) as held_calls, sum(unannounced_count) as not_announced,
      (select count(*) from ops.gaps g where g.filled_at is null and g.from_at < max(h) + interval '1 hour' and g.to_at > min(h)) as open_gaps,
      min(last_error) filter (where state <> 'proven') as why_not
    from generate_series((select date_trunc('day', min(from_at), 'UTC') from ops.coverage where stream = 'calls'), now() - interval '1 hour', interval '1 hour') h
      left join ops.coverage c on c.stream = 'calls' and c.from_at = h group by 1)`,
  order: sql`r.day desc`,
  // Its noon lies in the same day of nearly every zone.
  at: { column: sql`r.day_at + interval '12 hours'`, span: 'month' },
  filters: {
    state: {
      label: 'State',
      options: { incomplete: 'not complete' },
      where: () => sql`r.proven_hours < r.hours`,
    },
  },
  select: sql`r.day, case when r.proven_hours = r.hours and r.day = (now() at time zone 'UTC')::date then 'complete so far'
      when r.proven_hours = r.hours then 'complete' when r.proven_hours = 0 then 'not compared yet' else 'not complete' end as state,
    r.proven_hours, r.hours, r.reported_calls, r.held_calls, r.not_announced, nullif(r.open_gaps, 0) as open_gaps, r.why_not`,
  // A count, not a duration.
  show: { proven_hours: (count) => count },
  empty: html`Nothing was compared yet. The workers compare each hour some minutes after its end; <code>${commandName} backfill calls</code> reads older history.`,
};

const sends: List = {
  name: 'sends',
  title: 'Texts of rules',
  about: html`The texts that <a href="/rules">rules</a> wanted to send, and what came of each. At most one request is ever sent for one; what a gate refused was not sent.`,
  from: sql`ops.sends`,
  order: sql`r.planned_at desc, r.send_id desc`,
  at: { column: sql`r.planned_at`, span: 'all' },
  above: aboveSends,
  filters: {
    state: {
      label: 'State',
      options: Object.fromEntries(states.map((state) => [state, sendStateWords(state, null)])),
      // Sends with an unknown outcome have their own index.
      where: (state) =>
        state === 'UNKNOWN' || state === 'NEEDS_HUMAN'
          ? sql`r.state = ${state} and r.unknown_at is not null`
          : sql`r.state = ${state}`,
    },
    mode: {
      label: 'Mode',
      options: modes,
      where: (mode) =>
        mode === 'live'
          ? sql`r.mode = 'live' and r.reason is distinct from 'dry_run'`
          : sql`(r.mode = 'dry-run' or r.reason = 'dry_run')`,
    },
    rule: ofRule,
    number: ofNumber('Customer', sql`r.number`),
  },
  select: sql`${customer(sql`r.number`)} as customer, r.planned_at as planned_at, r.state, r.reason as why, r.body as text, r.rule, r.line,
    case when r.reason = 'dry_run' then 'dry-run' else r.mode end as mode, r.units as segments, round(r.settled_micros / 1000000.0, 6)::float8 as charged_usd, r.send_id`,
  hidden: ['segments', 'line', 'mode'],
  words: ['text'],
  show: {
    state: (state, { why }) => sendStateWords(state as SendState, why ?? null),
    why: (reason, { state }) => sendReasonWords(state as SendState, reason),
  },
  empty: html`No rule wanted to send a text yet. A rule with a <code>reply</code> plans one when it matches, in <code>dry-run</code> too: <code>${commandName} rules simulate</code> shows what would happen.`,
};

const runs: List = {
  name: 'rules',
  title: 'Rules',
  about: html`The rules in force. Below them is every rule that matched a text, a call or a transcript, or was refused (too old, a limit, a stop, an error), and what it did. A rule whose condition was false is only counted: the thread and the call say why. <a href="/sends">Texts</a> has what came of the replies.`,
  from: sql`ops.rule_runs`,
  order: sql`r.evaluated_at desc, r.run_id desc`,
  at: { column: sql`r.evaluated_at`, span: 'week' },
  above: aboveRules,
  filters: {
    rule: ofRule,
    result: {
      label: 'Result',
      options: { matched: 'matched', unmatched: 'refused', failed: 'failed', step_failed: 'a step failed' },
      where: (result) =>
        ({
          matched: sql`r.is_matched`,
          unmatched: sql`not r.is_matched`,
          failed: sql`r.reason like 'error:%'`,
          step_failed: sql`exists (select from ops.rule_actions a where a.run_id = r.run_id and a.state = 'failed')`,
        })[result] ?? sql`true`,
    },
    mode: { label: 'Mode', options: modes, where: equals(sql`r.mode`) },
    number: ofNumber('Customer', sql`r.number`),
  },
  select: sql`r.rule, r.evaluated_at, ${customer(sql`r.number`)} as customer, r.trigger_kind as on, r.is_matched as matched,
    case when not r.is_matched then r.reason end as why_not, steps.words as steps, r.mode, r.line, ${subjectOfRun} as subject, r.run_id`,
  joins: sql`left join lateral (
      select string_agg(concat_ws(' ', a.kind, a.target) || ': ' || a.state, ', ' order by a.ordinal) as words from ops.rule_actions a where a.run_id = r.run_id
    ) steps on true`,
  hidden: ['line', 'subject', 'mode'],
  show: {
    why_not: (reason, { on }) => ruleOutcomeWords(reason, on ?? ''),
    steps: (joined) =>
      joined.replace(/(\w+): (\w+)/g, (_, kind: string, state: string) => `${kind}: ${actionStateWords(state)}`),
  },
  opens: ({ subject }) => (subject === null ? undefined : `/rules/explain/${subject}`),
  empty: html`No rule matched or was refused in this time. Rules wait for new texts and calls: <code>${commandName} rules simulate</code> tries them on the past.`,
};

const versions: List = {
  name: 'rules/history',
  current: '/rules',
  title: 'Versions of the rules',
  about: html`Each text of the rules that was applied. The newest is in force for all workers. <a href="/rules/edit">Edit the rules</a> · <a href="/rules">What they did</a>`,
  from: sql`ops.rule_versions`,
  order: sql`r.version desc`,
  filters: {},
  select: sql`r.version, r.applied_at, case when r.version = (select max(version) from ops.rule_versions) then 'in force' else 'earlier' end as state,
    r.applied_by as by, jsonb_array_length(r.rules) as rules, r.why`,
  show: { version: (number) => number },
  opens: ({ version }) => `/rules/history/${version}`,
  empty: html`No rules were applied yet: <a href="/rules/edit">write the first ones</a>.`,
};

const optOuts: List = {
  name: 'opt-outs',
  current: '/sends',
  title: 'Who opted out',
  about: html`Numbers that opted out, or may have, on any line: no rule texts them. A START of theirs ends it.`,
  from: sql`(select * from reporting.sms_opt_status where opt_status in ('opt_out', 'unsure'))`,
  order: sql`r.decided_at desc, r.number, r.line`,
  above: aboveOptOuts,
  filters: {
    number: ofNumber('Customer', sql`r.number`),
  },
  select: sql`${customer(sql`r.number`)} as customer, r.opt_status as status, r.decided_at as since_at, r.evidence,
    case when r.evidence = 'person' then (select o.decided_by from ops.opt_outs o where o.number = r.number and o.source = 'person' order by o.decided_at desc limit 1) end as decided_by,
    r.line, r.number, nullif(r.line, '') || '/' || r.number as thread`,
  hidden: ['number'],
  empty: html`Nobody opted out so far.`,
};

export const lists: readonly List[] = [threads, calls, runs, versions, sends, optOuts, deliveries, targets, coverage];
