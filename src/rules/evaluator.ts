import type { Log } from '../log.ts';
import { type Database, hotQuery, inTransaction, type Transaction } from '../warehouse/database.ts';
import { decide } from './decide.ts';
import { type Case, readCases } from './facts/read.ts';
import { readHistory } from './history.ts';
import { holdSends } from './holds.ts';
import { deferFirst, dropEvents, idleTriggers, isAnythingNoted, putBack, readSince, takeEvents } from './outbox.ts';
import type { Mode, RuleSet } from './rule.ts';
import { recordDecisions } from './runs.ts';
import type { Trigger } from './triggers.ts';

/*
 * An event's life (ops.rule_events):
 *
 *   mirrored ──same transaction──▶ noted ──▶ taken, evaluated, recorded: runs, sends planned, actions ──commit──▶ gone
 *                                    ▲                    │                                           │
 *                                    │                    └─ a worker is at a send of its thread      │
 *                                    ├────────────────────┘                                           │
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

/** Where triggers come from, and how those come again that cannot be decided on while a worker is at their thread. */
interface Source {
  take(tx: Transaction, set: RuleSet): Promise<readonly Trigger[]>;
  postpone(tx: Transaction, triggers: readonly Trigger[]): Promise<void>;
}

/** How many triggers a round met. */
interface Round {
  readonly taken: number;
  readonly postponed: number;
}
const nothing: Round = { taken: 0, postponed: 0 };

export function createEvaluator({ db, log, mode, rules, onMatched }: EvaluatorParts): Evaluator {
  async function round({ take, postpone }: Source): Promise<Round> {
    const set = rules();
    if (!set) return nothing;
    const { matched, ...met } = await inTransaction(db, async (tx) => {
      if (!(await isOurTurn(tx))) return { ...nothing, matched: 0 };
      const triggers = await take(tx, set);
      if (triggers.length === 0) return { ...nothing, matched: 0 };
      const { matched, undecided } = await evaluateTriggers(tx, set, triggers);
      await postpone(tx, undecided);
      return { taken: triggers.length, postponed: undecided.length, matched };
    });
    if (matched > 0) onMatched?.();
    return met;
  }

  async function evaluateTriggers(
    tx: Transaction,
    set: RuleSet,
    triggers: readonly Trigger[],
  ): Promise<{ matched: number; undecided: readonly Trigger[] }> {
    const [clock] = await hotQuery<{ now: Date }>(tx, 'select clock_timestamp() as now', []);
    const now = clock?.now ?? new Date();
    const cases = await readCases(tx, triggers, set.hours);
    const threads = cases.flatMap(({ subject }) => (subject ? [subject] : []));
    const hold = await holdSends(tx, threads);
    const isUndecided = ({ subject }: Case) => subject !== undefined && hold.isBusy(subject);
    const decidable = cases.filter((each) => !isUndecided(each));
    const earliest = new Date(Math.min(...triggers.map(({ at }) => at.getTime())));
    const history = await readHistory(tx, set, threads, { from: earliest, held: hold.sends });
    const decisions = decide(set, mode, decidable, history, (at) => (now.getTime() - at.getTime()) / 1_000);
    const matched = await recordDecisions(tx, set.version, decisions, await readSince(tx));
    return { matched, undecided: cases.filter(isUndecided).map(({ trigger }) => trigger) };
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
          const { taken } = await round({
            take: async (tx) => (await takeEvents(tx, most)).map(({ trigger }) => trigger),
            postpone: putBack,
          });
          return taken < most ? taken : mostAtOnce;
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
        : untilNothingIsLeft(async () => {
            // They are found again at the next look, so those that were postponed are no reason for another one now.
            const { taken, postponed } = await round({
              take: (tx, set) => idleTriggers(tx, set, mostAtOnce),
              postpone: async () => undefined,
            });
            return taken - postponed;
          }),
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
