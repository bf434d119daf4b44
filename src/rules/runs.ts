import { type Database, hotQuery, query, relation, sql, type Transaction } from '../db/database.ts';
import { planSend } from '../ledger/plans.ts';
import type { SendPlan } from '../ledger/send.ts';
import type { Evaluation } from './decide.ts';
import type { Case, KnownCase } from './facts/read.ts';
import { recordedFacts } from './facts/values.ts';
import { type Action, type Rule, targetOf } from './rule.ts';

/** A case with the results of all rules that waited for its trigger. */
export interface Decision {
  readonly case: Case;
  readonly evaluations: readonly Evaluation[];
}

/**
 * Records decisions with their planned sends and waiting actions, in the transaction of the evaluation, and counts
 * them. Skips a rule that already has a row for the trigger, in whatever version, so that it acts once. Returns how
 * many rules matched.
 */
export async function recordDecisions(
  tx: Transaction,
  version: string,
  decisions: readonly Decision[],
  inForceSince: (rule: Rule) => Date,
): Promise<number> {
  const results = decisions.flatMap(({ case: each, evaluations }) =>
    evaluations.map((evaluation): Result => ({ case: each, evaluation })),
  );
  const recorded = await insertRuns(
    tx,
    version,
    results.filter(({ evaluation }) => evaluation.isRecorded),
  );
  const unrecorded = results.filter(({ evaluation }) => !evaluation.isRecorded);
  const matched = recorded.filter(({ evaluation }) => evaluation.isMatched);
  const actions: StartedAction[] = [];
  for (const { runId, case: each, evaluation } of matched) {
    if (!each.subject) continue;
    for (const [at, action] of evaluation.actions.entries()) {
      const start: ActionStart =
        action.kind === 'reply'
          ? await planReply(tx, version, each, evaluation, action, inForceSince)
          : { state: evaluation.mode === 'live' ? 'waiting' : 'dry_run' };
      actions.push({ ...start, runId, ordinal: at + 1, action, evaluation });
    }
  }
  await insertActions(tx, actions);
  await insertTally(tx, version, [
    ...[...recorded, ...unrecorded].map(({ evaluation }) => tallied(evaluation, evaluation.reason.split(':', 1)[0])),
    ...actions
      .filter(({ state, action }) => state === 'dry_run' && action.kind !== 'reply')
      .map(({ evaluation }) => tallied(evaluation, 'action_dry_run')),
  ]);
  return matched.length;
}

/** The result of one rule on one case. */
interface Result {
  readonly case: Case;
  readonly evaluation: Evaluation;
}

type RecordedResult = Result & { readonly runId: string };

/** Inserts runs in the given order, and returns the new ones. */
async function insertRuns(tx: Transaction, version: string, results: readonly Result[]): Promise<RecordedResult[]> {
  if (results.length === 0) return [];
  const keyOf = (rule: string, kind: string, key: string) => `${rule}\n${kind} ${key}`;
  const rows = await hotQuery<{ rule: string; kind: string; key: string; run_id: string }>(
    tx,
    sql`
      insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, after_seconds, conversation_id, line, number, mode,
        is_matched, reason, facts)
      select rule, ${version}, trigger_kind, trigger_key, trigger_at, after_seconds, conversation_id, line, number, mode, is_matched, reason, facts
      from ${relation(
        'r',
        results,
        {
          rule: ['text', ({ evaluation }) => evaluation.rule.name],
          trigger_kind: ['text', ({ case: { trigger } }) => trigger.kind],
          trigger_key: ['text', ({ case: { trigger } }) => trigger.key],
          trigger_at: ['timestamptz', ({ case: { trigger } }) => trigger.at],
          after_seconds: ['integer', ({ case: { trigger } }) => trigger.afterSeconds],
          conversation_id: ['bigint', ({ case: { subject } }) => subject?.conversationId],
          line: ['text', ({ case: { subject } }) => subject?.line],
          number: ['text', ({ case: { subject } }) => subject?.number],
          mode: ['text', ({ evaluation }) => evaluation.mode],
          is_matched: ['boolean', ({ evaluation }) => evaluation.isMatched],
          reason: ['text', ({ evaluation }) => evaluation.reason],
          facts: [
            'jsonb',
            ({ evaluation: { facts, rule } }) => (facts ? recordedFacts(facts, rule.condition?.paths ?? []) : {}),
          ],
        },
        'place',
      )}
      order by place
      on conflict (rule, trigger_kind, trigger_key) do nothing
      returning rule, trigger_kind as kind, trigger_key as key, run_id`,
  );
  const ids = new Map(rows.map(({ rule, kind, key, run_id }) => [keyOf(rule, kind, key), run_id]));
  return results.flatMap((result) => {
    const key = keyOf(result.evaluation.rule.name, result.case.trigger.kind, result.case.trigger.key);
    const runId = ids.get(key);
    // If a batch has a trigger twice, the first one gets the row.
    ids.delete(key);
    return runId === undefined ? [] : [{ ...result, runId }];
  });
}

