import type { Facts as GateFacts } from '../../ledger/gates/facts.ts';
import { isOwnNumber } from '../../ledger/gates/facts.ts';
import { judge, type Verdict } from '../../ledger/gates/gates.ts';
import { worstSegments } from '../../ledger/gates/segments.ts';
import type { AccountLimits } from '../../ledger/limits.ts';
import type { SendPlan } from '../../ledger/send.ts';
import { query, type Transaction } from '../../warehouse/database.ts';
import type { StagedSend } from './stage.ts';

/** What would have become of a reply. */
export type Fate =
  | { readonly kind: 'sent'; readonly at: Date; readonly segments: number; readonly micros: number }
  /** Its quiet hours end after the span. */
  | { readonly kind: 'held'; readonly until: Date }
  | { readonly kind: 'denied'; readonly reason: string };

export interface Judge {
  fateOf(plan: SendPlan, sentBefore: readonly StagedSend[], until: Date): Promise<Fate>;
}

/** Puts replies of the past through the ledger's own gates, on what the mirror says was known then, and through budgets. */
export function createJudge(tx: Transaction, limits: AccountLimits): Judge {
  const budgets = new Map<string, number>();
  const answered = new Set<string>();

  return {
    async fateOf(plan, sentBefore, until) {
      const key = [plan.line, plan.number, plan.trigger.kind, plan.trigger.id].join(' ');
      // The second answer to one thing finds the first under way.
      if (answered.has(key)) return { kind: 'denied', reason: 'thread_busy' };
      answered.add(key);
      let at = plan.trigger.at;
      let verdict = await verdictAt(tx, plan, sentBefore, at);
      if (verdict.kind === 'hold') {
        at = verdict.until;
        if (at >= until) return { kind: 'held', until: at };
        verdict = await verdictAt(tx, plan, sentBefore, at);
        if (verdict.kind === 'hold') return { kind: 'held', until: verdict.until };
      }
      if (verdict.kind === 'expire') return { kind: 'denied', reason: 'gate:too_old' };
      if (verdict.kind === 'deny') return { kind: 'denied', reason: verdict.reason };
      const price = await priceOf(tx, limits);
      const segments = worstSegments(plan.text);
      const micros = segments * price;
      const usedUp = spend(budgets, plan, at, micros, limits);
      return usedUp === undefined
        ? { kind: 'sent', at, segments, micros }
        : { kind: 'denied', reason: `gate:budget_${usedUp}` };
    },
  };
}

async function verdictAt(
  tx: Transaction,
  plan: SendPlan,
  sentBefore: readonly StagedSend[],
  now: Date,
): Promise<Verdict> {
  const facts = await gateFacts(tx, plan, sentBefore, now);
  const maxAgeMs = (plan.limits?.maxAgeSeconds ?? 900) * 1_000;
  // The hours of quiet do not make it older.
  const expiresAt = new Date(Math.max(plan.trigger.at.getTime(), now.getTime()) + maxAgeMs);
  return judge({ ...plan, limits: plan.limits ?? {}, expiresAt, plannedAt: plan.trigger.at }, facts);
}

interface Row
  extends Omit<
    GateFacts,
    'now' | 'isPaused' | 'ownMessageAt' | 'earlierInbound' | 'ownTexts' | 'saidTexts' | 'trigger'
  > {
  readonly trigger: { text: string; direction: string; at: string } | null;
  readonly inbound: readonly { text: string; at: string }[];
  readonly saidTexts: readonly { text: string; at: string }[];
}

const dayMs = 86_400_000;

