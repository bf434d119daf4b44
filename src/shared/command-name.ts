import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';

/**
 * What a user types to run Trunkline. npm finds the program both in a checkout and in an installed package. The container image
 * sets its own name (TRUNKLINE_COMMAND). Where npm fails, this is the path of the program.
 */
export const commandName =
  process.env.TRUNKLINE_COMMAND ||
  (canRunNpm() ? 'npx trunkline' : `node ${fileURLToPath(new URL('../trunkline.cjs', import.meta.url))}`);

/** npm writes to the home folder, which a random user or a read-only disk does not allow. */
function canRunNpm(): boolean {
  try {
    accessSync(homedir(), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A command for use in a sentence, as the user types it. */
export function toType(words: string): string {
  return `\`${commandName} ${words}\``;
}
