import { hotQuery, inTransaction, query, relation, sql, type Transaction } from '../db/database.ts';
import type { RuleLimits } from '../ledger/limits.ts';
import { transition } from '../ledger/send.ts';
import { factsFor } from './decide.ts';
import { beginEvaluation, type EvaluationContext } from './event-processor.ts';
import type { Facts } from './facts/declared.ts';
import { readCases } from './facts/read.ts';
import { celFacts } from './facts/values.ts';
import { readHistory } from './history.ts';
import type { ActiveMode, Rule, RuleSet } from './rule.ts';
import type { Trigger } from './triggers.ts';

/* Replies that wait (for the end of quiet hours, of a pause, for a retry, for an approval) while a new version of the rules comes into force. */

interface WaitingReply {
  readonly sendId: string;
  readonly state: 'PLANNED' | 'HELD' | 'AWAITING_APPROVAL';
  readonly rule: string;
  readonly mode: ActiveMode;
  readonly text: string;
  readonly hash: string;
  readonly limits: RuleLimits;
  readonly trigger: Omit<Trigger, 'at'>;
  readonly trigger_at: Date;
}

const batchSize = 50;

/**
 * Moves waiting replies to the version in force: renders those again whose rule was changed, and drops those whose rule would
 * not reply any more. Repeats until none is left. The ledger sends none of an older version.
 */
export async function renderWaitingReplies(context: EvaluationContext, signal: AbortSignal): Promise<void> {
  let isMore = true;
  while (isMore && !signal.aborted) {
    const before = await context.rules(context.db);
    if (!before) return;
    const [any] = await hotQuery(context.db, sql`${outdatedReplies(before, context)} limit 1`);
    if (!any) return;
    isMore = await inTransaction(context.db, async (tx) => {
      const set = await beginEvaluation(tx, context);
      if (!set) return false;
      const replies = await query<WaitingReply>(
        tx,
        sql`${outdatedReplies(set, context)} limit ${batchSize} for update of s skip locked`,
      );
      for (const reply of replies) await renderAgain(tx, set, reply);
      return replies.length === batchSize;
    });
  }
}

/** Replies that would leave are left to live workers, and those that speak of hours to workers that know their time zone. */
const outdatedReplies = ({ rules, version }: RuleSet, { mode }: EvaluationContext) => sql<WaitingReply>`
  select s.send_id as "sendId", s.state, s.rule, s.mode, s.body as text, s.rule_hash as hash, s.limits,
    jsonb_strip_nulls(jsonb_build_object('kind', r.trigger_kind, 'key', r.trigger_key, 'afterSeconds', r.after_seconds)) as trigger,
    r.trigger_at
  from ops.sends s join ${relation(
    'c',
    rules.filter(({ heldBack }) => !heldBack),
    { rule: ['text', ({ name }) => name], hash: 'text' },
  )} on c.rule = s.rule
  join ops.rule_actions a on a.send_id = s.send_id and a.kind = 'reply' join ops.rule_runs r using (run_id)
  where s.state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL') and s.body <> '' and s.rule_version <> ${version}
    and (s.mode = 'dry-run' or ${mode} = 'live')`;

async function renderAgain(tx: Transaction, set: RuleSet, reply: WaitingReply): Promise<void> {
  const { sendId, state } = reply;
  const rule = set.rules.find(({ name }) => name === reply.rule);
  if (!rule) return;
  if (reply.hash === rule.hash) {
    await query(tx, sql`update ops.sends set rule_version = ${set.version} where send_id = ${sendId}`);
    return;
  }
  const text = await textNow(tx, set, rule, reply);
  const step = { sendId, from: [state], actor: 'rule' } as const;
  if (text === undefined) {
    await transition(tx, { ...step, to: 'DENIED', reason: 'rule_changed' });
    return;
  }
  // Its gates and the end of its quiet hours are judged by the new limits.
  const changes = {
    // Whoever approved it has read the old text.
    ...(text !== reply.text && { body: text, approved_at: null }),
    limits: JSON.stringify(rule.replyLimits),
    rule_hash: rule.hash,
    rule_version: set.version,
  };
  await transition(tx, { ...step, to: 'HELD', reason: 'rendered again', dueInMs: 0, set: changes });
}

/** The text that the rule would reply to the trigger now; undefined if it would not. */
async function textNow(
  tx: Transaction,
  set: RuleSet,
  rule: Rule,
  { trigger, trigger_at: at, mode }: WaitingReply,
): Promise<string | undefined> {
  const step = rule.steps.find(({ kind }) => kind === 'reply');
  if (step?.kind !== 'reply' || rule.on !== trigger.kind) return undefined;
  const facts = await readFactsAgain(tx, set, { ...trigger, at }, mode);
  if (!facts) return undefined;
  try {
    if (rule.condition && !rule.condition.test(celFacts(facts))) return undefined;
    return step.text.render(facts) || undefined;
  } catch {
    // The rule fails on it, as it would on a new trigger.
    return undefined;
  }
}

/** The facts of an earlier trigger, without what rules did since; undefined if no rule could act on it any more. */
async function readFactsAgain(
  tx: Transaction,
  set: RuleSet,
  trigger: Trigger,
  mode: ActiveMode,
): Promise<Facts | undefined> {
  const { at } = trigger;
  const [each] = await readCases(tx, [trigger], set, { isPast: true });
  if (!each?.subject) return undefined;
  return factsFor(each, await readHistory(tx, [each.subject], { from: at, until: at }), mode);
}
