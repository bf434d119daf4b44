import { countWaiting, decideOptOut, listWaiting, type OptOutDecision } from '../ledger/opt-outs.ts';
import { countOf } from '../ops/format.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { openDatabase } from './environment.ts';
import { type Column, type Output, tableOf } from './output.ts';
import { operatorName } from './terminal.ts';

const shownCharacters = 100;

/** Lists the numbers that wait for a decision, unmasked, with their last text: the reader needs both to decide. */
export async function listWaitingNumbers({ limit }: { limit: number }): Promise<Output> {
  await using database = await openDatabase('opt-outs');
  const waiting = (await listWaiting(database.db, limit)).map(({ seenAt: _, ...each }) => each);
  const more = (await countWaiting(database.db)) - waiting.length;
  const columns: Column<(typeof waiting)[number]>[] = [
    ['number', ({ number }) => number],
    ['line', ({ lines }) => lines.join(', ')],
    ['newest', ({ lastAt }) => lastAt],
    ['texts', ({ textCount }) => textCount],
    ['newest text', ({ text }) => (text === null ? '(removed)' : shorten(text))],
  ];
  return tableOf(waiting, columns, {
    timeZone: database.settings.timeZone,
    empty: 'No number waits for a decision.',
    remarks: [
      more > 0 && `${countOf(more, 'more number')} wait: --limit shows them.`,
      `No automatic text goes to these numbers. ${toType('opt-outs confirm NUMBER')} records an opt-out, ${toType('opt-outs clear NUMBER')} that it is none.`,
    ],
  });
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
