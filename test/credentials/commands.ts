import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { inherited } from '../inherited.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A command in a process of its own. */
export interface Command {
  readonly process: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
}

export function trunkline(environment: Readonly<Record<string, string>>, ...args: string[]): Command {
  const child = spawn(process.execPath, ['src/trunkline.cjs', ...args], {
    cwd: root,
    env: {
      ...inherited,
      ADMIN_TOKEN: 'a-token-of-the-commands',
      ...environment,
    },
  });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.err += text;
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  });
  return { process: child, out: () => said.out, err: () => said.err, ended };
}
