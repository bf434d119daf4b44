import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import type { RuleSet } from '../rule.ts';
import { parseRules } from './parse.ts';

/** What is known of the rules file now. */
export interface RulesInForce {
  /** The newest good file; undefined while there was none. */
  readonly set: RuleSet | undefined;
  readonly loadedAt: Date | undefined;
  /** Why the newest file is not in force. */
  readonly problem: string | undefined;
}

/** The rules file, followed as it changes. A bad file never replaces a good one. */
export interface WatchedRules {
  readonly current: RulesInForce;
  /** Looks at once, whatever the watch says. */
  reload(): Promise<void>;
  close(): void;
}

export interface WatchOptions {
  /** Relative to the working directory, and as it stands in messages. */
  readonly path: string;
  readonly timeZone: string;
  readonly log: Log;
  /** How often the file is looked at where no watch tells; milliseconds. Default 2,000. */
  readonly pollMs?: number;
  /** Told when a file was taken or refused. */
  readonly onChange?: (current: RulesInForce) => void;
}

const defaultPollMs = 2_000;
/** Editors write in several steps. */
const settleMs = 50;

/** Reads the file and follows it. A file that is missing or bad at the start leaves no rules in force, and is said so. */
export async function watchRules(options: WatchOptions): Promise<WatchedRules> {
  const { path, timeZone, log, pollMs = defaultPollMs, onChange } = options;
  let current: RulesInForce = { set: undefined, loadedAt: undefined, problem: undefined };
  let seen: string | undefined;
  let reading: Promise<void> | undefined;
  let settling: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    let text: string;
    try {
      text = await readWhole(path, seen);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      text = `cannot be read: ${code}`;
      if (text !== seen) refuse(`${path} cannot be read (${code}). Set RULES_FILE, or create it.`);
      seen = text;
      return;
    }
    if (text === seen) return;
    seen = text;
    try {
      const set = parseRules(text, { file: path, timeZone });
      current = { set, loadedAt: new Date(), problem: undefined };
      log.info({ version: set.version, rules: set.rules.length }, 'The rules are in force');
    } catch (error) {
      return refuse(error instanceof Error ? error.message : String(error));
    }
    onChange?.(current);
  }

  function refuse(problem: string): void {
    current = { ...current, problem };
    log.error(
      { problem },
      current.set ? 'The rules file has a mistake; the rules before it stay' : 'There are no rules in force',
    );
    onChange?.(current);
  }

  async function reload(): Promise<void> {
    // A look that began before the change does not show it.
    await reading;
    reading = look().finally(() => {
      reading = undefined;
    });
    await reading;
  }

  function soon(): void {
    clearTimeout(settling);
    settling = setTimeout(() => void reload(), settleMs);
  }

  await reload();
  const timer = setInterval(() => void reload(), pollMs);
  timer.unref();
  const watcher = watchFolder(dirname(path), basename(path), soon);
  return {
    get current() {
      return current;
    },
    reload,
    close() {
      clearInterval(timer);
      clearTimeout(settling);
      watcher?.close();
    },
  };
}

/** The text once it stands still: half of a file that is being written can be a good file of other rules. */
async function readWhole(path: string, seen: string | undefined): Promise<string> {
  let text = await readFile(path, 'utf8');
  while (text !== seen) {
    await sleep(settleMs);
    const again = await readFile(path, 'utf8');
    if (again === text) break;
    text = again;
  }
  return text;
}

/** The folder, not the file: editors put a new file in the old one's place. Where it cannot be watched, looks do. */
function watchFolder(folder: string, name: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, changed) => {
      if (changed === null || changed === name) onChange();
    });
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
