import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { inherited } from './inherited.ts';

/** Where this release of the project lies. */
export const root = fileURLToPath(new URL('../', import.meta.url));

/** A program in a process of its own, which ends with the test that started it. */
export interface Program {
  readonly process: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  /** Its exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Sends a signal, and resolves to the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

interface Start {
  /** The program and its first arguments; default: this release of Trunkline. */
  readonly command?: readonly string[];
  readonly cwd?: string;
  /** In a group of processes, which ends as a whole with the test. */
  readonly detached?: boolean;
}

/** Starts a program that inherits nothing of the shell but what `inherited` names. */
export function program(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
  { command = [process.execPath, 'src/trunkline.cjs'], cwd = root, detached = false }: Start = {},
): Program {
  const [file = '', ...words] = command;
  const env = { ...inherited, ADMIN_TOKEN: 'a-token-of-the-commands', ...environment };
  const child = spawn(file, [...words, ...args], { cwd, env, detached, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  for (const [name, stream] of [['out', child.stdout] as const, ['err', child.stderr] as const])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  onTestFinished(async () => {
    if (detached && child.pid !== undefined) {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // Nothing of the group is left.
      }
    } else if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  });
  return {
    process: child,
    out: () => said.out,
    err: () => said.err,
    ended,
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
  };
}
