import { type Database, query, sql, type Transaction } from '../db/database.ts';
import type { SendState } from '../ledger/states.ts';
import { hoursOf } from './business-hours.ts';
import type { Clause } from './conditions/condition.ts';
import { decide, type Evaluation } from './decide.ts';
import type { Facts } from './facts/declared.ts';
import { type KnownCase, readCases } from './facts/read.ts';
import { celFacts, factAt } from './facts/values.ts';
import { readHistory } from './history.ts';
import { idleAt } from './idle.ts';
import { type Mode, type Rule, type RuleSet, stepName } from './rule.ts';
import { noPlanWords, replyPlan } from './runs.ts';
import { createJudge, type Judge } from './simulate/judge.ts';
import { idleTimes, triggersOfCall, withDelays } from './simulate/past-triggers.ts';
import type { Trigger } from './triggers.ts';

export interface ExplainedText {
  readonly conversationId: string;
  readonly messageId: string;
  readonly line: string;
  readonly number: string;
  readonly direction: string;
  readonly at: Date;
  readonly text: string;
}

export interface ExplainedCall {
  readonly callId: string;
  readonly line: string | null;
  readonly number: string | null;
  readonly direction: string | null;
  readonly status: string | null;
  readonly reached: string;
  readonly seconds: number | null;
  readonly at: Date;
}

/** A clause of a condition that wasn't true, with its facts. A missing fact is undefined, and can be the reason. */
export interface FalseClause {
  readonly clause: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** What a rule really did about the text or call. A rule that didn't match has a record only if it was refused. */
export interface PastRun {
  readonly id: string;
  readonly rule: string;
  readonly on: string;
  /** What the rule knew at the time, without the words of others. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly isMatched: boolean;
  readonly reason: string;
  readonly mode: string;
  readonly version: string;
  readonly evaluatedAt: Date;
  readonly actions: readonly {
    readonly kind: string;
    readonly state: string;
    readonly reason: string | null;
    readonly sendId: string | null;
    readonly sendState: SendState | null;
    readonly sendReason: string | null;
  }[];
}

export interface RuleExplanation {
  readonly rule: string;
  readonly on: string;
  readonly mode: Mode;
  readonly heldBack?: Rule['heldBack'];
  /**
   * `matched`, or why not, as `ops.rule_runs.reason` has it; `off`; `other_trigger` for a rule that doesn't wait for
   * this text or call; `not_due` while the thread isn't idle for long enough, or the time of `after` hasn't come; `former`.
   */
  readonly outcome: string;
  /** The earliest evaluation, and when the trigger becomes too old. Undefined with `off` and `other_trigger`. */
  readonly dueAt?: Date;
  readonly tooOldAt?: Date;
  /** With `condition_false`. */
  readonly falseClauses: readonly FalseClause[];
  /** Its steps, such as `notify support`. Only for a match. */
  readonly does?: readonly string[];
  /** The outcome of its reply, if it matched and replies: `sent`, `held`, `awaiting_approval`, or the refusing gate. */
  readonly reply?: string;
  /** The trigger is older now than the rule's max_age. */
  readonly isTooOldNow: boolean;
  readonly past?: PastRun | undefined;
}

/** At least one of `message` and `call`. */
export interface Explanation {
  readonly message?: ExplainedText;
  readonly call?: ExplainedCall;
  readonly rules: readonly RuleExplanation[];
}

/**
 * A text or a call by its id, or a thread: its newest inbound text, the idle time after its last text, and the newest
 * call between both parties.
 */
export type Choice =
  | { readonly messageId: string }
  | { readonly callId: string }
  | { readonly line: string; readonly number: string };

/**
 * Evaluates the rules on a text, a call, or both, with the data that was known at the time. Undefined if the mirror has
 * neither. Writes nothing: the transaction is read-only.
 */
export function explain(db: Database, set: RuleSet, choice: Choice, mode: Mode): Promise<Explanation | undefined> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute((tx) => explainIn(tx, set, choice, mode));
}

/** The same in a transaction of the caller. */
export async function explainIn(
  tx: Transaction,
  set: RuleSet,
  choice: Choice,
  mode: Mode,
): Promise<Explanation | undefined> {
  const message = 'callId' in choice ? undefined : await findText(tx, choice);
  const call = 'messageId' in choice ? undefined : await findCall(tx, choice);
  if (!message && !call) return undefined;
  const triggers = [
    ...(message ? await triggersOf(tx, set, message, 'messageId' in choice) : []),
    ...(call ? await triggersOfCall(tx, call.callId) : []),
  ];
  const rules = await explainRules(tx, set, withDelays(set.rules, triggers), mode);
  const keys = [...(message ? [keyOf(message)] : []), ...triggers.map(({ key }) => key)];
  return {
    ...(message && { message }),
    ...(call && { call }),
    rules: [...rules, ...(await formerRules(tx, rules, keys))],
  };
}

const keyOf = ({ conversationId, messageId }: ExplainedText) => `${conversationId}/${messageId}`;

