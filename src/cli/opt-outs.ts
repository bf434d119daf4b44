import { userInfo } from 'node:os';
import {
  countWaiting,
  type DecisionResult,
  decideOptOut,
  listWaiting,
  type OptOutDecision,
} from '../ledger/opt-outs.ts';
import { countOf, toTheSecond } from '../ops/format.ts';
import { toType } from '../shared/command-name.ts';
import { openDatabase } from './environment.ts';
import { exitCodes } from './failures.ts';
import { renderColumns } from './terminal.ts';

interface Json {
  readonly json?: boolean;
}

const shownCharacters = 100;

/** Lists the numbers that wait for a decision, in full, with their last text: both are needed to decide. */
export async function runList({ limit, json }: Json & { limit: number }): Promise<void> {
  await using database = await openDatabase('opt-outs', { alike: ['TIME_ZONE'] });
  const waiting = await listWaiting(database.db, limit);
  if (json) return console.log(JSON.stringify(waiting.map(({ seenAt: _, ...each }) => each)));
  if (waiting.length === 0) return console.log('No number waits for a decision.');
  const rows = waiting.map(({ number, lines, textCount, lastAt, text }) => [
    number,
    lines.join(', '),
    toTheSecond(lastAt, database.settings.timeZone),
    String(textCount),
    text === null ? '(removed)' : shorten(text),
  ]);
  console.log(renderColumns(['number', 'line', 'newest', 'texts', 'newest text'], rows));
  const more = (await countWaiting(database.db)) - waiting.length;
  if (more > 0) console.log(`${countOf(more, 'more number')} wait: --limit shows them.`);
  console.log(
    `No automatic text goes to these numbers. ${toType('opt-outs confirm NUMBER')} records an opt-out, ${toType('opt-outs clear NUMBER')} that it is none.`,
  );
}

function shorten(text: string): string {
  const characters = [...text.slice(0, 2 * shownCharacters).replace(/\s+/g, ' ')];
  const isCut = characters.length > shownCharacters || text.length > 2 * shownCharacters;
  return `${characters.slice(0, shownCharacters).join('')}${isCut ? '…' : ''}`;
}

const words: Readonly<Record<OptOutDecision, string>> = {
  confirm: 'opted out: no automatic text goes to it from any line, until it writes START',
  clear: 'no opt-out: rules may answer its next text',
};

/** Records the same decision about each number. Exit code 1 when one of them has nothing to decide. */
export async function runDecide(decision: OptOutDecision, numbers: readonly string[], { json }: Json): Promise<void> {
  await using database = await openDatabase('opt-outs');
  const results: { number: string; result: DecisionResult }[] = [];
  for (const number of new Set(numbers)) {
    const result = await decideOptOut(database.db, number, decision, { by: decider() });
    results.push({ number, result });
    if (json) continue;
    if (result === 'done') console.log(`${number}: ${words[decision]}.`);
    else console.error(`${number} waits for no decision, and nobody had confirmed an opt-out: nothing to clear.`);
  }
  if (json) console.log(JSON.stringify(results.map(({ number, result }) => ({ number, isDone: result === 'done' }))));
  if (results.some(({ result }) => result !== 'done')) process.exitCode = exitCodes.failed;
}

/** Who runs the command, as far as the machine knows. */
function decider(): string {
  try {
    return `command line, ${userInfo().username}`;
  } catch {
    // A container may run as a user without a name.
    return 'command line';
  }
}
