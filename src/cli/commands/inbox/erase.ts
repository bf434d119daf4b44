import Table from 'cli-table3';
import { createContext, readySettings } from '../../../context.ts';
import { type Erasure, eraseNumber, NotErasable, previewErasure } from '../../../erasure/erase.ts';
import { erasableNumber } from '../../../erasure/number.ts';
import { optOutChange } from '../../../ledger/gates/opt-out.ts';
import { type ConsentFlags, consents } from '../../consent.ts';
import { commandSettings } from '../../environment.ts';
import { WrongUse } from '../../exit.ts';
import { createRemarks } from '../../remarks.ts';

/** Removes a person, after a look where one is wanted. The number is shown by its last four digits alone. */
export async function run(number: string, flags: ConsentFlags): Promise<void> {
  refuseOddNumber(number);
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), { log, name: 'erase', maxConnections: 2 });
  const { db } = context.database;
  const isMeant = await consents(flags, async () => {
    const erasure = await previewErasure(db, number);
    return { sentence: report(erasure, false), facts: erasure };
  });
  if (!isMeant) return;
  const erasure = await eraseNumber({ db, queues: context.queues, optOutChange }, number);
  console.log(flags.json ? JSON.stringify({ ...erasure, isDone: true }) : report(erasure, true));
}

/** What cannot be a number is wrong use, whatever is held. */
function refuseOddNumber(number: string): void {
  try {
    erasableNumber(number);
  } catch (error) {
    throw error instanceof NotErasable ? new WrongUse(error.message) : error;
  }
}

function report({ number, removed }: Erasure, isDone: boolean): string {
  const places = Object.entries(removed).sort(([a], [b]) => (a < b ? -1 : 1));
  if (places.length === 0) {
    return isDone
      ? `Nothing was left of ${number}; it is kept out.`
      : `Nothing is held of ${number}; it would be kept out from now on.`;
  }
  const table = new Table({ head: ['rows', 'table'], style: { head: [], border: [] }, colAligns: ['right', 'left'] });
  for (const [place, count] of places) table.push([count, place]);
  const verdict = isDone
    ? `${number} is erased, and kept out from now on.`
    : `This would be removed of ${number}, for good; the rows of calls stay without the person.`;
  return `${table.toString()}\n${verdict}`;
}