/** What rules recorded besides: on another event of the same text or call, or in a version that isn't in force any more. */
async function formerRules(
  tx: Transaction,
  rules: readonly RuleExplanation[],
  keys: readonly string[],
): Promise<RuleExplanation[]> {
  const former = (await pastRuns(tx, keys)).filter(({ id }) => !rules.some(({ past }) => past?.id === id));
  const rest = { mode: 'off', outcome: 'former', falseClauses: [], isTooOldNow: false } as const;
  return former.map((past) => ({ ...rest, rule: past.rule, on: past.on, past }));
}

/** The newest ended call, by its id or between a line and a number. */
async function findCall(
  tx: Transaction,
  choice: Exclude<Choice, { messageId: string }>,
): Promise<ExplainedCall | undefined> {
  const isChosen =
    'callId' in choice
      ? sql`call_id = ${choice.callId}`
      : sql`account_number = ${choice.line} and external_number = ${choice.number}`;
  const [found] = await query<ExplainedCall>(
    tx,
    sql`
      select call_id as "callId", account_number as line, external_number as number, direction, status,
        coalesce(reached, 'unknown') as reached, duration_seconds as seconds,
        date_trunc('milliseconds', ended_at) as at
      from warehouse.calls where ended_at is not null and deleted_at is null and not is_erased and ${isChosen}
      order by started_at desc, call_id desc limit 1`,
  );
  return found;
}

async function findText(
  tx: Transaction,
  choice: Exclude<Choice, { callId: string }>,
): Promise<ExplainedText | undefined> {
  const isChosen =
    'messageId' in choice
      ? sql`m.message_id = ${choice.messageId}`
      : sql`c.line = ${choice.line} and c.number = ${choice.number} and c.participants_key = '' and m.direction = 'in'`;
  const [found] = await query<ExplainedText>(
    tx,
    sql`
      select c.conversation_id as "conversationId", m.message_id as "messageId", c.line, c.number, m.direction,
        date_trunc('milliseconds', m.sent_at) as at, coalesce(m.body, '') as text
      from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
      where m.deleted_at is null and m.sent_at is not null and m.is_scheduled is not true and ${isChosen}
      order by m.sent_at desc, m.message_id desc limit 1`,
  );
  return found;
}

async function explainRules(
  tx: Transaction,
  set: RuleSet,
  triggers: readonly Trigger[],
  mode: Mode,
): Promise<RuleExplanation[]> {
  const explained = new Map<string, RuleExplanation>();
  for (const trigger of triggers) {
    for (const each of await explainRulesOn(tx, set, trigger, mode)) explained.set(each.rule, each);
  }
  return set.rules.map(({ name, on, mode, heldBack }) => {
    const outcome = mode === 'off' ? 'off' : 'other_trigger';
    return explained.get(name) ?? { rule: name, on, mode, heldBack, outcome, falseClauses: [], isTooOldNow: false };
  });
}

/** Evaluates the rules that wait for a trigger, with the data that was known at the time. Writes nothing. */
async function explainRulesOn(tx: Transaction, set: RuleSet, trigger: Trigger, mode: Mode): Promise<RuleExplanation[]> {
  const from = trigger.at;
  const [each] = await readCases(tx, [trigger], set, { isPast: true });
  if (!each) return [];
  const history = await readHistory(tx, each.subject ? [each.subject] : [], { until: from });
  const judge = await createJudge(tx, set, from);
  // With RULES_MODE off, rules are explained as in a dry run.
  const evaluations = decide(set, mode === 'off' ? 'dry-run' : mode, each, history);
  const [clock] = await query<{ now: Date }>(tx, sql`select clock_timestamp() as now`);
  const ageMs = (clock?.now ?? new Date()).getTime() - from.getTime();
  const past = (await pastRuns(tx, [trigger.key])).filter(({ on }) => on === trigger.kind);
  const explained: RuleExplanation[] = [];
  let isAnswered = false;
  for (const evaluation of evaluations) {
    const { rule, reason, facts } = evaluation;
    const outcome = each.subject && evaluation.isMatched ? await replyOutcome(tx, judge, each, evaluation) : undefined;
    // The second reply to one trigger finds the first one in progress.
    const reply = outcome !== undefined && isAnswered ? 'thread_busy' : outcome;
    isAnswered ||= outcome !== undefined;
    explained.push({
      rule: rule.name,
      on: rule.on,
      mode: rule.mode,
      heldBack: rule.heldBack,
      ...(ageMs < 0
        ? { outcome: 'not_due', falseClauses: [] }
        : {
            outcome: reason,
            falseClauses: facts && reason === 'condition_false' ? falseClauses(rule, facts) : [],
            ...(evaluation.isMatched && { does: evaluation.actions.map(stepName) }),
            ...(reply !== undefined && { reply }),
          }),
      dueAt: from,
      tooOldAt: new Date(from.getTime() + rule.maxAgeSeconds * 1_000),
      isTooOldNow: ageMs > rule.maxAgeSeconds * 1_000,
      past: past.findLast((each) => each.rule === rule.name),
    });
  }
  return explained;
}

