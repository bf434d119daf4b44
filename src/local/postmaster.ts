import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log.ts';
import { commandLineOf } from './process.ts';

/** Whether the server with this process id says in its lock file that it takes connections. */
export async function isReady(directory: string, pid: number): Promise<boolean> {
  const lock = await readLock(directory);
  return lock?.pid === pid && lock.status === 'ready';
}

/** Ends the server that a killed process left behind, if there is one; `patience` (ms) before it is made to crash. */
export async function endLeftover(directory: string, patience: number, log: Log): Promise<void> {
  const pid = (await readLock(directory))?.pid;
  const line = pid === undefined ? undefined : await commandLineOf(pid);
  if (pid === undefined || line === undefined) return;
  if (!line.includes(directory)) {
    // The process id belongs to a stranger by now (a reboot, a new container): Postgres would not start beside it.
    // Otherwise the lock stays: by it Postgres finds out whether children of a killed server still write.
    await rm(join(directory, 'postmaster.pid'), { force: true });
    return;
  }
  log.warn({ pid }, 'ending a Postgres that a killed process left behind');
  process.kill(pid, 'SIGINT');
  const impatience = setTimeout(() => process.kill(pid, 'SIGQUIT'), patience);
  while ((await commandLineOf(pid)) === line) await sleep(20);
  clearTimeout(impatience);
}

interface Lock {
  readonly pid: number;
  readonly status: string | undefined;
}

async function readLock(directory: string): Promise<Lock | undefined> {
  const text = await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => '');
  if (text === '') return undefined;
  const lines = text.split('\n');
  return { pid: Number(lines[0]), status: lines[7]?.trim() };
}
