import { query, type Transaction } from '../../warehouse/database.ts';
import type { Send } from '../send.ts';

/** All that the gates judge by, as the mirror and the ledger have it at one moment of the database's clock. */
export interface Facts {
  readonly now: Date;
  readonly isPaused: boolean;
  readonly highestUnitMicros: number;
  /** The recipient is a line or a number of the account itself. */
  readonly isOwnNumber: boolean;
  readonly isErased: boolean;
  /** The trigger is a text of a group. */
  readonly isGroup: boolean;
  /** The text that triggered it, while the thread lists it; null for a call, and for a text that is gone. */
  readonly trigger: { readonly text: string; readonly direction: string; readonly at: Date } | null;
  /** Somebody wrote to us after the trigger. */
  readonly hasNewerInbound: boolean;
  /** Somebody but this ledger answered after the trigger. */
  readonly isAnswered: boolean;
  /** When a person last wrote in the thread for us. */
  readonly humanAt: Date | null;
  /** The moment of the last text of this ledger in the thread, by the service's clock. */
  readonly ownMessageAt: Date | null;
  /** Texts that came in within a day before the trigger, after a send of this ledger. */
  readonly earlierInbound: readonly string[];
  /** Texts that this ledger sent to the number within a week. */
  readonly ownTexts: readonly string[];
  /** The last text that went to the number was blocked: charged and not delivered. */
  readonly isBlocked: boolean;
  /** Short texts of the number, in all threads of the account: an opt-out counts for all of them. */
  readonly saidTexts: readonly { readonly text: string; readonly at: Date }[];
  readonly skippedAt: Date | null;
}

/** Gathers the facts for a send in one query. The thread's texts are those of the conversation of two parties. */
export async function readFacts(tx: Transaction, send: Send): Promise<Facts> {
  const { line, number, trigger } = send;
  const [row] = await query<FactsRow>(tx, text, [
    line,
    number,
    trigger.kind === 'message' ? trigger.id : null,
    trigger.at,
    send.sendId,
  ]);
  if (!row) throw new Error('the facts of a send came without a row');
  // Moments inside JSON come as text.
  const dated = <T extends { at: string }>(value: T) => ({ ...value, at: new Date(value.at) });
  return { ...row, trigger: row.trigger && dated(row.trigger), saidTexts: row.saidTexts.map(dated) };
}

interface FactsRow extends Omit<Facts, 'saidTexts' | 'trigger'> {
  readonly saidTexts: readonly { text: string; at: string }[];
  readonly trigger: { text: string; direction: string; at: string } | null;
}

/** Longer texts are no opt-outs. */
const longestOptOut = 120;

/** Whether `$2` is a line of the account or a number of one of its users; an endpoint in force ends at infinity. */
export const isOwnNumber = `exists (select from warehouse.sms_lines where line = $2)
      or exists (select from warehouse.user_endpoints where kind = 'number' and endpoint = $2 and valid_to = 'infinity')`;

const text = `
  with texts as (
    select m.message_id, m.direction, m.body, m.sent_by, m.is_blocked, coalesce(m.sent_at, m.first_seen_at) as at,
      exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id) as is_ours
    from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
    where c.line = $1 and c.number = $2 and c.participants_key = '' and m.deleted_at is null and m.is_scheduled is not true
  ), trigger as (
    select body, direction, at, message_id from texts where message_id = $3::bigint
  ), own as (
    select body, dispatched_at, message_id from ops.sends
    where line = $1 and number = $2 and send_id <> $5 and dispatched_at is not null
      and state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN', 'SENT')
  ), since as (
    select coalesce((select at from trigger), $4::timestamptz) as at, coalesce((select message_id from trigger), 0) as message_id
  )
  select clock_timestamp() as now, k.is_paused as "isPaused", k.highest_unit_micros::float8 as "highestUnitMicros",
    ${isOwnNumber} as "isOwnNumber",
    exists (select from ops.erased_among(array[$2])) as "isErased",
    exists (select from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
      where m.line = $1 and m.number = $2 and m.message_id = $3::bigint
        and (c.participants_key <> '' or cardinality(m.group_participants) > 1)) as "isGroup",
    (select jsonb_build_object('text', coalesce(body, ''), 'direction', direction, 'at', at) from trigger) as trigger,
    exists (select from texts t, since where t.direction = 'in' and (t.at, t.message_id) > (since.at, since.message_id)) as "hasNewerInbound",
    exists (select from texts t, since
      where t.direction = 'out' and not t.is_ours and t.at >= since.at and t.message_id <> since.message_id) as "isAnswered",
    (select max(at) from texts where direction = 'out' and sent_by is not null) as "humanAt",
    (select max(at) from texts where is_ours) as "ownMessageAt",
    array(select coalesce(t.body, '') from texts t, since
      where t.direction = 'in' and t.at > since.at - interval '1 day' and (t.at, t.message_id) < (since.at, since.message_id)
        and exists (select from own where own.dispatched_at > t.at - interval '1 day')
      order by t.at desc limit 50) as "earlierInbound",
    array(select body from own where dispatched_at > clock_timestamp() - interval '7 days'
      order by dispatched_at desc limit 50) as "ownTexts",
    coalesce((select is_blocked from texts where direction = 'out' order by at desc, message_id desc limit 1), false) as "isBlocked",
    (select coalesce(jsonb_agg(said), '[]') from (
       (select body as text, coalesce(sent_at, first_seen_at) as at from warehouse.sms_messages
        where number = $2 and direction = 'in' and length(body) <= ${longestOptOut} order by sent_at desc nulls last limit 500)
       union all
       (select body, coalesce(sent_at, first_seen_at) from warehouse.sms_messages
        where from_number = $2 and direction = 'in' and group_participants is not null and length(body) <= ${longestOptOut}
        order by sent_at desc nulls last limit 500)
     ) said) as "saidTexts",
    (select opted_out_at from ops.opt_outs where number = $2) as "skippedAt"
  from ops.send_control k`;