/** An outcome in words. `of` is what was explained. */
export function outcomeWords(outcome: string, on: string, of = 'a text'): string {
  const words: Readonly<Record<string, string>> = {
    matched: 'matches',
    condition_false: 'its condition is false',
    off: 'is off',
    too_old: 'it was too old by then',
    other_trigger: on === 'thread_idle' ? 'waits for the thread to be idle' : `waits for ${on}, not for ${of}`,
    not_due:
      on === 'thread_idle' ? 'the thread has not been idle for long enough yet' : 'its time has not come yet (after)',
    rule_gone: 'the rule was removed or turned off before its time came (after)',
    former: 'decided before, on another event of it or in an earlier version',
    gone: 'its trigger no longer exists',
    no_other_party: 'there is no other party',
    reaction: 'the text is a reaction, and its condition does not ask for `message.is_reaction`',
    group_thread: 'rules do not act in groups',
    no_call_back: 'the call needs no call-back, by `missed` of the rules file',
  };
  const [kind = '', detail = ''] = outcome.split(':');
  if (kind === 'limit') return `its limit per ${detail} is used up`;
  if (kind === 'stopped') return `${detail} above stopped it`;
  return words[outcome] ?? outcome;
}

/** What is decided about a reply, in a sentence. */
export function replyWords(reply: string): string {
  if (reply === 'sent') return 'Its reply passes every gate.';
  if (reply === 'awaiting_approval') return 'Its reply waits for a person to approve it.';
  return reply === 'held' ? 'Its reply is held until the quiet hours end.' : `Its reply is refused: ${reply}.`;
}

/**
 * The text itself if it's inbound, and the idle triggers after the last text of its thread. A text chosen by its id has
 * the idle triggers that came before the next text.
 */
async function triggersOf(
  tx: Transaction,
  set: RuleSet,
  message: ExplainedText,
  isChosenById: boolean,
): Promise<Trigger[]> {
  const { conversationId, messageId, line, direction, at } = message;
  const triggers: Trigger[] = direction === 'in' ? [{ kind: 'message_received', key: keyOf(message), at }] : [];
  const isFrom = sql`(date_trunc('milliseconds', sent_at), message_id) >= (${at}, ${messageId})`;
  const [last, next] = await query<{ id: string; at: Date }>(
    tx,
    sql`
      select message_id as id, date_trunc('milliseconds', sent_at) as at from warehouse.sms_messages
      where conversation_id = ${conversationId} and deleted_at is null and is_scheduled is not true and is_reaction is not true
        and sent_at is not null
        ${isChosenById ? sql`and ${isFrom} order by sent_at, message_id limit 2` : sql`order by sent_at desc, message_id desc limit 1`}`,
  );
  if (!last || (isChosenById && last.id !== messageId)) return triggers;
  for (const idle of idleTimes(set.rules)) {
    const at = idleAt(idle, hoursOf(set.hours, line), last.at);
    if (at && (!next || at <= next.at)) {
      triggers.push({ kind: 'thread_idle', key: `${conversationId}/${last.id}`, idle, at });
    }
  }
  return triggers;
}

function falseClauses({ condition }: Rule, facts: Facts): FalseClause[] {
  if (!condition) return [];
  const shape = celFacts(facts);
  const isTrue = ({ test }: Clause) => {
    try {
      return test(shape);
    } catch {
      return false;
    }
  };
  return condition.clauses
    .filter((each) => !isTrue(each))
    .map(({ text, paths }) => ({
      clause: text,
      facts: Object.fromEntries(paths.map((path) => [path, factAt(facts, path)])),
    }));
}

async function replyOutcome(
  tx: Transaction,
  judge: Judge,
  each: KnownCase,
  { rule, actions }: Evaluation,
): Promise<string | undefined> {
  const reply = actions.find((action) => action.kind === 'reply');
  if (!reply) return undefined;
  const plan = await replyPlan(tx, each, rule, reply);
  if (typeof plan === 'string') return noPlanWords[plan];
  const outcome = await judge(plan, each.trigger.at);
  if (outcome.kind === 'denied') return outcome.reason;
  if (rule.replyLimits.approval) return 'awaiting_approval';
  return outcome.heldUntil ? 'held' : 'sent';
}

/** What rules recorded about triggers with these keys, including rules that aren't in force any more. */
export function pastRuns(tx: Transaction, keys: readonly string[]): Promise<PastRun[]> {
  return query<PastRun>(
    tx,
    sql`
      select r.run_id as id, r.rule, r.trigger_kind as on, r.facts, r.is_matched as "isMatched", r.reason, r.mode, r.version, r.evaluated_at as "evaluatedAt",
        coalesce(jsonb_agg(jsonb_build_object('kind', concat_ws(' ', a.kind, a.target), 'state', a.state, 'reason', a.reason, 'sendId', s.send_id,
          'sendState', s.state, 'sendReason', s.reason) order by a.ordinal) filter (where a.run_id is not null), '[]') as actions
      from ops.rule_runs r left join ops.rule_actions a using (run_id) left join ops.sends s on s.send_id = a.send_id
      where r.trigger_key = any(${keys}) group by r.run_id order by r.evaluated_at`,
  );
}
