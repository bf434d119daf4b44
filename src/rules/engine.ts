import { readFile } from 'node:fs/promises';
import { type Database, query, relation, sql } from '../db/database.ts';
import type { AccountLimits } from '../ledger/limits.ts';
import { inForceSeconds } from '../ledger/rules-in-force.ts';
import { startLoop } from '../shared/loop.ts';
import { type ActionContext, performDueActions } from './actions/perform.ts';
import { type EvaluationContext, processEvents, processIdleThreads } from './event-processor.ts';
import { parseRules } from './file/parse.ts';
import { lesserMode, type RuleSet } from './rule.ts';
import { sinceKey } from './rule-events.ts';
import { deleteOldRuns } from './runs.ts';
import { renderWaitingReplies } from './waiting-replies.ts';

/** The rules running in one process. */
export interface RulesEngine {
  /** Evaluates pending events now: call it when something was mirrored. */
  kick(): void;
  /** Reads the rules file again. */
  reload(): void;
  /** The account's budgets in the rules file in force. */
  accountLimits(): Partial<AccountLimits>;
  /** Ends every loop after the batch in hand. */
  stop(): Promise<void>;
}

export interface RulesEngineOptions extends ActionContext {
  /** The id of this process in ops.processes. */
  readonly processId: string;
  readonly file: string;
  /** Undefined while nobody has chosen one. */
  readonly timeZone: string | undefined;
  /** Days for which refusals are kept; at least 30. */
  readonly retentionDays: number;
  readonly pace?: RulesPace;
  /** Called with each file that comes into force; called again when it rejects. */
  readonly onInForce?: (set: RuleSet) => Promise<void>;
  /** Called after the commit of a batch in which rules matched: sends may have been planned. */
  readonly onMatched?: () => void;
}

/** Milliseconds between two rounds of each loop. */
export interface RulesPace {
  /** Events, and due actions. */
  readonly eventsMs: number;
  /** Idle threads. */
  readonly idleThreadsMs: number;
}

const defaultPace: RulesPace = { eventsMs: 1_000, idleThreadsMs: 15_000 };

/** Pause between two rounds without a wait: a busy mirror fills the next batch meanwhile. */
const restMs = 100;

const forgetEveryMs = 3_600_000;

/** Reads the rules file, and starts the loops that evaluate rules on mirrored events and perform the actions of matched rules. */
export async function startRules(options: RulesEngineOptions): Promise<RulesEngine> {
  const { db, log, mode, processId, pace = defaultPace } = options;
  const loop = (name: string, everyMs: number, job: (signal: AbortSignal) => Promise<unknown>) =>
    startLoop({ name, everyMs, log, job, restMs });

  let loaded = await loadRules(options, undefined);
  // Rules are used once ops.rules_loaded has them: workers read there which rules are in force.
  let recorded: RulesInForce | undefined;
  let told: RulesInForce | undefined;
  const recording = loop('Recording which rules are in force', Math.min(pace.eventsMs, reportEveryMs), async () => {
    const current = loaded;
    if (current !== recorded || !(await reportRules(db, processId))) await recordRules(options, current);
    recorded = current;
    if (current.set && current !== told) await options.onInForce?.(current.set);
    told = current;
  });
  // One after the other: the file as it was at the last call is in force in the end.
  let reloading = Promise.resolve();
  async function reload(): Promise<void> {
    loaded = await loadRules(options, loaded);
    void recording.kick();
  }
  const evaluation: EvaluationContext = {
    db,
    log,
    processId,
    mode,
    rules: () => recorded?.set,
    onMatched: () => {
      options.onMatched?.();
      void acting.kick();
    },
  };
  await recording.kick();
  const evaluating = loop('Evaluating the rules', pace.eventsMs, async (signal) => {
    await renderWaitingReplies(evaluation, signal);
    await processEvents(evaluation, signal);
  });
  const findingIdle = loop('Finding idle threads', pace.idleThreadsMs, (signal) =>
    processIdleThreads(evaluation, signal),
  );
  const acting = loop('Performing the actions of rules', pace.eventsMs, (signal) => performDueActions(options, signal));
  const forgetting = loop('Deleting old runs of rules', forgetEveryMs, (signal) =>
    deleteOldRuns(db, options.retentionDays, signal),
  );
  for (const each of [forgetting, findingIdle, evaluating]) void each.kick();
  return {
    kick: () => void evaluating.kick(),
    reload: () => {
      reloading = reloading.then(reload);
    },
    accountLimits: () => loaded.set?.accountLimits ?? {},
    async stop() {
      await reloading;
      await Promise.all([recording, evaluating, findingIdle, acting, forgetting].map((each) => each.stop()));
      await query(db, sql`update ops.rules_loaded set stopped_at = now() where process_id = ${processId}`).catch(
        () => undefined,
      );
    },
  };
}

