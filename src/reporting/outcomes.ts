import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { tryLock } from '../db/locks.ts';
import { limitWait, recordFailure } from './drain-failures.ts';
import { replaceRows } from './rollups/parts.ts';

/*
 * Rules are counted in two ways: evaluations leave no row, or only for a while; sends leave one for good:
 *
 *   evaluation, step ─ commit, with its tally ──▶ waiting ─ drain: delete tallies, add them to their day ─ commit ─▶ counted
 *   send, reply ────── commit, with a marker ───▶ waiting ─ drain: delete markers, count their days again ─ commit ─▶ even
 *
 * `rules/runs.ts` and `rules/actions/action-states.ts` write tallies; `markSends` of `ledger/send.ts`, the erasure of a number and
 * `warehouse/what-follows.ts` write markers.
 */

/** SQL: something waits to be counted. */
export const outcomesWait = sql`exists (select from ops.rule_tallies) or exists (select from ops.send_markers)
  or exists (select from ops.outcome_state s, reporting.params p where s.time_zone is distinct from p.time_zone)`;

/** Maximum tallies, and maximum markers, in one transaction. */
const maxTaken = 5_000;

/**
 * Adds what rules and sends did to the daily totals, until nothing is left, another process does it, or the signal
 * fires. Records a failure.
 */
export function drainOutcomes(db: Database, signal?: AbortSignal): Promise<void> {
  return recordFailure(db, 'ops.outcome_state', async () => {
    let taken = await inTransaction(db, drain);
    const isBusy = taken === 'busy';
    while (taken !== 'busy' && taken > 0 && !signal?.aborted) taken = await inTransaction(db, drain);
    return isBusy ? 'busy' : 'done';
  });
}

async function drain(tx: Transaction): Promise<number | 'busy'> {
  if (!(await tryLock(tx, 'outcomes'))) return 'busy';
  await query(tx, limitWait, []);
  await followTimeZone(tx);
  const tallies = await addTallies(tx, maxTaken);
  const { markers, planned, charged } = await takeMarkers(tx);
  for (const day of planned) await countPlanned(tx, day);
  for (const day of charged) await countCharged(tx, day);
  const taken = tallies + markers;
  if (taken === 0) await query(tx, 'update ops.outcome_state set drained_at = now()', []);
  return taken;
}

/** Another time zone means other local days. Totals of runs stay as they were, because the runs may be gone. */
async function followTimeZone(tx: Transaction): Promise<void> {
  const changed = await query(
    tx,
    `update ops.outcome_state s set time_zone = p.time_zone from reporting.params p
     where s.time_zone is distinct from p.time_zone returning 1`,
    [],
  );
  if (changed.length === 0) return;
  await query(tx, 'delete from rollups.sms_cost_rollup', []);
  await query(tx, 'delete from rollups.rule_outcome_rollup where evaluation_count = 0', []);
  await query(tx, `update rollups.rule_outcome_rollup set ${noSends} where planned_count > 0`, []);
  await query(
    tx,
    `insert into ops.send_markers (planned_at, charged_at)
     select ops.quarter_of(planned_at), ops.quarter_of(coalesce(dispatched_at, reserved_at)) from ops.sends group by 1, 2`,
    [],
  );
}

interface MarkedDays {
  readonly markers: number;
  readonly planned: readonly string[];
  readonly charged: readonly string[];
}

async function takeMarkers(tx: Transaction): Promise<MarkedDays> {
  const [row] = await query<MarkedDays>(
    tx,
    `with taken as (
       delete from ops.send_markers where marker_id in (select marker_id from ops.send_markers order by marker_id limit $1) returning *
     )
     select count(*)::integer as markers,
       coalesce(array_agg(distinct reporting.local_day(planned_at)::text) filter (where planned_at is not null), '{}') as planned,
       coalesce(array_agg(distinct reporting.local_day(charged_at)::text) filter (where charged_at is not null), '{}') as charged
     from taken`,
    [maxTaken],
  );
  return row ?? { markers: 0, planned: [], charged: [] };
}

/**
 * A text from the recipient within this time after a send counts as a reply to it. `warehouse/what-follows.ts` uses the
 * same time.
 */
const replyWindow = `interval '24 hours'`;

const isBlocked = `(s.state = 'DENIED' and s.reason is distinct from 'dry_run' or s.state = 'EXPIRED')`;
const isUnclear = `s.state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN')`;

const counts: Readonly<Record<string, string>> = {
  planned_count: 'count(*)',
  sent_count: count(`s.state = 'SENT'`),
  would_send_count: count(`s.state = 'DENIED' and s.reason = 'dry_run'`),
  blocked_count: count(isBlocked),
  skipped_count: count(`s.state = 'SKIPPED'`),
  rejected_count: count(`s.state = 'REJECTED'`),
  not_sent_count: count(`s.state = 'NOT_SENT'`),
  waiting_count: count(`s.state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'RESERVED')`),
  unclear_count: count(isUnclear),
  would_segment_count: sum('s.units', `s.state = 'DENIED' and s.reason = 'dry_run'`),
  charged_micros: sum('s.settled_micros', `s.state = 'SENT'`),
  replied_count: count('followed.is_reply'),
  opted_out_count: count('followed.is_opt_out'),
};

