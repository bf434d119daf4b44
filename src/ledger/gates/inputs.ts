import { hotQuery, sql, type Transaction, unseen } from '../../db/database.ts';
import { sameNumbers, spellingsOf } from '../../warehouse/phone-numbers.ts';
import { highestUnit } from '../control.ts';
import type { Mode } from '../limits.ts';
import { ruleMode } from '../rules-in-force.ts';
import type { SendPlan } from '../send.ts';
import { hasTalkedSince } from '../talks.ts';

/** Everything the gates need: the mirror and the ledger at one moment of the database's clock. */
export interface GateInputs {
  readonly now: Date;
  readonly isPaused: boolean;
  readonly highestUnitMicros: number;
  /** The mode of the send's rule in force; `off` if the rule isn't in force. `live` for a send that no rule planned. */
  readonly ruleMode: Mode;
  /** The recipient is the account's own line or number, a user's mobile, or the call came from an extension. */
  readonly isOwnNumber: boolean;
  /** The numbers of the triggering call, as the service wrote them. */
  readonly callerIds: readonly string[];
  /** Nobody answered the triggering call, and a person of the account has talked with the caller since. */
  readonly hasTalked: boolean;
  readonly isErased: boolean;
  /** The distinct first four digits of the account's lines: enough to derive their countries. */
  readonly ownPrefixes: readonly string[];
  /** The trigger is a text in a group. */
  readonly isGroup: boolean;
  /** The triggering text. Null for a call, and for a text that is no longer in the thread. */
  readonly trigger: (DatedText & { readonly direction: string }) | null;
  /** The other party has written after the trigger. */
  readonly hasNewerInbound: boolean;
  /** The rules weren't evaluated on such a newer text yet. One of them may answer it instead. */
  readonly isNewerUndecided: boolean;
  /** Earlier steps on the same trigger have to run first. */
  readonly isAwaitingSteps: boolean;
  /** Somebody other than this ledger has answered after the trigger. */
  readonly isAnswered: boolean;
  /** When a person of the account last wrote in the thread. */
  readonly humanAt: Date | null;
  /** Times (by the service's clock) of the ledger's texts in the thread, from the day before the trigger on. */
  readonly ownMessages: readonly Date[];
  /** Inbound texts from the day before the trigger. */
  readonly earlierInbound: readonly DatedText[];
  /** The ledger's recent sends to the number, by the database's clock; newest first. */
  readonly ownSends: readonly DatedText[];
  /**
   * The newest text to the number was blocked. A block can be lifted without a trace in the mirror, so this only counts
   * in dry runs and simulations, which don't ask the service.
   */
  readonly wasBlocked: boolean;
  /**
   * The opt-outs and opt-ins of the number on all lines: its texts, skips by the service, and the last manual decision.
   * Leaves out the unsure texts that this decision covers.
   */
  readonly optOuts: readonly OptOut[];
}

/** An opt-out, a text that may be one, or the opt-in that ends either. */
export interface OptOut {
  /** Empty for every line. */
  readonly line: string;
  readonly at: Date;
  readonly kind: 'opt_out' | 'unsure' | 'opt_in';
}

export interface DatedText {
  readonly text: string;
  readonly at: Date;
}

/** The part of a send that the inputs depend on. */
export type GateSubject = Pick<SendPlan, 'line' | 'number' | 'trigger' | 'limits'> & { readonly sendId?: string };

/** Reads the inputs of a send in one statement, as of now or a past moment. The thread is that of two parties. */
export async function readGateInputs(tx: Transaction, subject: GateSubject, past?: Date): Promise<GateInputs> {
  const [row] = await hotQuery(tx, inputsQuery(subject, past));
  if (!row) throw new Error('the inputs of the gates came without a row');
  // Times in JSON are strings.
  const dated = <T extends { at: string }>(value: T) => ({ ...value, at: new Date(value.at) });
  return {
    ...row,
    trigger: row.trigger && dated(row.trigger),
    earlierInbound: row.earlierInbound.map(dated),
    ownSends: row.ownSends.map(dated),
    ownMessages: row.ownMessages.map((at) => new Date(at)),
    optOuts: row.optOuts.map(dated),
  };
}