/** The gates' facts as they stood at a moment, with the simulated sends in place of the ledger's own. */
async function gateFacts(
  tx: Transaction,
  { line, number, trigger }: SendPlan,
  sentBefore: readonly StagedSend[],
  now: Date,
): Promise<GateFacts> {
  const [row] = await query<Row>(tx, statement, [
    line,
    number,
    trigger.kind === 'message' ? trigger.id : null,
    trigger.at,
    now,
  ]);
  if (!row) throw new Error('the facts of a send came without a row');
  const dated = <T extends { at: string }>(value: T) => ({ ...value, at: new Date(value.at) });
  const own = sentBefore.filter(({ at }) => at <= now);
  return {
    ...row,
    now,
    isPaused: false,
    trigger: row.trigger && dated(row.trigger),
    saidTexts: row.saidTexts.map(dated),
    ownMessageAt: own.at(-1)?.at ?? null,
    ownTexts: own.filter(({ at }) => at.getTime() > now.getTime() - 7 * dayMs).map(({ text }) => text),
    earlierInbound: row.inbound
      .map(dated)
      .filter(({ at }) => own.some((sent) => sent.at.getTime() > at.getTime() - dayMs))
      .map(({ text }) => text),
  };
}

const statement = `
  with texts as (
    select m.message_id, m.direction, m.body, m.sent_by, m.is_blocked, m.sent_at as at
    from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
    where c.line = $1 and c.number = $2 and c.participants_key = '' and m.deleted_at is null and m.is_scheduled is not true
      and m.send_id is null and m.sent_at <= $5
  ), trigger as (
    select body, direction, at, message_id from texts where message_id = $3::bigint
  ), since as (
    select coalesce((select at from trigger), $4::timestamptz) as at, coalesce((select message_id from trigger), 0) as message_id
  )
  select k.highest_unit_micros::float8 as "highestUnitMicros",
    ${isOwnNumber} as "isOwnNumber",
    exists (select from ops.erased_among(array[$2])) as "isErased",
    false as "isGroup",
    (select jsonb_build_object('text', coalesce(body, ''), 'direction', direction, 'at', at) from trigger) as trigger,
    exists (select from texts t, since where t.direction = 'in' and (t.at, t.message_id) > (since.at, since.message_id)) as "hasNewerInbound",
    exists (select from texts t, since where t.direction = 'out' and t.at >= since.at and t.message_id <> since.message_id) as "isAnswered",
    (select max(at) from texts where direction = 'out' and sent_by is not null) as "humanAt",
    (select coalesce(jsonb_agg(jsonb_build_object('text', coalesce(t.body, ''), 'at', t.at)), '[]') from texts t, since
      where t.direction = 'in' and t.at > since.at - interval '1 day' and (t.at, t.message_id) < (since.at, since.message_id)) as inbound,
    coalesce((select is_blocked from texts where direction = 'out' order by at desc, message_id desc limit 1), false) as "isBlocked",
    (select coalesce(jsonb_agg(said), '[]') from (
      select body as text, sent_at as at from warehouse.sms_messages
      where (number = $2 or from_number = $2) and direction = 'in' and length(body) <= 120 and sent_at <= $5
      order by sent_at desc limit 500) said) as "saidTexts",
    (select opted_out_at from ops.opt_outs where number = $2 and opted_out_at <= $5) as "skippedAt"
  from ops.send_control k`;

async function priceOf(tx: Transaction, limits: AccountLimits): Promise<number> {
  const [row] = await query<{ micros: number }>(
    tx,
    'select highest_unit_micros::float8 as micros from ops.send_control',
    [],
  );
  return Math.max(limits.unitMicros, row?.micros ?? 0);
}

/** Takes a send's part of the day's budgets (UTC), or says which is used up. */
function spend(
  budgets: Map<string, number>,
  { line, number, limits: own }: SendPlan,
  at: Date,
  micros: number,
  limits: AccountLimits,
): string | undefined {
  const day = at.toISOString().slice(0, 10);
  const spent = (scope: string) => budgets.get(`${day} ${scope}`) ?? 0;
  const scopes: [string, string, number][] = [
    ['account', 'account', limits.perAccount],
    ['line', `line/${line}`, limits.perLine],
    ['thread', `thread/${line}/${number}`, Math.min(limits.perThread, own?.perThread ?? limits.perThread)],
  ];
  const full = scopes.find(([, scope, cap]) => spent(scope) >= cap);
  if (full) return full[0];
  if (spent('money') + micros > limits.dailyMicros) return 'money';
  for (const [, scope] of scopes) budgets.set(`${day} ${scope}`, spent(scope) + 1);
  budgets.set(`${day} money`, spent('money') + micros);
  return undefined;
}
