import { type LoopOptions, startLoop } from '../shared/loop.ts';
import { type ActionContext, performDueActions } from './actions/perform.ts';
import { type EvaluationContext, processEvents, processIdleThreads } from './event-processor.ts';
import type { RuleSet } from './rule.ts';
import { deleteOldRuns } from './runs.ts';
import { applyRulesFile, createRulesReader } from './versions.ts';

/** The rules running in one process. */
export interface RulesEngine {
  /** Evaluates pending events now: call it when something was mirrored. */
  kick(): void;
  /** Performs due steps now. */
  act(): void;
  /** Ends every loop after the batch in hand. */
  stop(): Promise<void>;
}

export interface RulesEngineOptions extends ActionContext {
  readonly rulesFile: string;
  /** TIME_ZONE. Undefined while nobody has chosen one. */
  readonly timeZone: string | undefined;
  /** Days for which refusals are kept; at least 30. */
  readonly retentionDays: number;
  /** Called with each version that comes into force, and at the start if none is. Called again if it rejects. */
  readonly onInForce?: (set: RuleSet | undefined) => Promise<void>;
  /** Called after the commit of a batch in which rules matched: sends may have been planned. */
  readonly onMatched?: () => void;
}

/** Milliseconds between two rounds without a notification: for events, and for actions that may wait for a reply. */
const [eventsEveryMs, actionsEveryMs] = [300_000, 30_000];
/** Milliseconds until another try to apply rules that came into force. */
const retryMs = 30_000;

/** Milliseconds between two searches for idle threads: a sixtieth of the shortest wait, within limits. */
function idleThreadsEveryMs(set: RuleSet | undefined | null): number {
  const waits = set?.rules.flatMap(({ idle }) => idle?.seconds ?? []) ?? [];
  return Math.max(15_000, Math.min(300_000, ...waits.map((seconds) => (seconds * 1_000) / 60)));
}

/** Milliseconds between two rounds without a wait: a busy mirror fills the next batch during the pause. */
const restMs = 500;

const forgetEveryMs = 3_600_000;

/** Applies the rules file if it changed. Starts the loops that evaluate rules on events and perform their actions. */
export async function startRules(options: RulesEngineOptions): Promise<RulesEngine> {
  const { db, log, mode, timeZone } = options;
  const loop = (name: string, everyMs: LoopOptions['everyMs'], job: (signal: AbortSignal) => Promise<unknown>) =>
    startLoop({ name, everyMs, log, job, restMs, retryAfterMs: () => retryMs });

  await applyRulesFile(db, options, log);
  const rules = createRulesReader(timeZone, log);
  const evaluation: EvaluationContext = {
    db,
    log,
    mode,
    rules,
    onMatched: () => {
      options.onMatched?.();
      for (const each of acting) void each.kick();
    },
  };
  let adopted: RuleSet | undefined | null = null;
  const evaluating = loop('Evaluating the rules', eventsEveryMs, async (signal) => {
    await processEvents(evaluation, signal);
    const set = await rules(db);
    if (set === adopted) return;
    await options.onInForce?.(set);
    if (set) log.info({ version: set.version, rules: set.rules.length }, 'The rules are in force');
    adopted = set;
    // Other rules may need other waits.
    void findingIdle.kick();
  });
  const findingIdle = loop(
    'Finding idle threads',
    () => idleThreadsEveryMs(adopted),
    (signal) => processIdleThreads(evaluation, signal),
  );
  const names = [...options.targets.keys()];
  const acting = [
    loop('Performing the actions of rules', actionsEveryMs, (signal) =>
      performDueActions(options, { targetsExcept: names }, signal),
    ),
    ...names.map((target) =>
      loop(`Telling ${target} what rules say`, actionsEveryMs, (signal) =>
        performDueActions(options, { target }, signal),
      ),
    ),
  ];
  const forgetting = loop('Deleting old runs of rules', forgetEveryMs, (signal) =>
    deleteOldRuns(db, options.retentionDays, signal),
  );
  for (const each of [forgetting, findingIdle, evaluating]) void each.kick();
  return {
    kick: () => void evaluating.kick(),
    act() {
      for (const each of acting) void each.kick();
    },
    async stop() {
      await Promise.all([evaluating, findingIdle, ...acting, forgetting].map((each) => each.stop()));
    },
  };
}
