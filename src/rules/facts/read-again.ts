import type { Transaction } from '../../db/database.ts';
import { factsFor } from '../decide.ts';
import { readHistory } from '../history.ts';
import type { ActiveMode, RuleSet } from '../rule.ts';
import type { Trigger } from '../triggers.ts';
import type { Facts } from './declared.ts';
import { readCases } from './read.ts';

/** The facts of an earlier trigger, without what rules did since; undefined if no rule could act on it any more. */
export async function readFactsAgain(
  tx: Transaction,
  set: RuleSet,
  trigger: Trigger,
  mode: ActiveMode,
): Promise<Facts | undefined> {
  const { at } = trigger;
  const [each] = await readCases(tx, [trigger], set, { withoutRulesFrom: at });
  if (!each?.subject) return undefined;
  return factsFor(each, await readHistory(tx, set, [each.subject], { from: at, until: at }), mode);
}
