import { createInterface } from 'node:readline/promises';
import { printable } from '../storable.ts';
import { CommandFailed } from './exit.ts';

export interface ConsentFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** What a command would do. */
export interface Look {
  /** For people. */
  readonly sentence: string;
  /** For `--json`. */
  readonly facts: object;
}

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/** Questions stand on standard error, so that standard output stays free for data. */
const own: Terminal = { input: process.stdin, output: process.stderr };

/**
 * Whether a command that cannot be taken back shall do its work. A script does what it is told; a person at a terminal is
 * shown what would be done and asked for the word yes, unless `--yes` said it. False after `--dry-run`, which prints the
 * look and is all that was asked. Throws `CommandFailed` when the person says anything else.
 */
export async function consents(
  { yes = false, dryRun = false, json }: ConsentFlags,
  look: () => Promise<Look>,
  terminal: Terminal = own,
): Promise<boolean> {
  if (!dryRun && (yes || !terminal.input.isTTY)) return true;
  const { sentence, facts } = await look();
  if (dryRun) {
    console.log(json ? JSON.stringify({ ...facts, isDone: false }) : sentence);
    return false;
  }
  const answer = await ask(printable(`${sentence}\nType yes to do it: `), terminal);
  if (answer.trim().toLowerCase() !== 'yes') throw new CommandFailed('Nothing was done.');
  return true;
}

/** The line that is typed; an empty one when the terminal ends, or Ctrl-C is pressed. */
async function ask(question: string, { input, output }: Terminal): Promise<string> {
  const lines = createInterface({ input, output });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('close', () => resolve(''));
      lines.question(question).then(resolve, reject);
    });
  } finally {
    lines.close();
  }
}
