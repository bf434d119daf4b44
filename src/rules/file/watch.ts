import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../shared/log.ts';
import { startLoop } from '../../shared/loop.ts';
import type { RuleSet } from '../rule.ts';
import { parseRules } from './parse.ts';

export interface RulesInForce {
  /** The newest valid file; undefined until there was one. */
  readonly set: RuleSet | undefined;
  readonly loadedAt: Date | undefined;
  /** Why the newest file is not in force. */
  readonly problem: string | undefined;
}

export interface WatchedRules {
  readonly current: RulesInForce;
  close(): void;
}

export interface WatchOptions {
  /** Relative to the working directory, and as messages show it. */
  readonly path: string;
  readonly timeZone: string;
  readonly log: Log;
  /** Milliseconds between reads where the file system reports no changes. */
  readonly pollMs: number;
  /** Called after a file was loaded or refused. */
  readonly onChange: (current: RulesInForce) => void;
}

/** Pause between two reads of a file that an editor may be writing. */
const settleMs = 50;

/** The text of the file, or the error code of reading it: the same symbol each time. */
type Content = string | symbol;

/**
 * Loads the rules file and watches it for changes. An invalid file never replaces a valid one. A file that is missing or
 * invalid at the start leaves no rules in force, which is logged.
 */
export async function watchRules({ path, timeZone, log, pollMs, onChange }: WatchOptions): Promise<WatchedRules> {
  let current: RulesInForce = { set: undefined, loadedAt: undefined, problem: undefined };
  let seen: Content | undefined;

  async function reload(): Promise<void> {
    const content = await settledContent(path, seen, current.set ? pollMs : 0);
    if (content === seen) return;
    seen = content;
    try {
      if (typeof content === 'symbol') {
        throw new Error(`${path} cannot be read (${content.description}). Set RULES_FILE, or create it.`);
      }
      const set = parseRules(content, { file: path, timeZone });
      current = { set, loadedAt: new Date(), problem: undefined };
      log.info({ version: set.version, rules: set.rules.length }, 'The rules are in force');
      for (const { line, column, message, remedy } of set.warnings) {
        log.warn({ place: `${path}:${line}:${column}`, remedy }, `The rules file: ${message}`);
      }
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      current = { ...current, problem };
      log.error(
        { problem },
        current.set
          ? 'The rules file has an error; the rules loaded before stay in force'
          : 'No rules are in force: the rules file cannot be used. Mirroring goes on',
      );
    }
    onChange(current);
  }

  const reading = startLoop({ name: 'Reading the rules file', everyMs: pollMs, log, job: reload });
  await reading.kick();
  const watcher = watchFolder(dirname(path), basename(path), () => void reading.kick());
  return {
    get current() {
      return current;
    },
    close() {
      watcher?.close();
      void reading.stop();
    },
  };
}

/**
 * The content of the file once two reads agree: half a file can be a valid file with fewer rules. Editors may truncate or
 * remove the file before they write it, so an empty or missing file must stay so for `graceMs`.
 */
async function settledContent(path: string, seen: Content | undefined, graceMs: number): Promise<Content> {
  const deadline = performance.now() + graceMs;
  let content = await contentOf(path);
  while (content !== seen) {
    await sleep(settleMs);
    const again = await contentOf(path);
    const isWritten = typeof again === 'string' && again.trim() !== '';
    if (again === content && (isWritten || performance.now() >= deadline)) break;
    content = again;
  }
  return content;
}

async function contentOf(path: string): Promise<Content> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    return Symbol.for((error as NodeJS.ErrnoException).code ?? String(error));
  }
}

/** Watches the folder, since editors replace the file. Undefined if the file system cannot watch: polling finds changes then. */
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
