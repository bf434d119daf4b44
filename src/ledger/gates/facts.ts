import { hotQuery, type Transaction } from '../../warehouse/database.ts';
import type { SendPlan } from '../send.ts';

/** All that the gates judge by, as the mirror and the ledger have it at one moment of the database's clock. */
export interface Facts {
  readonly now: Date;
  readonly isPaused: boolean;
  readonly highestUnitMicros: number;
  /**
   * How the rule that planned it stands in the file in force: `off` also when it is gone from there, `unknown` while no file
   * is. `live` where no rule planned it, and where the rule is newer than what was last written down.
   */
  readonly ruleMode: 'off' | 'dry-run' | 'live' | 'unknown';
  /** The recipient is a line or a number of the account itself. */
  readonly isOwnNumber: boolean;
  readonly isErased: boolean;
  /** The first four digits of the account's own lines, each once: enough to tell their countries. */
  readonly ownPrefixes: readonly string[];
  /** The trigger is a text of a group. */
  readonly isGroup: boolean;
  /** The text that triggered it, while the thread lists it; null for a call, and for a text that is gone. */
  readonly trigger: { readonly text: string; readonly direction: string; readonly at: Date } | null;
  /** Somebody wrote to us after the trigger. */
  readonly hasNewerInbound: boolean;
  /** The rules have not been tried yet on such a newer text; one of them may answer it instead. */
  readonly isNewerUndecided: boolean;
  /** Somebody but this ledger answered after the trigger. */
  readonly isAnswered: boolean;
  /** When a person last wrote in the thread for us. */
  readonly humanAt: Date | null;
  /** The moments of the texts of this ledger in the thread since a day before the trigger, by the service's clock. */
  readonly ownMessages: readonly Date[];
  /** Texts that came in within a day before the trigger. */
  readonly earlierInbound: readonly Said[];
  /** What this ledger sent to the number in the last days, by the database's clock; the newest first. */
  readonly ownSends: readonly Said[];
  /**
   * The newest text to the number was blocked, or an answer of the service once said so. A block can be lifted without a
   * trace in the mirror, so this only stands in where the service is not asked: in a dry run and in a simulation.
   */
  readonly wasBlocked: boolean;
  /** Texts of the number, in all threads of the account: an opt-out counts beyond its line. */
  readonly saidTexts: readonly (Said & OnLine)[];
  /** When the service last said of a line that the number had opted out of it. */
  readonly skips: readonly (OnLine & Pick<Said, 'at'>)[];
}

interface OnLine {
  readonly line: string;
}

export interface Said {
  readonly text: string;
  readonly at: Date;
}

/** What of a send the facts depend on. */
export type FactsSubject = Pick<SendPlan, 'line' | 'number' | 'trigger'> & { readonly sendId?: string };

/** Another moment than now: a simulation asks what was known then. */
export interface FactsMoment {
  readonly now: Date;
  /** From here on, what this ledger sent is left out. */
  readonly withoutOwnFrom: Date;
}

/** Gathers the facts for a send in one query. The thread's texts are those of the conversation of two parties. */
export async function readFacts(tx: Transaction, subject: FactsSubject, moment?: FactsMoment): Promise<Facts> {
  const { line, number, trigger, sendId } = subject;
  const [row] = await hotQuery<FactsRow>(tx, text, [
    line,
    number,
    trigger.kind === 'message' ? trigger.id : null,
    trigger.at,
    sendId ?? null,
    moment?.now ?? null,
    moment?.withoutOwnFrom ?? null,
  ]);
  if (!row) throw new Error('the facts of a send came without a row');
  // Moments inside JSON come as text.
  const dated = <T extends { at: string }>(value: T) => ({ ...value, at: new Date(value.at) });
  return {
    ...row,
    trigger: row.trigger && dated(row.trigger),
    earlierInbound: row.earlierInbound.map(dated),
    ownSends: row.ownSends.map(dated),
    ownMessages: row.ownMessages.map((at) => new Date(at)),
    saidTexts: row.saidTexts.map(dated),
    skips: row.skips.map(dated),
  };
}

type Raw<T> = Omit<T, 'at'> & { readonly at: string };
interface FactsRow
  extends Omit<Facts, 'saidTexts' | 'skips' | 'trigger' | 'earlierInbound' | 'ownSends' | 'ownMessages'> {
  readonly ownMessages: readonly string[];
  readonly trigger: Raw<NonNullable<Facts['trigger']>> | null;
  readonly earlierInbound: readonly Raw<Said>[];
  readonly ownSends: readonly Raw<Said>[];
  readonly saidTexts: readonly Raw<Facts['saidTexts'][number]>[];
  readonly skips: readonly Raw<Facts['skips'][number]>[];
}

/** Characters of a person's texts that are searched for an opt-out, the newest first, so that nobody can make it slow. */
const searchedCharacters = 100_000;

/** What this ledger sent counts for so many days, in which a machine may answer it. */
const ownDays = 7;

