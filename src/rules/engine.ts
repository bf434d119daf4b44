import { type Database, query, relation, sql } from '../db/database.ts';
import type { AccountLimits } from '../ledger/limits.ts';
import type { BusinessHours } from '../shared/business-hours.ts';
import { startLoop } from '../shared/loop.ts';
import { type ActionContext, performDueActions } from './actions/perform.ts';
import { type EvaluationContext, processEvents, processIdleThreads } from './event-processor.ts';
import { type RulesInForce, watchRules } from './file/watch.ts';
import { lesserMode, type Mode } from './rule.ts';
import { sinceKey } from './rule-events.ts';
import { deleteOldRuns } from './runs.ts';

/** The rules running in one process. */
export interface RulesEngine {
  /** Evaluates pending events now: call it when something was mirrored. */
  kick(): void;
  /** The account's budgets in the rules file in force. */
  accountLimits(): Partial<AccountLimits>;
  /** Ends every loop after the batch in hand. */
  stop(): Promise<void>;
}

export interface RulesEngineOptions extends Omit<ActionContext, 'liveRules'> {
  readonly mode: Mode;
  readonly file: string;
  readonly timeZone: string;
  /** Days for which runs that did not match are kept; at least 30. */
  readonly retentionDays: number;
  readonly pace?: RulesPace;
  /** Called with the business hours of each file that comes into force; called again when it rejects. */
  readonly onHours?: (hours: BusinessHours) => Promise<void>;
  /** Called after the commit of a batch in which rules matched: sends may have been planned. */
  readonly onMatched?: () => void;
}

/** Milliseconds between two rounds of each loop. */
export interface RulesPace {
  /** Events, and due actions. */
  readonly eventsMs: number;
  /** Idle threads. */
  readonly idleThreadsMs: number;
  /** The rules file, where the file system reports no changes. */
  readonly fileMs: number;
}

const defaultPace: RulesPace = { eventsMs: 1_000, idleThreadsMs: 15_000, fileMs: 2_000 };

/** Pause between two rounds without a wait: a busy mirror fills the next batch meanwhile. */
const restMs = 100;

const forgetEveryMs = 3_600_000;

/** Starts the loops: watch the rules file, evaluate rules on mirrored events, perform the actions of matched rules. */
export async function startRules(options: RulesEngineOptions): Promise<RulesEngine> {
  const { db, log, mode, pace = defaultPace } = options;
  const loop = (name: string, everyMs: number, job: (signal: AbortSignal) => Promise<unknown>) =>
    startLoop({ name, everyMs, log, job, restMs });

  let unpublished: RulesInForce | undefined;
  const publishing = loop('Recording which rules are in force', pace.eventsMs, async () => {
    const current = unpublished;
    if (!current) return;
    await recordRulesInForce(db, mode, current);
    if (current.set) await options.onHours?.(current.set.hours);
    if (unpublished === current) unpublished = undefined;
  });
  const rules = await watchRules({
    path: options.file,
    timeZone: options.timeZone,
    log,
    pollMs: pace.fileMs,
    onChange: (current) => {
      unpublished = current;
      void publishing.kick();
    },
  });
  const evaluation: EvaluationContext = {
    db,
    log,
    mode,
    rules: () => rules.current.set,
    onMatched: () => {
      options.onMatched?.();
      void acting.kick();
    },
  };
  const actions: ActionContext = {
    ...options,
    liveRules() {
      const live = rules.current.set?.rules.filter((rule) => lesserMode(rule.mode, mode) === 'live');
      return live && new Set(live.map(({ name }) => name));
    },
  };
  // The ledger reads from the database which rules are in force: record it before the first evaluation.
  await publishing.kick();
  const evaluating = loop('Evaluating the rules', pace.eventsMs, (signal) => processEvents(evaluation, signal));
  const findingIdle = loop('Finding idle threads', pace.idleThreadsMs, (signal) =>
    processIdleThreads(evaluation, signal),
  );
  const acting = loop('Performing the actions of rules', pace.eventsMs, (signal) => performDueActions(actions, signal));
  const forgetting = loop('Deleting old runs of rules', forgetEveryMs, (signal) =>
    deleteOldRuns(db, options.retentionDays, signal),
  );
  for (const each of [forgetting, findingIdle, evaluating]) void each.kick();
  return {
    kick: () => void evaluating.kick(),
    accountLimits: () => rules.current.set?.accountLimits ?? {},
    async stop() {
      rules.close();
      await Promise.all([publishing, evaluating, findingIdle, acting, forgetting].map((each) => each.stop()));
    },
  };
}

/** Writes `ops.rules_loaded`: the rules in force, the start of each, and what is wrong with the newest file. */
async function recordRulesInForce(db: Database, mode: Mode, { set, loadedAt, problem }: RulesInForce): Promise<void> {
  const rules = set?.rules ?? [];
  const listed = JSON.stringify(rules.map(({ name, on, mode: own }) => ({ name, on, mode: own })));
  const active = rules.filter((rule) => lesserMode(rule.mode, mode) !== 'off');
  const keys = relation('active', active, { key: ['text', sinceKey] });
  await query(
    db,
    sql`
      insert into ops.rules_loaded as l (version, mode, rules, limits, loaded_at, checked_at, problem, problem_at, since)
      values (${set?.version ?? null}, ${mode}, ${listed}, ${JSON.stringify(set?.accountLimits ?? {})}, ${loadedAt ?? null},
        now(), ${problem ?? null}, case when ${problem !== undefined} then now() end,
        (select coalesce(jsonb_object_agg(key, to_jsonb(clock_timestamp())), '{}') from ${keys}))
      on conflict (is_only) do update set version = excluded.version, mode = excluded.mode, rules = excluded.rules,
        limits = excluded.limits, loaded_at = excluded.loaded_at, checked_at = excluded.checked_at, problem = excluded.problem,
        since = case when excluded.version is null then l.since else
          (select coalesce(jsonb_object_agg(key, coalesce(l.since -> key, excluded.since -> key)), '{}') from ${keys}) end,
        problem_at = case when excluded.problem is not distinct from l.problem then l.problem_at else excluded.problem_at end`,
  );
}
