import { createContext, readySettings } from '../../context.ts';
import { statusOf, verdictOf } from '../../status/concerns.ts';
import { DatabaseUnavailable, takeSnapshot } from '../../status/snapshot.ts';
import { renderTable } from '../../status/table.ts';
import { commandSettings } from '../environment.ts';
import { CommandFailed, exitCodes } from '../exit.ts';
import { createRemarks } from '../remarks.ts';

/** Prints the snapshot that the status page shows; exit code 1 while something needs a person, as with `doctor`. */
export async function run(options: { json?: boolean }): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  await using context = await createContext(readySettings(settings), {
    log: createRemarks('error'),
    name: 'status',
    maxConnections: 2,
    isReadOnly: true,
  });
  const snapshot = await takeSnapshot(context).catch((error: unknown) => {
    throw error instanceof DatabaseUnavailable ? new CommandFailed(error.message) : error;
  });
  console.log(options.json ? JSON.stringify(statusOf(snapshot)) : renderTable(snapshot));
  if (verdictOf(snapshot).level !== 'ok') process.exitCode = exitCodes.failed;
}