interface RulesInForce {
  /** The newest valid file; undefined until there was one. */
  readonly set: RuleSet | undefined;
  readonly loadedAt: Date | undefined;
  /** Why the newest file is not in force. */
  readonly problem: string | undefined;
}

/** Reads the rules file. If it cannot be used, the rules before it stay in force, and the log says why. */
async function loadRules(
  { file, timeZone, log }: Pick<RulesEngineOptions, 'file' | 'timeZone' | 'log'>,
  before: RulesInForce | undefined,
): Promise<RulesInForce> {
  try {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new Error(`${file} cannot be read (${error.code}). Set RULES_FILE, or create it.`);
    });
    const set = parseRules(text, { file, timeZone });
    log.info({ version: set.version, rules: set.rules.length }, 'The rules are in force');
    for (const { line, column, message, remedy } of set.warnings) {
      log.warn({ place: `${file}:${line}:${column}`, remedy }, `The rules file: ${message}`);
    }
    return { set, loadedAt: new Date(), problem: undefined };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    log.error(
      { problem },
      before?.set
        ? 'The rules file has an error; the rules loaded before stay in force'
        : 'No rules are in force: the rules file cannot be used. Mirroring goes on',
    );
    return { set: before?.set, loadedAt: before?.loadedAt, problem };
  }
}

const reportEveryMs = 2_000;

/** Reports that this worker runs, and deletes the rows of dead ones. False when its own row was deleted meanwhile. */
async function reportRules(db: Database, processId: string): Promise<boolean> {
  await query(
    db,
    sql`
      delete from ops.rules_loaded where process_id <> ${processId}
        and seen_at < now() - ${inForceSeconds} * interval '1 second'`,
  );
  const rows = await query(
    db,
    // A start in the future was recorded while the clock of Postgres was ahead.
    sql`
      update ops.rules_loaded set seen_at = clock_timestamp(),
        since = (select coalesce(jsonb_object_agg(key, to_jsonb(least(at::timestamptz, clock_timestamp()))), '{}')
          from jsonb_each_text(since) s (key, at))
      where process_id = ${processId} returning 1`,
  );
  return rows.length > 0;
}

/**
 * Writes the row of this worker in `ops.rules_loaded`: its rules, the start of each, and what is wrong with the newest file. A
 * rule that another row has, also that of a worker before a restart, has been in force since then.
 */
async function recordRules(
  { db, processId, mode, timeZone }: RulesEngineOptions,
  { set, loadedAt, problem }: RulesInForce,
): Promise<void> {
  const rules = set?.rules ?? [];
  const listed = JSON.stringify(rules.map(({ name, on, mode: own, heldBack }) => ({ name, on, mode: own, heldBack })));
  const active = rules.filter((rule) => lesserMode(rule.mode, mode) !== 'off');
  const keys = relation('active', active, { key: ['text', sinceKey] });
  await query(
    db,
    sql`
      with known as (
        select key, min(at::timestamptz) as at from ops.rules_loaded, jsonb_each_text(since) s (key, at) group by key
      )
      insert into ops.rules_loaded as l (process_id, version, mode, rules, limits, is_using_hours, time_zone, loaded_at, checked_at, problem,
        problem_at, seen_at, since)
      values (${processId}, ${set?.version ?? null}, ${mode}, ${listed}, ${JSON.stringify(set?.accountLimits ?? {})},
        ${set?.hoursAt !== undefined}, ${timeZone ?? null}, ${loadedAt ?? null}, now(), ${problem ?? null}, case when ${problem !== undefined} then now() end,
        clock_timestamp(),
        case when ${set === undefined} then (select coalesce(jsonb_object_agg(key, to_jsonb(at)), '{}') from known) else
          (select coalesce(jsonb_object_agg(key, to_jsonb(coalesce(at, clock_timestamp()))), '{}')
            from ${keys} left join known using (key)) end)
      on conflict (process_id) do update set version = excluded.version, mode = excluded.mode, rules = excluded.rules,
        limits = excluded.limits, is_using_hours = excluded.is_using_hours, time_zone = excluded.time_zone, loaded_at = excluded.loaded_at,
        checked_at = excluded.checked_at, problem = excluded.problem, seen_at = excluded.seen_at, stopped_at = null, since = excluded.since,
        problem_at = case when excluded.problem is not distinct from l.problem then l.problem_at else excluded.problem_at end`,
  );
}