// The moment is a parameter, so that a simulation judges last month by the very same text as the present is judged by. What
// came within the trigger's own second, but after it, was not there then. A group goes by the number of one member, who said
// of it only what is from them.
const text = `
  with moment as (
    select coalesce($6::timestamptz, clock_timestamp()) as now, coalesce($7::timestamptz, 'infinity') as without_own_from
  ), texts as (
    select t.* from moment, lateral (
      select m.conversation_id, m.message_id, m.direction, m.body, m.sent_by, m.is_blocked, coalesce(m.sent_at, m.first_seen_at) as at,
        exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id) as is_ours
      from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
      where c.line = $1 and c.number = $2 and c.participants_key = '' and m.deleted_at is null and m.is_scheduled is not true
    ) t where ($6::timestamptz is null or t.at < now or (t.at = now and t.message_id <= coalesce($3::bigint, t.message_id)))
      and not (t.is_ours and t.at >= without_own_from)
  ), trigger as (
    select body, direction, at, message_id from texts where message_id = $3::bigint
  ), own as (
    select body as text, dispatched_at as at from ops.sends, moment
    where line = $1 and number = $2 and send_id is distinct from $5::uuid and dispatched_at > now - interval '${ownDays} days'
      and dispatched_at <= now and dispatched_at < without_own_from and state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN', 'SENT')
    order by dispatched_at desc limit 50
  ), since as (
    select coalesce((select at from trigger), $4::timestamptz) as at, coalesce((select message_id from trigger), 0) as message_id
  ), newer as (
    select t.conversation_id, t.message_id from texts t, since
    where t.direction = 'in' and (t.at, t.message_id) > (since.at, since.message_id)
  ), earlier as (
    select coalesce(t.body, '') as text, t.at from texts t, since
    where t.direction = 'in' and t.at > since.at - interval '1 day' and (t.at, t.message_id) < (since.at, since.message_id)
    order by t.at desc limit 50
  ), known as (
    (select left(body, 2000) as text, line, coalesce(sent_at, first_seen_at) as at from warehouse.sms_messages m
     where number = $2 and direction = 'in' and body <> '' and (from_number = $2 or not exists (
       select from warehouse.sms_conversations c where c.conversation_id = m.conversation_id and c.participants_key <> ''))
     order by sent_at desc nulls last limit 500)
    union all
    (select left(body, 2000), line, coalesce(sent_at, first_seen_at) from warehouse.sms_messages
     where from_number = $2 and direction = 'in' and group_participants is not null and body <> ''
     order by sent_at desc nulls last limit 500)
  ), said as (
    select text, line, at from (select *, sum(length(text)) over (order by at desc rows unbounded preceding) as searched from known) k
    where searched <= ${searchedCharacters}
  )
  select moment.now, k.is_paused as "isPaused", k.highest_unit_micros::float8 as "highestUnitMicros",
    coalesce((
      select case when s.planned_at > l.checked_at and s.rule_version is distinct from l.version then 'live'
        when l.version is null then 'unknown'
        else coalesce((select r ->> 'mode' from jsonb_array_elements(l.rules) r where r ->> 'name' = s.rule), 'off') end
      from ops.sends s, ops.rules_loaded l where s.send_id = $5::uuid and s.rule_version is not null), 'live') as "ruleMode",
    exists (select from warehouse.sms_lines where line = $2)
      or exists (select from warehouse.user_endpoints where kind = 'number' and endpoint = $2 and valid_to = 'infinity') as "isOwnNumber",
    exists (select from ops.erased_among(array[$2])) as "isErased",
    (select coalesce(array_agg(distinct left(line, 4)), '{}') from warehouse.sms_lines where deleted_at is null) as "ownPrefixes",
    exists (select from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
      where m.line = $1 and m.number = $2 and m.message_id = $3::bigint
        and (c.participants_key <> '' or cardinality(m.group_participants) > 1)) as "isGroup",
    (select jsonb_build_object('text', coalesce(body, ''), 'direction', direction, 'at', at) from trigger) as trigger,
    exists (select from newer) as "hasNewerInbound",
    $6::timestamptz is null and exists (select from newer n join ops.rule_events e
      on e.kind = 'message_received' and e.key = n.conversation_id || '/' || n.message_id) as "isNewerUndecided",
    exists (select from texts t, since
      where t.direction = 'out' and not t.is_ours and t.at >= since.at and t.message_id <> since.message_id) as "isAnswered",
    (select max(at) from texts where direction = 'out' and sent_by is not null and not is_ours) as "humanAt",
    (select coalesce(jsonb_agg(recent.at), '[]') from (
      select t.at from texts t, since where t.is_ours and t.at > since.at - interval '1 day' order by t.at desc limit 50) recent) as "ownMessages",
    (select coalesce(jsonb_agg(earlier), '[]') from earlier) as "earlierInbound",
    (select coalesce(jsonb_agg(own), '[]') from own) as "ownSends",
    coalesce((select is_blocked from texts where direction = 'out' order by at desc, message_id desc limit 1), false)
      or exists (select from warehouse.blocked_senders
        where line = $1 and number = $2 and observed_at <= moment.now and observed_at < without_own_from) as "wasBlocked",
    (select coalesce(jsonb_agg(said), '[]') from said where $6::timestamptz is null or said.at <= moment.now) as "saidTexts",
    (select coalesce(jsonb_agg(jsonb_build_object('line', line, 'at', opted_out_at)), '[]')
      from ops.opt_outs where number = $2 and opted_out_at <= moment.now) as "skips"
  from ops.send_control k, moment`;
