import type { RuleLimits } from '../ledger/limits.ts';
import { planSend } from '../ledger/plans.ts';
import { type Database, hotQuery, query, type Transaction } from '../warehouse/database.ts';
import type { Decision } from './decide.ts';
import type { Action, Evaluation } from './evaluate.ts';
import type { Case } from './facts/read.ts';
import type { Rule } from './rule.ts';

/**
 * Records decisions, with the sends that they plan and the actions that are to follow, in the transaction that decides. A
 * rule that has met a trigger before, under whatever version, is left out: that is what makes it act once.
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
      if (runId === undefined || !evaluation.isMatched) continue;
      matched += 1;
      for (const [at, action] of evaluation.actions.entries()) {
        await insertAction(
          tx,
          runId,
          at + 1,
          evaluation.mode,
          await settledAtOnce(tx, version, decision.case, evaluation, action, inForceSince),
          action,
        );
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
  const rows = await hotQuery<{ rule: string; run_id: string }>(
    tx,
    `insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, conversation_id, line, number, mode, is_matched, reason, facts)
     select rule, $1, $2, $3, $4, $5, $6, $7, mode, is_matched, reason, facts::jsonb
     from unnest($8::text[], $9::text[], $10::boolean[], $11::text[], $12::text[]) as e (rule, mode, is_matched, reason, facts)
     on conflict (rule, trigger_kind, trigger_key) do nothing
     returning rule, run_id`,
    [
      version,
      trigger.kind,
      trigger.key,
      trigger.at,
      subject?.conversationId ?? null,
      subject?.line ?? null,
      subject?.number ?? null,
      evaluations.map(({ rule }) => rule.name),
      evaluations.map(({ mode }) => mode),
      evaluations.map(({ isMatched }) => isMatched),
      evaluations.map(({ reason }) => reason),
      evaluations.map(({ facts }) => JSON.stringify(facts)),
    ],
  );
  return new Map(rows.map(({ rule, run_id }) => [rule, run_id]));
}

/** How an action begins: with a row of the ledger, waiting for its turn, or noted and not done. */
interface Beginning {
  readonly state: 'waiting' | 'skipped' | 'dry_run';
  readonly reason?: string;
  readonly sendId?: string;
}

async function settledAtOnce(
  tx: Transaction,
  version: string,
  { trigger, subject, facts }: Case,
  { rule, mode }: Evaluation,
  action: Action,
  inForceSince: (rule: Rule) => Date,
): Promise<Beginning> {
  if (action.kind !== 'reply') return { state: mode === 'live' ? 'waiting' : 'dry_run' };
  if (!subject || typeof facts === 'string') return { state: 'skipped', reason: 'there is nobody to answer' };
  if (action.text === '') return { state: 'skipped', reason: 'the text is empty' };
  const answered = await answeredBy(tx, { trigger, subject, facts });
  if (!answered) return { state: 'skipped', reason: 'there is no text of theirs to answer' };
  const key = { rule: rule.name, line: subject.line, number: subject.number };
  const planned = await planSend(tx, {
    ...key,
    ruleVersion: version,
    ruleSince: inForceSince(rule),
    trigger: { ...answered, at: trigger.at },
    text: action.text,
    mode,
    limits: sendLimitsOf(rule),
  });
  if (planned === 'duplicate') return { state: 'skipped', reason: 'it was answered before' };
  if (planned === 'thread_busy') return { state: 'skipped', reason: 'another send of the thread is under way' };
  const [send] = await hotQuery<{ send_id: string }>(
    tx,
    `select send_id from ops.sends where rule = $1 and line = $2 and number = $3 and trigger_kind = $4 and trigger_id = $5`,
    [key.rule, key.line, key.number, answered.kind, answered.id],
  );
  return { state: 'waiting', ...(send && { sendId: send.send_id }) };
}

/** What the ledger is told of a rule's replies. */
export function sendLimitsOf({ on, replyLimits, maxAgeSeconds }: Rule): RuleLimits {
  return { ...replyLimits, maxAgeSeconds, ...(on === 'thread_idle' && { needsSilence: true }) };
}

/** What the ledger knows a reply by: the text of theirs, or the call. */
export async function answeredBy(
  tx: Transaction,
  { trigger, subject }: Pick<Case, 'trigger' | 'subject' | 'facts'>,
): Promise<{ readonly kind: 'message' | 'call'; readonly id: string } | undefined> {
  if (!subject) return undefined;
  if (subject.callId !== null) return { kind: 'call', id: subject.callId };
  if (subject.message) return { kind: 'message', id: String(subject.message.id) };
  const [newest] = await hotQuery<{ message_id: string }>(
    tx,
    `select message_id from warehouse.sms_messages
     where conversation_id = $1 and direction = 'in' and deleted_at is null and sent_at <= $2
     order by sent_at desc, message_id desc limit 1`,
    [subject.conversationId, trigger.at],
  );
  return newest && { kind: 'message', id: newest.message_id };
}

async function insertAction(
  tx: Transaction,
  runId: string,
  ordinal: number,
  mode: Evaluation['mode'],
  { state, reason, sendId }: Beginning,
  action: Action,
): Promise<void> {
  await hotQuery(
    tx,
    `insert into ops.rule_actions (run_id, ordinal, kind, state, reason, send_id, argument, settled_at)
     values ($1, $2, $3, $4, $5, $6, $7, case when $4 = 'waiting' then null else now() end)`,
    [
      runId,
      ordinal,
      action.kind,
      state,
      reason ?? null,
      sendId ?? null,
      mode === 'live' && state === 'waiting' ? argumentOf(action) : null,
    ],
  );
}

/** What the worker needs to do it; the texts of replies are the ledger's. */
function argumentOf(action: Action): string | null {
  const { kind, ...argument } = action;
  return kind === 'reply' || kind === 'reopen' ? null : JSON.stringify(argument);
}

/** The day's rollups and the status page look back this far, whatever retention was asked for. */
const leastDays = 30;

/** Matches are what limits and the facts about replies count, and no allowance looks back for longer. */
const matchDays = 400;

const mostAtOnce = 5_000;

/**
 * Forgets runs that did not match after so many days, and those that did after four hundred, the oldest first, in
 * transactions of bounded size. Nothing acts anew for it: triggers of that age are never noted. Answers with how many went.
 */
export async function forgetRuns(db: Database, days: number, signal?: AbortSignal): Promise<number> {
  const unmatched = await forget(db, 'not is_matched', Math.max(leastDays, days), signal);
  return unmatched + (await forget(db, 'is_matched', matchDays, signal));
}

async function forget(db: Database, kind: string, days: number, signal: AbortSignal | undefined): Promise<number> {
  let gone = 0;
  while (!signal?.aborted) {
    const rows = await query(
      db,
      `delete from ops.rule_runs where run_id in (
         select run_id from ops.rule_runs r where ${kind} and evaluated_at < now() - $1 * interval '1 day'
           and not exists (select from ops.rule_actions a where a.run_id = r.run_id and a.state = 'waiting')
         order by evaluated_at limit $2 for update skip locked)
       returning 1`,
      [days, mostAtOnce],
    );
    gone += rows.length;
    if (rows.length < mostAtOnce) break;
  }
  return gone;
}
