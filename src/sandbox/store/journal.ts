import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Change } from './table.ts';

/** Inputs of the seeded state, which is generated at each start instead of being stored. */
export interface Origin {
  seed: number;
  calls: number;
  threads: number;
  /** Milliseconds; the end of the seeded history. */
  startedAt: number;
}

/**
 * An append-only file: the origin, then each change as one line of JSON. Lines are written but not synced, so they
 * survive a SIGKILL of the process, but not a power failure.
 */
export interface Journal {
  readonly origin: Origin;
  readonly changes: Change[];
  append(change: Change): void;
  /** Removes every change. */
  restart(): void;
  close(): void;
}

/** Opens or creates a journal. An existing one keeps its origin and is compacted to the last change of each entity. */
export function openJournal(file: string, fresh: Origin): Journal {
  mkdirSync(dirname(file), { recursive: true });
  const { origin, changes } = readJournal(file) ?? { origin: fresh, changes: [] };
  rewrite(file, origin, changes);
  let descriptor = openSync(file, 'a');

  return {
    origin,
    changes,
    append(change) {
      writeSync(descriptor, `${JSON.stringify(change)}\n`);
    },
    restart() {
      closeSync(descriptor);
      rewrite(file, origin, []);
      descriptor = openSync(file, 'a');
    },
    close() {
      closeSync(descriptor);
    },
  };
}

function readJournal(file: string): { origin: Origin; changes: Change[] } | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  const lines = text.split('\n');
  // The last line is empty, or incomplete after a kill in the middle of a write: that change is lost.
  lines.pop();
  const [first, ...rest] = lines;
  if (first === undefined) return null;

  const origin = parseLine(first, 1, file) as Origin;
  const last = new Map<string, Change>();
  for (const [index, line] of rest.entries()) {
    const change = parseLine(line, index + 2, file) as Change;
    last.set(`${change.kind} ${change.key}`, change);
  }
  return { origin, changes: [...last.values()] };
}

function parseLine(line: string, number: number, file: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    const remedy = 'fix the line, or move the file away to start from the seeded state';
    throw new Error(`${file}, line ${number} is not JSON: ${remedy}`, { cause });
  }
}

function rewrite(file: string, origin: Origin, changes: readonly Change[]): void {
  const lines = [origin, ...changes].map((line) => `${JSON.stringify(line)}\n`);
  // It holds texts and tokens. Removed first: an older file would keep its mode.
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, lines.join(''), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
