import { type Database, query } from '../../../warehouse/database.ts';
import { ourLines } from '../../../warehouse/entities/directory/lines.ts';
import { CommandFailed } from '../../exit.ts';
import { refusalOf } from './refusal.ts';

/** The lines that conversations are asked for on. Throws `CommandFailed` that says why there is none, and what helps. */
export async function knownLines(db: Database): Promise<string[]> {
  const lines = await ourLines(db);
  if (lines.length > 0) return lines;
  // Where threads are refused, lines alone would not help.
  const why = (await refusalOf(db, ['lines', 'thread'])) ?? (await whyUnread(db));
  throw new CommandFailed(
    `No line of the account is known, so nobody can be asked for: ${why}, then repeat the command.`,
  );
}

/** Why nothing is known that the service does not refuse. */
async function whyUnread(db: Database): Promise<string> {
  const [target] = await query<{ last_error: string | null; was_read: boolean }>(
    db,
    `select last_error, clean_version > 0 as was_read from ops.sync_targets where kind = 'lines' and key = 'all'`,
    [],
  );
  if (target?.last_error) {
    return `they cannot be read (${target.last_error}). \`trunkline doctor\` examines the service; see that it answers`;
  }
  return target?.was_read
    ? 'the service lists none. Let a number send texts, in its portal, and run `trunkline resync lines`'
    : 'they were not read yet. Run a worker (`trunkline worker`), which reads them when it starts';
}