/** A value as it is represented in JSON. */
type Raw<T> = T extends Date ? string : T extends object ? { readonly [K in keyof T]: Raw<T[K]> } : T;
type JsonInput = 'trigger' | 'earlierInbound' | 'ownSends' | 'ownMessages' | 'optOuts';
type InputsRow = Omit<GateInputs, JsonInput> & Raw<Pick<GateInputs, JsonInput>>;

/** Maximum seconds that a reply and other steps on its trigger wait for each other, to keep the order of the file. */
export const maxReplyOrderSeconds = 60;
/** SQL: a phone number column, normalised like `normalizeNumber` does it. */
function normalized(column: string) {
  const digits = sql`regexp_replace(${sql.ref(column)}, '\\D', '', 'g')`;
  return sql`case when length(${digits}) = 10 then '1' else '' end || ${digits}`;
}

/** A text may be an automatic answer to a send of the ledger from the last so many days. */
const ownDays = 7;

/**
 * The moment is a parameter, so that simulations use the same statement. Within the same second, a text with a higher
 * id counts as later than the trigger. In a group, only texts by the trigger's sender count as theirs.
 */
function inputsQuery({ line, number, trigger, limits, sendId }: GateSubject, past?: Date) {
  const happenedAt = new Date(trigger.at.getTime() - (limits?.delaySeconds ?? 0) * 1_000);
  const messageId = sql`${trigger.kind === 'message' ? trigger.id : null}::bigint`;
  const callId = sql`${trigger.kind === 'call' ? trigger.id : null}::text`;
  const forms = unseen(sameNumbers(number));
  const pastNow = sql`${past ?? null}::timestamptz`;
  const ownDaysAgo = sql.raw(`interval '${ownDays} days'`);
  return sql<InputsRow>`
    with moment as (
      select coalesce(${pastNow}, clock_timestamp()) as now
    ), texts as (
      select t.* from moment, lateral (
        select m.conversation_id, m.message_id, m.direction, m.body, m.sent_by, m.is_blocked, m.is_reaction, coalesce(m.sent_at, m.first_seen_at) as at,
          exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id) as is_ours
        from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
        where c.line = ${line} and c.number = ${number} and c.participants_key = '' and m.deleted_at is null and m.is_scheduled is not true
      ) t where (${pastNow} is null or t.at < now or (t.at = now and t.message_id <= coalesce(${messageId}, t.message_id)))
    ), call as (
      select * from warehouse.calls where call_id = ${callId}
    ), trigger as (
      select body, direction, at, message_id from texts where message_id = ${messageId}
    ), own as (
      select body as text, dispatched_at as at from ops.sends, moment
      where line = ${line} and number = ${number} and send_id is distinct from ${sendId ?? null}::uuid and dispatched_at > now - ${ownDaysAgo}
        and dispatched_at <= now and state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN', 'SENT')
      order by dispatched_at desc limit 50
    ), since as (
      select coalesce((select at from trigger), ${happenedAt}::timestamptz) as at, coalesce((select message_id from trigger), 0) as message_id
    ), newer as (
      select t.conversation_id, t.message_id from texts t, since
      where t.direction = 'in' and t.is_reaction is not true and (t.at, t.message_id) > (since.at, since.message_id)
    ), earlier as (
      select coalesce(t.body, '') as text, t.at from texts t, since
      where t.direction = 'in' and t.is_reaction is not true and t.at > since.at - interval '1 day' and (t.at, t.message_id) < (since.at, since.message_id)
      order by t.at desc limit 50
    ), said as (
      select c.line, c.changed_at as at, c.kind, c.source, c.seen_at, max(c.changed_at) filter (where c.source = 'person') over () as person_at
      from ops.opt_out_changes c, moment where c.number = any(${spellingsOf(number)}) and (${pastNow} is null or c.changed_at <= moment.now)
    )
    select moment.now, k.is_paused as "isPaused", ${highestUnit} as "highestUnitMicros",
      coalesce((select ${ruleMode(sql`s.rule`)} from ops.sends s
        where s.send_id = ${sendId ?? null}::uuid and s.rule_version is not null), 'live') as "ruleMode",
      exists (select from warehouse.sms_lines where line = ${number})
        or exists (select from warehouse.user_endpoints where kind = 'number' and endpoint = any(${forms}) and valid_to = 'infinity')
        or exists (select from warehouse.users where deleted_at is null and ${normalized('mobile')} = any(${forms}))
        or exists (select from call where direction = 'inbound' and length(${normalized('caller_number')}) between 1 and 6)
        as "isOwnNumber",
      coalesce((select array_remove(array[caller_number, caller_id_external, caller_id_internal, called_number, dialled_number], null)
        from call), '{}') as "callerIds",
      exists (select from call where status is distinct from 'answered' and ${hasTalkedSince({
        isNumber: (column) => sql`${sql.ref(column)} = any(${forms})`,
        callId,
        since: sql`coalesce(call.started_at, call.ended_at)`,
        until: pastNow,
      })}) as "hasTalked",
      exists (select from ops.erased_among(array[${number}::text])) as "isErased",
      (select coalesce(array_agg(distinct left(line, 4)), '{}') from warehouse.sms_lines where deleted_at is null) as "ownPrefixes",
      exists (select from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
        where m.line = ${line} and m.number = ${number} and m.message_id = ${messageId}
          and (c.participants_key <> '' or cardinality(m.group_participants) > 1)) as "isGroup",
      (select jsonb_build_object('text', coalesce(body, ''), 'direction', direction, 'at', at) from trigger) as trigger,
      exists (select from newer) as "hasNewerInbound",
      ${pastNow} is null and exists (select from newer n join ops.rule_events e
        on e.kind = 'message_received' and e.after_seconds is null and e.key = n.conversation_id || '/' || n.message_id) as "isNewerUndecided",
      ${pastNow} is null and exists (select from ops.rule_actions reply join ops.rule_runs o using (run_id)
        join ops.rule_runs r on r.trigger_kind = o.trigger_kind and r.trigger_key = o.trigger_key and r.line = o.line and r.number = o.number
        join ops.rule_actions a on a.run_id = r.run_id
        where reply.send_id = ${sendId ?? null}::uuid and r.is_matched and a.state = 'waiting' and a.kind <> 'reply' and (a.target is null or a.tries = 0)
          and (a.run_id, a.ordinal) < (reply.run_id, reply.ordinal)
          and r.evaluated_at > now() - ${maxReplyOrderSeconds} * interval '1 second'
          and not (a.kind = 'resolve' and exists (
            select from ops.rule_actions own where own.run_id = a.run_id and own.kind = 'reply' and own.state = 'waiting'))) as "isAwaitingSteps",
      exists (select from texts t, since
        where t.direction = 'out' and not t.is_ours and t.at >= since.at and t.message_id <> since.message_id) as "isAnswered",
      (select max(at) from texts where direction = 'out' and sent_by is not null and not is_ours) as "humanAt",
      (select coalesce(jsonb_agg(recent.at), '[]') from (
        select t.at from texts t, since where t.is_ours and t.at > since.at - interval '1 day' order by t.at desc limit 50) recent) as "ownMessages",
      (select coalesce(jsonb_agg(earlier), '[]') from earlier) as "earlierInbound",
      (select coalesce(jsonb_agg(own), '[]') from own) as "ownSends",
      coalesce((select is_blocked from texts where direction = 'out' order by at desc, message_id desc limit 1), false) as "wasBlocked",
      (select coalesce(jsonb_agg(jsonb_build_object('line', line, 'at', at, 'kind', kind)), '[]') from said
        where kind <> 'clear' and case when source = 'person' then at = person_at
          else kind <> 'unsure' or seen_at > coalesce(person_at, '-infinity') end) as "optOuts"
    from ops.send_control k, moment`;
}
