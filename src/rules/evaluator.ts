import type { Log } from '../log.ts';
import { type Database, hotQuery, inTransaction, type Transaction } from '../warehouse/database.ts';
import { decide } from './decide.ts';
import { readCases } from './facts/read.ts';
import { readHistory } from './history.ts';
import { deferFirst, dropEvents, idleTriggers, isAnythingNoted, takeEvents } from './outbox.ts';
import type { Mode, RuleSet } from './rule.ts';
import { recordDecisions } from './runs.ts';
import type { Trigger } from './triggers.ts';

/*
 * An event's life (ops.rule_events):
 *
 *   mirrored ──same transaction──▶ noted ──▶ taken, evaluated, recorded: runs, sends planned, actions ──commit──▶ gone
 *                                    ▲                                                                │
 *                                    └───────────────── crash or failure: nothing of it happened ─────┘
 */

/** Tries the rules on what was newly mirrored. Any number of processes may: one at a time does, the others pass. */
export interface Evaluator {
  /** Evaluates what is noted until nothing is left; answers with how many rules matched. */
  events(): Promise<number>;
  /** Evaluates silences that have become long enough. */
  silences(): Promise<number>;
}

export interface EvaluatorParts {
  readonly db: Database;
  readonly log: Log;
  readonly mode: Mode;
  /** The rules in force; undefined while no file was ever good. */
  readonly rules: () => RuleSet | undefined;
  /** Told after the commit of a round in which rules matched. */
  readonly onMatched?: () => void;
}

const mostAtOnce = 50;

export function createEvaluator({ db, log, mode, rules, onMatched }: EvaluatorParts): Evaluator {
  async function round(triggersOf: (tx: Transaction, set: RuleSet) => Promise<readonly Trigger[]>): Promise<number> {
    const set = rules();
    if (!set) return 0;
    const { met, matched } = await inTransaction(db, async (tx) => {
      if (!(await isOurTurn(tx))) return { met: 0, matched: 0 };
      const triggers = await triggersOf(tx, set);
      if (triggers.length === 0) return { met: 0, matched: 0 };
      return { met: triggers.length, matched: await evaluateTriggers(tx, set, triggers) };
    });
    if (matched > 0) onMatched?.();
    return met;
  }

  async function evaluateTriggers(tx: Transaction, set: RuleSet, triggers: readonly Trigger[]): Promise<number> {
    const [clock] = await hotQuery<{ now: Date }>(tx, 'select clock_timestamp() as now', []);
    const now = clock?.now ?? new Date();
    const cases = await readCases(tx, triggers, set.hours);
    const threads = cases.flatMap(({ subject }) => (subject ? [subject] : []));
    const earliest = new Date(Math.min(...triggers.map(({ at }) => at.getTime())));
    const history = await readHistory(tx, set, threads, { from: earliest });
    const decisions = decide(set, mode, cases, history, (at) => (now.getTime() - at.getTime()) / 1_000);
    return recordDecisions(tx, set.version, decisions);
  }

  async function untilNothingIsLeft(step: () => Promise<number>): Promise<number> {
    let total = 0;
    for (;;) {
      const met = await step();
      total += met;
      if (met < mostAtOnce) return total;
    }
  }

  return {
    async events() {
      if (mode === 'off') {
        await dropEvents(db);
        return 0;
      }
      if (!(await isAnythingNoted(db))) return 0;
      let most = mostAtOnce;
      return untilNothingIsLeft(async () => {
        try {
          const met = await round(async (tx) => (await takeEvents(tx, most)).map(({ trigger }) => trigger));
          return met < most ? met : mostAtOnce;
        } catch (error) {
          // One event can be what fails: each for itself, so that it fails alone.
          if (most > 1) {
            most = 1;
            return mostAtOnce;
          }
          const { isGivenUp } = await deferFirst(db);
          log[isGivenUp ? 'error' : 'warn'](
            { err: error },
            isGivenUp
              ? 'An event cannot be evaluated; it is given up'
              : 'An event could not be evaluated; it is tried again',
          );
          return mostAtOnce;
        }
      });
    },
    silences: () =>
      mode === 'off'
        ? Promise.resolve(0)
        : untilNothingIsLeft(() => round((tx, set) => idleTriggers(tx, set, mostAtOnce))),
  };
}

/**
 * One evaluates at a time, so that limits count right and texts are met in their order. The lock ends with the transaction.
 * Erasures are held off likewise: nobody is written down who is being erased.
 */
async function isOurTurn(tx: Transaction): Promise<boolean> {
  const [row] = await hotQuery<{ is_ours: boolean }>(
    tx,
    `select pg_try_advisory_xact_lock(hashtext('ops.rule_events')) and ops.hold_erasures() is not null as is_ours`,
    [],
  );
  return row?.is_ours ?? false;
}
