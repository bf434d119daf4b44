import { execFile } from 'node:child_process';
import { inherited } from '../../inherited.ts';
import { root } from './part.ts';

/** Runs a command of the command line to its end, and resolves to its standard output. Rejects when it fails. */
export function runCommand(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['src/trunkline.cjs', ...args],
      { cwd: root, env: { ...inherited, ...env }, maxBuffer: 64 * 1_024 ** 2 },
      (error, stdout, stderr) => (error ? reject(new Error(`${args.join(' ')}: ${stderr}`)) : resolve(stdout)),
    );
  });
}
