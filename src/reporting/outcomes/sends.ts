import { query, type Transaction } from '../../warehouse/database.ts';

/** A text of the recipient within this time after a send is a reply that it gained. `ops.mark_replies` knows it too. */
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
  waiting_count: count(`s.state in ('PLANNED', 'HELD', 'RESERVED')`),
  unclear_count: count(isUnclear),
  segment_count: sum('s.units', `s.state = 'SENT'`),
  would_segment_count: sum('s.units', `s.state = 'DENIED' and s.reason = 'dry_run'`),
  charged_micros: sum('s.settled_micros', `s.state = 'SENT'`),
  unpriced_count: count(`s.state = 'SENT' and s.settled_micros is null`),
  set_aside_micros: sum('s.reserved_micros', `s.state = 'SENT' and s.settled_micros is null or ${isUnclear}`),
  replied_count: count('followed.is_reply'),
  opted_out_count: count('followed.is_opt_out'),
};

/** Sets what sends add to a day to nothing. */
export const noSends = [...Object.keys(counts).map((column) => `${column} = 0`), `blocked_by_gate = '{}'`].join(', ');

function count(condition: string): string {
  return `count(*) filter (where ${condition})`;
}

function sum(value: string, condition: string): string {
  return `coalesce(sum(${value}) filter (where ${condition}), 0)`;
}

/** Counts the texts anew that rules planned on a local day. */
export async function countPlanned(tx: Transaction, day: string): Promise<void> {
  const columns = [...Object.keys(counts), 'blocked_by_gate'];
  await query(tx, `update reporting.rule_outcome_rollup set ${noSends} where local_date = $1 and planned_count > 0`, [
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
     insert into reporting.rule_outcome_rollup (local_date, rule, version, mode, ${columns.join(', ')})
     select $1::date, s.rule, s.version, s.mode, ${Object.values(counts).join(', ')},
       coalesce((select g.blocked_by_gate from gates g where (g.rule, g.version, g.mode) = (s.rule, s.version, s.mode)), '{}')
     from s
       left join lateral (
         select bool_or(reporting.opt_word(m.body) is distinct from 'opt_out') as is_reply,
           bool_or(reporting.opt_word(m.body) = 'opt_out') as is_opt_out
         from warehouse.sms_messages m
           join warehouse.sms_conversations c on c.conversation_id = m.conversation_id and c.participants_key = ''
         where s.state = 'SENT' and m.number = s.number and m.sent_at > s.dispatched_at
           and m.sent_at <= s.dispatched_at + ${replyWindow}
           and m.line = s.line and m.direction = 'in' and m.deleted_at is null
       ) followed on true
     group by s.rule, s.version, s.mode
     on conflict (local_date, rule, version, mode) do update set
       ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    [day],
  );
}

/** Counts the texts anew that went out, or were to, on a local day. */
export async function countCharged(tx: Transaction, day: string): Promise<void> {
  await query(tx, 'delete from reporting.sms_cost_rollup where local_date = $1', [day]);
  const isOpen = `s.state = 'RESERVED' or ${isUnclear}`;
  const isUnpriced = `s.state = 'SENT' and s.settled_micros is null`;
  await query(
    tx,
    `insert into reporting.sms_cost_rollup (local_date, line, message_type, sent_count, segment_count, charged_micros,
       unpriced_count, unpriced_set_aside_micros, open_count, open_set_aside_micros)
     select $1::date, s.line, s.message_type, ${counts.sent_count}, ${counts.segment_count}, ${counts.charged_micros},
       ${count(isUnpriced)}, ${sum('s.reserved_micros', isUnpriced)}, ${count(isOpen)}, ${sum('s.reserved_micros', isOpen)}
     from ops.sends s
     where s.reserved_at is not null and coalesce(s.dispatched_at, s.reserved_at) >= reporting.day_start($1::date)
       and coalesce(s.dispatched_at, s.reserved_at) < reporting.day_start($1::date + 1)
       and (s.state = 'SENT' or ${isOpen})
     group by s.line, s.message_type`,
    [day],
  );
}
