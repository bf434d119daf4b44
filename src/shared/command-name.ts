import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isOfEnvFile } from './env-file.ts';

/**
 * What a user types to run Trunkline. npm finds the program both in a checkout and in an installed package. The
 * container image sets its own name (TRUNKLINE_COMMAND). Where npm fails, this is the path of the program.
 */
export const commandName =
  process.env.TRUNKLINE_COMMAND ||
  (canRunNpm() ? 'npx trunkline' : `node ${fileURLToPath(new URL('../trunkline.cjs', import.meta.url))}`);

/** npm writes to the home folder, which a random user or a read-only disk doesn't allow. */
function canRunNpm(): boolean {
  try {
    accessSync(homedir(), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * A command for use in a sentence, as the user types it. Names DATA_DIR where the command wouldn't find a running
 * `start` without it.
 */
export function toType(words: string): string {
  const { DATA_DIR: dataDir, DATABASE_URL: databaseUrl } = process.env;
  const isNeeded = dataDir && !databaseUrl && resolve(dataDir) !== resolve('.data') && !isOfEnvFile('DATA_DIR');
  return `\`${isNeeded ? `DATA_DIR=${quoted(dataDir)} ` : ''}${commandName} ${words}\``;
}

/** A word as a shell takes it. */
export function quoted(word: string): string {
  return /^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
