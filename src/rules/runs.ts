import { type Database, hotQuery, query, relation, sql, type Transaction } from '../db/database.ts';
import { planSend } from '../ledger/plans.ts';
import type { SendPlan } from '../ledger/send.ts';
import type { Evaluation } from './decide.ts';
import type { Case, KnownCase } from './facts/read.ts';
import type { Action, Rule } from './rule.ts';

/** A case with the results of all rules that waited for its trigger. */
export interface Decision {
  readonly case: Case;
  readonly evaluations: readonly Evaluation[];
}

/**
 * Records decisions with their planned sends and waiting actions, in the transaction of the evaluation. Skips a rule that
 * was evaluated on the trigger before, in any version, so that it acts once. Returns how many rules matched.
 */
export async function recordDecisions(
  tx: Transaction,
  version: string,
  decisions: readonly Decision[],
  inForceSince: (rule: Rule) => Date,
): Promise<number> {
  let matched = 0;
  for (const decision of decisions) {
    const runs = await insertRuns(tx, version, decision);
    for (const evaluation of decision.evaluations) {
      const runId = runs.get(evaluation.rule.name);
      if (runId === undefined || !evaluation.isMatched || !decision.case.subject) continue;
      matched += 1;
      for (const [at, action] of evaluation.actions.entries()) {
        const start =
          action.kind === 'reply'
            ? await planReply(tx, version, decision.case, evaluation, action, inForceSince(evaluation.rule))
            : ({ state: evaluation.mode === 'live' ? 'waiting' : 'dry_run' } as const);
        await insertAction(tx, runId, at + 1, start, action);
      }
    }
  }
  return matched;
}

async function insertRuns(
  tx: Transaction,
  version: string,
  { case: { trigger, subject }, evaluations }: Decision,
): Promise<Map<string, string>> {
  if (evaluations.length === 0) return new Map();
  const { conversationId = null, line = null, number = null } = subject ?? {};
  const rows = await hotQuery<{ rule: string; run_id: string }>(
    tx,
    sql`
      insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, conversation_id, line, number, mode,
        is_matched, reason, facts)
      select rule, ${version}, ${trigger.kind}, ${trigger.key}, ${trigger.at}, ${conversationId}, ${line}, ${number}, mode,
        is_matched, reason, facts
      from ${relation('e', evaluations, {
        rule: ['text', ({ rule }) => rule.name],
        mode: 'text',
        is_matched: ['boolean', ({ isMatched }) => isMatched],
        reason: 'text',
        facts: ['jsonb', ({ facts }) => JSON.stringify(facts)],
      })}
      on conflict (rule, trigger_kind, trigger_key) do nothing
      returning rule, run_id`,
  );
  return new Map(rows.map(({ rule, run_id }) => [rule, run_id]));
}

/** The first state of an action. */
interface ActionStart {
  readonly state: 'waiting' | 'skipped' | 'dry_run';
  readonly reason?: string;
  readonly sendId?: string;
}

async function planReply(
  tx: Transaction,
  version: string,
  each: KnownCase,
  { rule, mode }: Evaluation,
  reply: Reply,
  ruleSince: Date,
): Promise<ActionStart> {
  const skipped = (reason: string): ActionStart => ({ state: 'skipped', reason });
  const plan = await replyPlan(tx, each, rule, reply);
  if (typeof plan === 'string') return skipped(noPlanWords[plan]);
  const planned = await planSend(tx, { ...plan, mode, ruleVersion: version, ruleSince });
  if (planned === 'duplicate') return skipped('it was answered before');
  if (planned === 'thread_busy') return skipped('another send of the thread is under way');
  return { state: 'waiting', ...planned };
}

export type Reply = Extract<Action, { kind: 'reply' }>;

/** Why a reply of a rule is not planned. */
export const noPlanWords = {
  nothing_to_answer: 'there is no text of theirs to answer',
  empty_text: 'the text is empty',
} as const;

/** A live send for the reply of a rule to a case; or why there is none. */
export async function replyPlan(
  tx: Transaction,
  { trigger, subject }: KnownCase,
  rule: Rule,
  { text, from }: Reply,
): Promise<SendPlan | keyof typeof noPlanWords> {
  const answered = await answeredBy(tx, { trigger, subject });
  if (!answered) return 'nothing_to_answer';
  if (text === '') return 'empty_text';
  const { line, number } = subject;
  const limits = rule.replyLimits;
  return {
    rule: rule.name,
    line: from ?? line,
    number,
    trigger: { ...answered, at: trigger.at },
    text,
    mode: 'live',
    limits,
    ruleHash: rule.hash,
  };
}

/** What a reply answers, as the ledger identifies it: the call, or their newest text up to the trigger. */
async function answeredBy(
  tx: Transaction,
  { trigger, subject }: Pick<KnownCase, 'trigger' | 'subject'>,
): Promise<{ readonly kind: 'message' | 'call'; readonly id: string } | undefined> {
  if (subject.callId !== null) return { kind: 'call', id: subject.callId };
  if (trigger.kind === 'message_received') return { kind: 'message', id: subject.lastMessageId };
  const [newest] = await hotQuery<{ id: string }>(
    tx,
    sql`
      select message_id as id from warehouse.sms_messages
      where conversation_id = ${subject.conversationId} and direction = 'in' and deleted_at is null and sent_at <= ${trigger.at}
      order by sent_at desc, message_id desc limit 1`,
  );
  return newest && { kind: 'message', id: newest.id };
}

async function insertAction(
  tx: Transaction,
  runId: string,
  ordinal: number,
  { state, reason, sendId }: ActionStart,
  { kind, ...argument }: Action,
): Promise<void> {
  // The ledger stores the text of a reply.
  const isNeeded = state === 'waiting' && kind !== 'reply' && kind !== 'reopen';
  await hotQuery(
    tx,
    sql`
      insert into ops.rule_actions (run_id, ordinal, kind, state, reason, send_id, argument, settled_at)
      values (${runId}, ${ordinal}, ${kind}, ${state}, ${reason ?? null}, ${sendId ?? null}, ${isNeeded ? JSON.stringify(argument) : null},
        case when ${state !== 'waiting'} then now() end)`,
  );
}

/** The range of daily rollups and of the status page. */
const minUnmatchedDays = 30;

/** Limits and the facts about replies count matches; the longest limit covers 366 days. */
const minMatchedDays = 400;

const maxAtOnce = 5_000;

/**
 * Deletes unmatched runs older than `days`, and matched ones older than 400 days, in transactions of bounded size. This makes
 * no rule act again: events of that age are never recorded. Returns how many were deleted.
 */
export async function deleteOldRuns(db: Database, days: number, signal?: AbortSignal): Promise<number> {
  const unmatched = await deleteRuns(db, false, Math.max(minUnmatchedDays, days), signal);
  return unmatched + (await deleteRuns(db, true, minMatchedDays, signal));
}

async function deleteRuns(
  db: Database,
  isMatched: boolean,
  days: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  let deleted = 0;
  while (!signal?.aborted) {
    const rows = await query(
      db,
      sql`
        delete from ops.rule_runs where run_id in (
          select run_id from ops.rule_runs r
          where ${isMatched ? sql`is_matched` : sql`not is_matched`} and evaluated_at < now() - ${days} * interval '1 day'
            and not exists (select from ops.rule_actions a where a.run_id = r.run_id and a.state = 'waiting')
          order by evaluated_at limit ${maxAtOnce} for update skip locked)
        returning 1`,
    );
    deleted += rows.length;
    if (rows.length < maxAtOnce) break;
  }
  return deleted;
}
