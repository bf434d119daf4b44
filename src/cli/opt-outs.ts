import { decideOptOut, type OptOutDecision } from '../ledger/opt-outs.ts';
import { UserError } from '../shared/errors.ts';
import { openDatabase } from './environment.ts';
import type { Output } from './output.ts';
import { operatorName } from './terminal.ts';

const words: Readonly<Record<OptOutDecision, string>> = {
  confirm: 'opted out: no automatic text goes to it from any line, until it writes START',
  clear: 'no opt-out: rules may answer its next text',
};

/** Records the same decision about each number. Exit code 1 if one of them needs no decision. */
export async function decide(decision: OptOutDecision, numbers: readonly string[]): Promise<Output> {
  await using database = await openDatabase('opt-outs');
  const json: { number: string; isDone: boolean }[] = [];
  for (const number of new Set(numbers)) {
    const result = await decideOptOut(database.db, number, decision, { by: operatorName() });
    json.push({ number, isDone: result === 'done' });
  }
  const [done = [], left = []] = [true, false].map((is) => json.filter(({ isDone }) => isDone === is));
  const refusals = left.map(
    ({ number }) => `${number} waits for no decision, and nobody had confirmed an opt-out: nothing to clear.`,
  );
  return {
    json,
    text: done.map(({ number }) => `${number}: ${words[decision]}.`).join('\n') || undefined,
    failed: refusals.length > 0 && new UserError(refusals.join('\n')),
  };
}
