import { accountLimits } from '../ledger/limits.ts';
import { type Database, query, type Transaction } from '../warehouse/database.ts';
import { decide } from './decide.ts';
import type { Evaluation, Obstacle } from './evaluate.ts';
import type { Facts } from './facts/declared.ts';
import { type Case, readCases } from './facts/read.ts';
import { celFacts } from './facts/shapes.ts';
import { type History, readHistory } from './history.ts';
import type { Mode, Rule, RuleSet } from './rule.ts';
import { answeredBy, sendLimitsOf } from './runs.ts';
import { createJudge, type Judge } from './simulate/gates.ts';
import type { Trigger } from './triggers.ts';

/** The text that is explained. */
export interface ExplainedText {
  readonly conversationId: string;
  readonly messageId: string;
  readonly line: string;
  readonly number: string;
  readonly direction: string;
  readonly at: Date;
  readonly text: string;
}

/** A demand of a condition that did not hold, with the values of the facts in it; undefined where one is missing. */
export interface FalseClause {
  readonly clause: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** What a rule did in fact about the text. */
export interface PastRun {
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
    readonly sendState: string | null;
    readonly sendReason: string | null;
  }[];
}

export interface RuleExplanation {
  readonly rule: string;
  readonly on: string;
  readonly mode: Mode;
  /**
   * `matched`, or why not, as `ops.rule_runs.reason` has it; `off`, `other_trigger` for a rule that waits for no text, and
   * `not_due` for one whose silence is not long enough yet.
   */
  readonly outcome: string;
  /** With `condition_false`. */
  readonly falseClauses: readonly FalseClause[];
  /** What would become of its reply: `sent`, `held`, or the gate that refuses it. Only for a match that replies. */
  readonly reply?: string;
  /** By now its trigger is too old for the rule. */
  readonly isTooOldNow: boolean;
  readonly past?: PastRun | undefined;
}

export interface Explanation {
  readonly message: ExplainedText;
  readonly rules: readonly RuleExplanation[];
}

/** Which text is meant: one by its id, or the newest that came in from a number on a line. */
export type TextChoice = { readonly messageId: string } | { readonly line: string; readonly number: string };

/**
 * Tries the rules once more on a text, on what was known when it came, and says of each what came of it. Undefined when the
 * mirror holds no such text. Writes nothing: the transaction is read-only.
 */
export function explain(db: Database, set: RuleSet, choice: TextChoice, mode: Mode): Promise<Explanation | undefined> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const message = await findText(tx, choice);
      return message && { message, rules: await explainRules(tx, set, message, mode) };
    });
}

async function findText(tx: Transaction, choice: TextChoice): Promise<ExplainedText | undefined> {
  const [found] = await query<ExplainedText>(
    tx,
    `select c.conversation_id as "conversationId", m.message_id as "messageId", c.line, c.number, m.direction,
       date_trunc('milliseconds', m.sent_at) as at, coalesce(m.body, '') as text
     from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
     where m.deleted_at is null and m.sent_at is not null and m.is_scheduled is not true
       and (m.message_id = $1 or (c.line = $2 and c.number = $3 and c.participants_key = '' and m.direction = 'in'))
     order by m.sent_at desc, m.message_id desc limit 1`,
    'messageId' in choice ? [choice.messageId, null, null] : [null, choice.line, choice.number],
  );
  return found;
}

async function explainRules(
  tx: Transaction,
  set: RuleSet,
  message: ExplainedText,
  mode: Mode,
): Promise<RuleExplanation[]> {
  const [clock] = await query<{ now: Date }>(tx, 'select clock_timestamp() as now', []);
  const now = clock?.now ?? new Date();
  const triggers = await triggersOf(tx, set, message);
  const tried = new Map<Rule, Omit<RuleExplanation, 'rule' | 'on' | 'mode'>>();
  for (const trigger of triggers) {
    // A rule that is off for all is explained as if it were on trial.
    const tries = await tryRules(tx, set, trigger, mode === 'off' ? 'dry-run' : mode);
    const past = await pastRuns(tx, trigger);
    for (const { rule, ...rest } of tries) {
      const isTooOldNow = (now.getTime() - trigger.at.getTime()) / 1_000 > rule.maxAgeSeconds;
      const isDue = trigger.at <= now;
      tried.set(rule, {
        ...(isDue ? rest : { outcome: 'not_due', falseClauses: [] }),
        isTooOldNow,
        past: past.get(rule.name),
      });
    }
  }
  return set.rules.map((rule) => ({
    rule: rule.name,
    on: rule.on,
    mode: rule.mode,
    ...(tried.get(rule) ?? {
      outcome: rule.mode === 'off' ? 'off' : 'other_trigger',
      falseClauses: [],
      isTooOldNow: false,
    }),
  }));
}

