import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { inherited } from '../../inherited.ts';
import { conditionTimeoutMs } from '../../timeouts.ts';

/** Where this release of the project lies. */
export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** How a process ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One process of a deployment: `node src/trunkline.cjs …` with an environment of its own, as often as it is started. */
export interface Part {
  readonly name: string;
  /** All that its processes have written so far, to standard output and standard error. */
  readonly output: string;
  readonly isRunning: boolean;
  /** Of the present process; 0 before the first. */
  readonly pid: number;
  /** Starts it and resolves when it says that it is ready. */
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves when the present process is gone. */
  ended(): Promise<Ending>;
  /** SIGKILL; resolves when the process is gone. */
  crash(): Promise<void>;
}

export interface PartShape {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The words that say that it is ready. */
  readonly readyWords: string;
  /** The folder of another release; default: this one. */
  readonly release?: string;
}

/** `onOpen` is given what ends the part for good, before anything has been started. */
export function createPart(shape: PartShape, onOpen: (end: () => Promise<void>) => void): Part {
  let child: ChildProcess | undefined;
  let ending: Promise<Ending> | undefined;
  let output = '';
  let isRunning = false;

  function spawnChild(): ChildProcess {
    const spawned = spawn(process.execPath, ['src/trunkline.cjs', ...shape.args], {
      cwd: shape.release ?? root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inherited, LOG_LEVEL: 'debug', ...shape.env },
    });
    for (const stream of [spawned.stdout, spawned.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    ending = once(spawned, 'exit').then(([code, signal]) => {
      if (child === spawned) isRunning = false;
      return { code, signal };
    });
    return spawned;
  }

  async function start(): Promise<void> {
    const from = output.length;
    child = spawnChild();
    isRunning = true;
    const isReady = () => output.slice(from).includes(shape.readyWords);
    await vi
      .waitUntil(() => isReady() || !isRunning, { timeout: Math.max(conditionTimeoutMs, 60_000), interval: 10 })
      .catch(() => undefined);
    if (!isReady()) throw new Error(`${shape.name} did not start: ${output.slice(from)}`);
  }

  async function crash(): Promise<void> {
    child?.kill('SIGKILL');
    await ending;
  }

  onOpen(crash);
  return {
    name: shape.name,
    get output() {
      return output;
    },
    get isRunning() {
      return isRunning;
    },
    get pid() {
      return child?.pid ?? 0;
    },
    start,
    signal: (signal) => void child?.kill(signal),
    async ended() {
      if (ending === undefined) throw new Error(`${shape.name} was never started`);
      return ending;
    },
    crash,
  };
}