/** One outcome to count, by its word in `ops.rule_tallies`. */
interface Tallied {
  readonly rule: string;
  readonly mode: string;
  readonly word: string;
}

function tallied({ rule, mode }: Evaluation, word = ''): Tallied {
  return { rule: rule.name, mode, word };
}

/** One row counts a whole batch, so that the counts of workers don't wait for each other. */
async function insertTally(tx: Transaction, version: string, outcomes: readonly Tallied[]): Promise<void> {
  if (outcomes.length === 0) return;
  const same = Map.groupBy(outcomes, ({ rule, mode, word }) => JSON.stringify([rule, mode, word]));
  const counts = [...same.values()].flatMap(([first, ...more]) =>
    first ? [{ ...first, count: 1 + more.length }] : [],
  );
  await hotQuery(
    tx,
    sql`insert into ops.rule_tallies (happened_at, version, counts) values (clock_timestamp(), ${version}, ${JSON.stringify(counts)})`,
  );
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
  inForceSince: (rule: Rule) => Date,
): Promise<ActionStart> {
  const skipped = (reason: string): ActionStart => ({ state: 'skipped', reason });
  const plan = await replyPlan(tx, each, rule, reply);
  if (typeof plan === 'string') return skipped(noPlanWords[plan]);
  const planned = await planSend(tx, { ...plan, mode, ruleVersion: version, ruleSince: inForceSince(rule) });
  if (planned === 'duplicate') return skipped('it was answered before');
  if (planned === 'thread_busy') return skipped('another send of the thread is under way');
  return { state: 'waiting', ...planned };
}

export type Reply = Extract<Action, { kind: 'reply' }>;

/** Why a reply of a rule isn't planned. */
export const noPlanWords = {
  nothing_to_answer: 'there is no text of theirs to answer',
  empty_text: 'the text is empty',
} as const;

/** A live send for the reply of a rule to a case, or why there is none. */
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
      where conversation_id = ${subject.conversationId} and direction = 'in' and is_reaction is not true and deleted_at is null
        and sent_at <= ${trigger.at}
      order by sent_at desc, message_id desc limit 1`,
  );
  return newest && { kind: 'message', id: newest.id };
}

/** An action with its first state. */
interface StartedAction extends ActionStart {
  readonly runId: string;
  readonly ordinal: number;
  readonly action: Action;
  readonly evaluation: Evaluation;
}

async function insertActions(tx: Transaction, actions: readonly StartedAction[]): Promise<void> {
  if (actions.length === 0) return;
  await hotQuery(
    tx,
    sql`
      insert into ops.rule_actions (run_id, ordinal, kind, state, reason, send_id, argument, target, settled_at)
      select run_id, ordinal, kind, state, reason, send_id, argument, target, case when state <> 'waiting' then now() end
      from ${relation('a', actions, {
        run_id: ['bigint', ({ runId }) => runId],
        ordinal: 'integer',
        kind: ['text', ({ action }) => action.kind],
        state: 'text',
        reason: ['text', ({ reason }) => reason],
        send_id: ['uuid', ({ sendId }) => sendId],
        argument: ['jsonb', argumentOf],
        target: ['text', ({ action }) => targetOf(action)],
      })}`,
  );
}

/** What a waiting action needs later. The ledger stores the text of a reply. */
function argumentOf({ state, action }: StartedAction): object | undefined {
  const { kind, ...argument } = action;
  return state !== 'waiting' || kind === 'reply' || kind === 'reopen' ? undefined : argument;
}

/** Refusals are kept for at least so many days, for the pages of rules. */
const minUnmatchedDays = 30;

/** Limits and the facts about replies count matches; the longest limit covers 366 days. */
const minMatchedDays = 400;

const maxAtOnce = 5_000;

/**
 * Deletes refusals older than `days`, and matches older than 400 days, in transactions of bounded size. No rule acts
 * again because of it: events of that age are never recorded. Returns how many were deleted.
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

/** Words for the states in `ops.rule_actions` that aren't words themselves. */
const actionStates: Readonly<Record<string, string>> = {
  waiting: 'waits',
  unclear: 'unclear: its answer was lost',
  dry_run: 'only simulated',
};

/** The state of a step of a rule, in words. */
export function actionStateWords(state: string): string {
  return actionStates[state] ?? state;
}
