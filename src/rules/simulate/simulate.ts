import type { Database, Transaction } from '../../db/database.ts';
import type { SendPlan } from '../../ledger/send.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import { decide, type Evaluation } from '../decide.ts';
import { type KnownCase, readCases } from '../facts/read.ts';
import { readHistory } from '../history.ts';
import type { Mode, RuleSet } from '../rule.ts';
import { type Reply, replyPlan } from '../runs.ts';
import { createJudge, type Judge, type ReplyOutcome } from './judge.ts';
import { pastTriggers, peopleOf } from './past-triggers.ts';
import { createReport, type Report } from './report.ts';

export interface SimulationOptions extends TimeRange<Date> {
  readonly set: RuleSet;
  readonly onProgress?: (done: number, of: number) => void;
}

/** What the figures leave out, for their readers. */
export const simulationLimits =
  'Each text and call is judged as the history has it: what the rules would have said counts for limits and cost, but changes no later fact, silence or reply.';

const batchSize = 200;

/** Dry-run rules count each other's matches, as they would if all were live. */
const simulatedMode: Mode = 'dry-run';

/**
 * Runs the rules on each past trigger as if they had been live at the time, with their limits, the ledger's gates and
 * budgets. The facts are those of the history. Writes nothing: the transaction is read-only.
 */
export function simulate(db: Database, options: SimulationOptions): Promise<Report> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute((tx) => simulateIn(tx, options));
}

async function simulateIn(tx: Transaction, { set, from, to, onProgress }: SimulationOptions): Promise<Report> {
  const { report, count } = createReport(set, { from, to });
  const active = set.rules.filter((rule) => rule.mode !== 'off');
  const triggers = await pastTriggers(tx, { ...set, rules: active }, { from, to });
  const history = await readHistory(tx, await peopleOf(tx, triggers), { until: from });
  const judge = await createJudge(tx, set, from);
  const planned = new Set<string>();
  for (let at = 0; at < triggers.length; at += batchSize) {
    const cases = await readCases(tx, triggers.slice(at, at + batchSize), set, { isPast: true });
    for (const each of cases) {
      for (const evaluation of decide(set, simulatedMode, each, history)) {
        const { rule, isMatched } = evaluation;
        const outcome = each.subject && isMatched ? await replyTo(tx, each, evaluation, judge, planned) : undefined;
        count(each, evaluation, outcome);
        if (!each.subject || !outcome) continue;
        const { line, number } = each.subject;
        const match = { line, number, rule: rule.name, at: each.trigger.at };
        history.setReply(match, outcome.kind === 'sent' ? 'sent' : 'none');
      }
    }
    onProgress?.(Math.min(triggers.length, at + batchSize), triggers.length);
  }
  return report;
}

/** The outcome of the reply of a match; undefined for a rule without one. */
async function replyTo(
  tx: Transaction,
  each: KnownCase,
  { rule, actions }: Evaluation,
  judge: Judge,
  planned: Set<string>,
): Promise<ReplyOutcome | undefined> {
  const reply = actions.find((action): action is Reply => action.kind === 'reply');
  if (!reply) return undefined;
  const plan = await replyPlan(tx, each, rule, reply);
  if (typeof plan === 'string') return { kind: 'denied', reason: plan };
  const keys = keysOf(plan);
  if (keys.some((key) => planned.has(key))) return { kind: 'denied', reason: 'answered_before' };
  const outcome = await judge(plan, each.trigger.at);
  if (outcome.kind === 'sent') for (const key of keys) planned.add(key);
  return outcome;
}

/**
 * What the ledger sends once: a rule's reply to a text or call, any reply to a call, and one reply to a trigger at a
 * time.
 */
function keysOf({ rule, line, number, trigger: { kind, id, at } }: SendPlan): string[] {
  return [
    `${rule} ${line} ${number} ${kind} ${id}`,
    kind === 'call' ? `call ${id}` : `${line} ${number} ${id} ${at.toISOString()}`,
  ];
}
