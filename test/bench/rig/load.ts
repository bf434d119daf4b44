import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface LoadRequest {
  readonly url: string;
  readonly seconds: number;
  readonly connections: number;
  /** Texts of a thousand threads, or ended calls, each delivered once: of this number and after. */
  readonly firstCall?: number | undefined;
}

/** What the generator saw. Latencies in whole milliseconds. */
export interface Load {
  /** Requests answered 2xx. */
  readonly perSecond: number;
  /** How long it took. */
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
}

export interface Generator extends AsyncDisposable {
  readonly pid: number;
  run(request: LoadRequest): Promise<Load>;
}

/** Starts the load generator as a process of its own. */
export async function startGenerator(): Promise<Generator> {
  const child = fork(fileURLToPath(new URL('generator.ts', import.meta.url)));
  const exited = once(child, 'exit');
  await once(child, 'spawn');
  return {
    pid: child.pid ?? 0,
    async run(request) {
      child.send(request);
      const [load] = (await Promise.race([
        once(child, 'message'),
        exited.then(() => Promise.reject(new Error('The load generator ended.'))),
      ])) as [Load];
      return load;
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await exited;
    },
  };
}
