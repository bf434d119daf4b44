import { setTimeout as sleep } from 'node:timers/promises';
import type { AccountLimits } from '../ledger/limits.ts';
import type { Log } from '../log.ts';
import type { Service } from '../service/client.ts';
import { type Database, query } from '../warehouse/database.ts';
import type { ActionParts } from './actions/perform.ts';
import { createPerformer } from './actions/performer.ts';
import { createEvaluator } from './evaluator.ts';
import { type RulesInForce, watchRules } from './file/watched.ts';
import { sinceKey } from './outbox.ts';
import { lesserMode, type Mode } from './rule.ts';
import { forgetRuns } from './runs.ts';

/** The rules at work in one process. */
export interface RulesEngine {
  /** Something was mirrored: what is noted is evaluated now, not at the next look. */
  kick(): void;
  /** Resolves when what is noted now was evaluated, and what is due was done. */
  idle(): Promise<void>;
  /** What the file in force says of the account's budgets. */
  accountLimits(): Partial<AccountLimits>;
  stop(): Promise<void>;
}

export interface RulesEngineOptions {
  readonly db: Database;
  readonly log: Log;
  readonly service: Service;
  readonly mode: Mode;
  readonly file: string;
  readonly timeZone: string;
  /** Days for which it is remembered that a rule did not match; at least thirty. */
  readonly retentionDays: number;
  readonly look: ActionParts['look'];
  readonly actsFor: ActionParts['actsFor'];
  readonly pace?: RulesPace;
  /** Told after the commit of a round in which rules matched: sends may have been planned. */
  readonly onMatched?: () => void;
}

/** Milliseconds between two looks. */
export interface RulesPace {
  /** At events, and at actions that are due. */
  readonly eventsMs: number;
  /** At threads that have fallen silent. */
  readonly silencesMs: number;
  /** At the rules file, where no watch tells of a change. */
  readonly fileMs: number;
}

/** Rest between two rounds in a row: while very much is mirrored, a round takes what many reads noted. */
const restMs = 100;

/** Between two looks for runs that are old enough to be forgotten. */
const forgettingMs = 3_600_000;

const usualPace: RulesPace = { eventsMs: 1_000, silencesMs: 15_000, fileMs: 2_000 };

/** Puts the rules to work: follows their file, evaluates what is mirrored, does what they ask for. */
export async function startRules(options: RulesEngineOptions): Promise<RulesEngine> {
  const { db, log, service, mode, pace = usualPace } = options;
  const stopping = new AbortController();
  // The ledger goes by what is written down: what could not be is written down later.
  let news: RulesInForce | undefined;
  const announcing = repeated('Writing down which rules are in force', async () => {
    const taken = news;
    if (!taken) return;
    await announce(db, mode, taken);
    if (news === taken) news = undefined;
  });
  const rules = await watchRules({
    path: options.file,
    timeZone: options.timeZone,
    log,
    pollMs: pace.fileMs,
    onChange: (current) => {
      news = current;
      void announcing.kick();
    },
  });
  const performer = createPerformer({
    db,
    service,
    log,
    look: options.look,
    actsFor: options.actsFor,
    areKnown: () => rules.current.set !== undefined,
    isLive: (name) => {
      const rule = rules.current.set?.rules.find((each) => each.name === name);
      return rule !== undefined && lesserMode(rule.mode, mode) === 'live';
    },
  });
  const evaluator = createEvaluator({
    db,
    log,
    mode,
    rules: () => rules.current.set,
    onMatched: () => {
      options.onMatched?.();
      acting.kick();
    },
  });
  const evaluating = repeated('Evaluating the rules', () => evaluator.events());
  const listening = repeated('Looking for silent threads', () => evaluator.silences());
  const acting = repeated('Doing what rules ask for', () => performer.round(stopping.signal));
  const forgetting = repeated('Forgetting old runs of rules', () =>
    forgetRuns(db, options.retentionDays, stopping.signal),
  );

  function complain(what: string): (error: unknown) => void {
    return (error) => log.warn({ err: error }, `${what} failed; it is tried again`);
  }

  /** Runs work one turn at a time; a kick during a turn is one more turn. */
  function repeated(what: string, work: () => Promise<unknown>) {
    let running: Promise<void> | undefined;
    let isWanted = false;
    async function run(): Promise<void> {
      while (isWanted && !stopping.signal.aborted) {
        isWanted = false;
        await work().catch(complain(what));
        if (isWanted) await sleep(restMs);
      }
      running = undefined;
    }
    return {
      kick(): Promise<void> {
        isWanted = true;
        running ??= run();
        return running;
      },
    };
  }

  await announcing.kick();
  const timers = [
    setInterval(() => {
      void announcing.kick();
      void evaluating.kick();
      void acting.kick();
    }, pace.eventsMs),
    setInterval(() => void listening.kick(), pace.silencesMs),
    setInterval(() => void forgetting.kick(), forgettingMs),
  ];
  void forgetting.kick();
  void listening.kick();
  void evaluating.kick();
  return {
    kick: () => void evaluating.kick(),
    async idle() {
      await evaluating.kick();
      await listening.kick();
      await acting.kick();
    },
    accountLimits: () => rules.current.set?.accountLimits ?? {},
    async stop() {
      for (const timer of timers) clearInterval(timer);
      rules.close();
      stopping.abort();
      await Promise.all([announcing, evaluating, listening, acting, forgetting].map((each) => each.kick()));
    },
  };
}

/** Tells the status page which rules are in force, and what is wrong with the newest file. */
async function announce(db: Database, mode: Mode, { set, loadedAt, problem }: RulesInForce): Promise<void> {
  await query(
    db,
    `insert into ops.rules_loaded as l (version, mode, rules, limits, loaded_at, checked_at, problem, problem_at, since)
     values ($1, $2, $3, $6, $4, now(), $5, case when $5::text is not null then now() end,
       (select coalesce(jsonb_object_agg(key, to_jsonb(clock_timestamp())), '{}') from unnest($7::text[]) key))
     on conflict (is_only) do update set version = excluded.version, mode = excluded.mode, rules = excluded.rules, limits = excluded.limits,
       loaded_at = excluded.loaded_at, checked_at = excluded.checked_at, problem = excluded.problem,
       since = case when excluded.version is null then l.since else
         (select coalesce(jsonb_object_agg(key, coalesce(l.since -> key, excluded.since -> key)), '{}') from unnest($7::text[]) key) end,
       problem_at = case when excluded.problem is not distinct from l.problem then l.problem_at else excluded.problem_at end`,
    [
      set?.version ?? null,
      mode,
      JSON.stringify((set?.rules ?? []).map(({ name, on, mode: own }) => ({ name, on, mode: own }))),
      loadedAt ?? null,
      problem ?? null,
      JSON.stringify(set?.accountLimits ?? {}),
      (set?.rules ?? []).filter((rule) => lesserMode(rule.mode, mode) !== 'off').map(sinceKey),
    ],
  );
}
