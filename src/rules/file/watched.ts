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

/** A text, or the code of why there is none to read, the same symbol each time. */
type Content = string | symbol;

/** Reads the file and follows it. A file that is missing or bad at the start leaves no rules in force, and is said so. */
export async function watchRules(options: WatchOptions): Promise<WatchedRules> {
  const { path, timeZone, log, pollMs = defaultPollMs, onChange } = options;
  let current: RulesInForce = { set: undefined, loadedAt: undefined, problem: undefined };
  let seen: Content | undefined;
  let reading: Promise<void> | undefined;
  let settling: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    const content = await standing(path, seen, current.set ? pollMs : 0);
    if (content === seen) return;
    seen = content;
    if (typeof content !== 'string') {
      return refuse(`${path} cannot be read (${content.description}). Set RULES_FILE, or create it.`);
    }
    try {
      const set = parseRules(content, { file: path, timeZone });
      current = { set, loadedAt: new Date(), problem: undefined };
      log.info({ version: set.version, rules: set.rules.length }, 'The rules are in force');
      for (const { line, column, message, cure } of set.warnings) {
        log.warn({ place: `${path}:${line}:${column}`, cure }, `The rules file: ${message}`);
      }
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

/**
 * The content once it stands still: half of a file that is being written can be a good file of other rules.
 * Whoever writes a file may empty it first, or take it away: nothing there is believed after `patienceMs` only.
 */
async function standing(path: string, seen: Content | undefined, patienceMs: number): Promise<Content> {
  const deadline = performance.now() + patienceMs;
  let content = await contentOf(path);
  while (content !== seen) {
    await sleep(settleMs);
    const again = await contentOf(path);
    if (again === content && (isSomething(again) || performance.now() >= deadline)) break;
    content = again;
  }
  return content;
}

function isSomething(content: Content): boolean {
  return typeof content === 'string' && content.trim() !== '';
}

async function contentOf(path: string): Promise<Content> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    return Symbol.for((error as NodeJS.ErrnoException).code ?? String(error));
  }
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
