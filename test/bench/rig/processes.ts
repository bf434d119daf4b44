import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { inherited } from '../../inherited.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A Node process of its own, so that its memory and its time are its own. */
export interface Running<Ready> extends AsyncDisposable {
  readonly pid: number;
  readonly ready: Ready;
}

/**
 * Starts `node …args` in the folder of the project and waits for the line that `readyIn` understands. Warnings of its log are
 * passed on.
 */
export async function startNode<Ready>(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  readyIn: (line: string) => Ready | undefined,
): Promise<Running<Ready>> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  endWithUs(() => child.kill('SIGKILL'), exited);
  const said: string[] = [];
  const ready = await new Promise<Ready>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        if (said.length < 50) said.push(line);
        if (/^\{"level":[456]0/.test(line)) console.error(line);
        const found = readyIn(line);
        if (found !== undefined) resolve(found);
      });
    }
    void exited.then(() => reject(new Error(`node ${args.join(' ')} ended early:\n${said.join('\n')}`)));
  });
  return {
    pid: child.pid ?? 0,
    ready,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** The address in a line that tells of one. */
export const urlIn = (line: string): string | undefined => /"url":"([^"]+)"/.exec(line)?.[1];

/** Ends what a bench started when the bench itself is told to stop. */
export function endWithUs(end: () => void, ended: Promise<unknown>): void {
  process.once('exit', end);
  void ended.then(() => process.off('exit', end));
}