/** What the text set off: itself, if it came in, and the silences after it, if it is the last of its thread. */
async function triggersOf(tx: Transaction, set: RuleSet, message: ExplainedText): Promise<Trigger[]> {
  const { conversationId, messageId, at } = message;
  const key = `${conversationId}/${messageId}`;
  const [last] = await query<{ id: string }>(
    tx,
    `select message_id as id from warehouse.sms_messages
     where conversation_id = $1 and deleted_at is null and is_scheduled is not true and sent_at is not null
     order by sent_at desc, message_id desc limit 1`,
    [conversationId],
  );
  const silences = new Set(set.rules.flatMap(({ idleSeconds, mode }) => (mode === 'off' ? [] : (idleSeconds ?? []))));
  return [
    ...(message.direction === 'in' ? [{ kind: 'message_received', key, at } as const] : []),
    ...(last?.id === messageId
      ? [...silences].map((idleSeconds) => ({
          ...({ kind: 'thread_idle', key, idleSeconds } as const),
          at: new Date(at.getTime() + idleSeconds * 1_000),
        }))
      : []),
  ];
}

interface TriedRule extends Pick<RuleExplanation, 'outcome' | 'falseClauses' | 'reply'> {
  readonly rule: Rule;
}

async function tryRules(tx: Transaction, set: RuleSet, trigger: Trigger, mode: Mode): Promise<TriedRule[]> {
  const from = trigger.at;
  const [each] = await readCases(tx, [trigger], set.hours, { withoutRulesFrom: from });
  if (!each) return [];
  const threads = each.subject ? [each.subject] : [];
  const history = await readHistory(tx, set, threads, { from, until: from });
  const judge = await createJudge(tx, accountLimits(set.accountLimits), { from });
  // Matches join the history while rules are tried: what the conditions saw of it is read before.
  const seen = (own: 'live' | 'dry-run') => factsSeen(each, history, own);
  const facts = { live: seen('live'), 'dry-run': seen('dry-run') };
  const [decision] = decide(set, mode, [each], history, () => 0);
  const tries: TriedRule[] = [];
  let isReplied = false;
  for (const evaluation of decision?.evaluations ?? []) {
    const { rule, reason } = evaluation;
    const fate = evaluation.isMatched ? await replyFate(tx, judge, each, evaluation) : undefined;
    // The second reply to one trigger finds the first under way.
    const reply = fate !== undefined && isReplied ? 'thread_busy' : fate;
    isReplied ||= fate !== undefined;
    tries.push({
      rule,
      outcome: reason,
      falseClauses: reason === 'condition_false' ? falseClauses(rule, facts[evaluation.mode]) : [],
      ...(reply !== undefined && { reply }),
    });
  }
  return tries;
}

function factsSeen({ subject, facts, trigger }: Case, history: History, mode: 'live' | 'dry-run'): Facts | Obstacle {
  if (typeof facts === 'string' || !subject) return typeof facts === 'string' ? facts : 'gone';
  return { ...facts, replies: history.repliesTo(subject, trigger.at, mode) };
}

function falseClauses({ condition }: Rule, facts: Facts | Obstacle): FalseClause[] {
  if (!condition || typeof facts === 'string') return [];
  const shape = celFacts(facts);
  return condition.clauses.flatMap(({ text, paths, test }) => {
    try {
      if (test(shape)) return [];
    } catch {
      // It asks for a fact that a clause before it found missing.
      return [];
    }
    return [{ clause: text, facts: Object.fromEntries(paths.map((path) => [path, valueAt(facts, path)])) }];
  });
}

function valueAt(facts: Facts, path: string): unknown {
  if (path === 'now') return facts.now;
  const [group = '', name = ''] = path.split('.');
  return (facts as unknown as Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>)[group]?.[name];
}

async function replyFate(
  tx: Transaction,
  judge: Judge,
  each: Case,
  { rule, actions }: Evaluation,
): Promise<string | undefined> {
  const reply = actions.find((action) => action.kind === 'reply');
  if (reply?.kind !== 'reply' || !each.subject) return undefined;
  const answered = await answeredBy(tx, each);
  if (!answered || reply.text === '') return answered ? 'the text is empty' : 'there is no text of theirs to answer';
  const { line, number } = each.subject;
  const plan = {
    rule: rule.name,
    line,
    number,
    text: reply.text,
    mode: 'live',
    trigger: { ...answered, at: each.trigger.at },
    limits: sendLimitsOf(rule),
  } as const;
  const fate = await judge.fateOf(plan, { sends: [], isBlocked: false }, each.trigger.at);
  return fate.kind === 'denied' ? fate.reason : fate.kind;
}

async function pastRuns(tx: Transaction, { kind, key }: Trigger): Promise<ReadonlyMap<string, PastRun>> {
  const rows = await query<PastRun & { rule: string }>(
    tx,
    `select r.rule, r.is_matched as "isMatched", r.reason, r.mode, r.version, r.evaluated_at as "evaluatedAt",
       coalesce(jsonb_agg(jsonb_build_object('kind', a.kind, 'state', a.state, 'reason', a.reason, 'sendId', s.send_id,
         'sendState', s.state, 'sendReason', s.reason) order by a.ordinal) filter (where a.run_id is not null), '[]') as actions
     from ops.rule_runs r left join ops.rule_actions a using (run_id) left join ops.sends s on s.send_id = a.send_id
     where r.trigger_kind = $1 and r.trigger_key = $2 group by r.run_id`,
    [kind, key],
  );
  return new Map(rows.map(({ rule, ...run }) => [rule, run]));
}
