import { makeConsolePrintable } from '../../src/cli/failures.ts';
import { createProgram } from '../../src/cli/program.ts';
import { startWorkers } from '../../workers/workers.ts';
import { inherited } from '../inherited.ts';

/** What a command that ended has printed, and its exit code. */
interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs a command that ends by itself in this process, since loading its modules in another takes ten times as long as most
 * commands do. Signals, terminals, and an end while connections are open need a process: see `trunkline`.
 */
export async function runInProcess(environment: Readonly<Record<string, string>>, ...args: string[]): Promise<Ran> {
  const said = { out: '', err: '' };
  const writeTo = (stream: keyof typeof said) => (text: unknown) => {
    said[stream] += text;
    return true;
  };
  const print = (stream: keyof typeof said) => (text: unknown) => writeTo(stream)(`${text}\n`);
  const printed = { log: print('out'), info: print('out'), warn: print('err'), error: print('err') };
  let exitCode: number | undefined;
  const exit = (code: number): never => {
    // The first one counts: what it throws is caught on its way out, which exits again.
    exitCode ??= code;
    throw new Error(`exit ${code}`);
  };
  using _console = replaced(globalThis, { console: { ...console, ...printed } });
  using _stdout = replaced(process.stdout, { write: writeTo('out') });
  using _stderr = replaced(process.stderr, { write: writeTo('err') });
  using _process = replaced(process, {
    env: {
      ...inherited,
      ADMIN_TOKEN: 'a-token-of-the-commands',
      ...environment,
    },
    exitCode: undefined,
    exit,
  });
  makeConsolePrintable();
  try {
    await createProgram({ startWorkers }, args).parseAsync(args, { from: 'user' });
    return { code: Number(process.exitCode ?? 0), ...said };
  } catch (error) {
    if (exitCode === undefined) throw error;
    return { code: exitCode, ...said };
  }
}

function replaced(target: object, values: object): Disposable {
  const before = Object.fromEntries(Object.keys(values).map((key) => [key, Reflect.get(target, key)]));
  Object.assign(target, values);
  return { [Symbol.dispose]: () => Object.assign(target, before) };
}