/** Resets what sends add to a day. */
const noSends = [...Object.keys(counts).map((column) => `${column} = 0`), `blocked_by_gate = '{}'`].join(', ');

function count(condition: string): string {
  return `count(*) filter (where ${condition})`;
}

function sum(value: string, condition: string): string {
  return `coalesce(sum(${value}) filter (where ${condition}), 0)`;
}

/** Counts the texts planned by rules on a local day again. */
async function countPlanned(tx: Transaction, day: string): Promise<void> {
  const columns = [...Object.keys(counts), 'blocked_by_gate'];
  await query(tx, `update rollups.rule_outcome_rollup set ${noSends} where local_date = $1 and planned_count > 0`, [
    day,
  ]);
  await query(
    tx,
    `with s as materialized (
       select *, coalesce(rule_version, '') as version from ops.sends
       where planned_at >= reporting.day_start($1::date) and planned_at < reporting.day_start($1::date + 1)
     ), gates as materialized (
       select rule, version, mode, jsonb_object_agg(gate, blocked) as blocked_by_gate
       from (
         select rule, version, mode, regexp_replace(coalesce(reason, 'unknown'), '^gate:', '') as gate,
           count(*) as blocked
         from s where ${isBlocked} group by 1, 2, 3, 4
       ) each group by 1, 2, 3
     )
     insert into rollups.rule_outcome_rollup (local_date, rule, version, mode, ${columns.join(', ')})
     select $1::date, s.rule, s.version, s.mode, ${Object.values(counts).join(', ')},
       coalesce((select g.blocked_by_gate from gates g where (g.rule, g.version, g.mode) = (s.rule, s.version, s.mode)), '{}')
     from s
       left join lateral (
         select bool_or(m.opt_out_verdict is distinct from 'opt_out') as is_reply,
           bool_or(m.opt_out_verdict = 'opt_out') as is_opt_out
         from warehouse.sms_messages m
           join warehouse.sms_conversations c on c.conversation_id = m.conversation_id and c.participants_key = ''
         where s.state = 'SENT' and m.number = s.number and m.sent_at > s.dispatched_at
           and m.sent_at <= s.dispatched_at + ${replyWindow}
           and m.line = s.line and m.direction = 'in' and m.is_reaction is not true and m.deleted_at is null
       ) followed on true
     group by s.rule, s.version, s.mode
     on conflict (local_date, rule, version, mode) do update set
       ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    [day],
  );
}

/** Counts the texts that left, or were due to leave, on a local day again. */
async function countCharged(tx: Transaction, day: string): Promise<void> {
  const isSent = `s.state = 'SENT'`;
  const isOpen = `s.state = 'RESERVED' or ${isUnclear}`;
  const isUnpriced = `${isSent} and s.settled_micros is null`;
  await replaceRows(
    tx,
    {
      table: 'sms_cost_rollup',
      scope: 't.local_date = $1::date',
      fresh: `select $1::date as local_date, s.line, ${count(isSent)} as sent_count, ${sum('s.units', isSent)} as segment_count,
          ${sum('s.settled_micros', isSent)} as charged_micros, ${count(isUnpriced)} as unpriced_count,
          ${sum('s.reserved_micros', isUnpriced)} as unpriced_set_aside_micros, ${sum('s.reserved_micros', isOpen)} as open_set_aside_micros
        from ops.sends s
        where s.reserved_at is not null and coalesce(s.dispatched_at, s.reserved_at) >= reporting.day_start($1::date)
          and coalesce(s.dispatched_at, s.reserved_at) < reporting.day_start($1::date + 1) and (${isSent} or ${isOpen})
        group by s.line`,
    },
    [day],
  );
}

/** The column that each word of a tally adds to, besides `evaluation_count` for an evaluation. */
const columnOf: Readonly<Record<string, readonly string[]>> = {
  matched_count: ['matched'],
  condition_false_count: ['condition_false'],
  limited_count: ['limit'],
  error_count: ['error'],
  action_done_count: ['action_done'],
  action_would_count: ['action_dry_run'],
  action_failed_count: ['action_failed'],
};

const tallied = ['evaluation_count', ...Object.keys(columnOf)];
const added = [
  sum('count', `word !~ '^action_'`),
  ...Object.values(columnOf).map((words) => sum('count', `word in (${words.map((word) => `'${word}'`).join(', ')})`)),
];

/** Adds up to so many tallies to their days, and returns how many there were. */
async function addTallies(tx: Transaction, most: number): Promise<number> {
  const [row] = await query<{ taken: number }>(
    tx,
    `with taken as (
       delete from ops.rule_tallies where tally_id in (select tally_id from ops.rule_tallies order by tally_id limit $1) returning *
     ), added as (
       insert into rollups.rule_outcome_rollup as r (local_date, rule, version, mode, ${tallied.join(', ')})
       select reporting.local_day(t.happened_at) as local_date, c.rule, t.version, c.mode, ${added.join(', ')}
       from taken t cross join jsonb_to_recordset(t.counts) c (rule text, mode text, word text, count integer)
       group by 1, 2, 3, 4
       on conflict (local_date, rule, version, mode) do update set
         ${tallied.map((column) => `${column} = r.${column} + excluded.${column}`).join(', ')}
     )
     select count(*)::integer as taken from taken`,
    [most],
  );
  return row?.taken ?? 0;
}
