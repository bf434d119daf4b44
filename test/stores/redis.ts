import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface RedisOptions {
  /** Default: a free one. Give the port and folder of a killed server to bring it back. */
  readonly port?: number;
  readonly dir?: string;
  /** More of redis-server's own arguments, such as `--requirepass`. */
  readonly args?: readonly string[];
}

export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  readonly pid: number;
  /** Sends a signal; resolves when the process is gone for one that ends it, at once for SIGSTOP and SIGCONT. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Ends the server and removes its folder if it made it. */
  stop(): Promise<void>;
}

/** Runs a redis-server as production has it: append-only file, nothing evicted. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'trunkline-redis-')));
  const port = options.port ?? (await freePort());
  const settings = { bind: '127.0.0.1', save: '', appendonly: 'yes', 'maxmemory-policy': 'noeviction' };
  const child = spawn(
    'redis-server',
    [
      ...Object.entries({ ...settings, port, dir }).flatMap(([name, value]) => [`--${name}`, String(value)]),
      ...(options.args ?? []),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  await readiness(child.stdout);
  const { pid } = child;
  if (pid === undefined) throw new Error('redis-server did not start');

  async function kill(signal: NodeJS.Signals): Promise<void> {
    child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await exited;
  }

  async function stop(): Promise<void> {
    await kill('SIGKILL');
    if (options.dir === undefined) await rm(dir, { recursive: true, force: true });
  }

  return { url: `redis://127.0.0.1:${port}`, port, dir, pid, kill, stop, [Symbol.asyncDispose]: stop };
}

async function readiness(output: NodeJS.ReadableStream): Promise<void> {
  let said = '';
  await new Promise<void>((resolve, reject) => {
    output.on('data', (chunk: Buffer) => {
      if (said.includes('Ready to accept connections')) return;
      said += chunk;
      if (said.includes('Ready to accept connections')) resolve();
    });
    output.on('end', () => reject(new Error(`redis-server did not start: ${said}`)));
  });
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('no free port');
  return address.port;
}
