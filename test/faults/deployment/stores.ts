import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Client, type Pool } from 'pg';
import { retryDeadlock } from '../../../src/db/database.ts';
import { startPostgres } from '../../../src/local/postgres.ts';
import { createLog } from '../../../src/shared/log.ts';
import { startRedis } from '../../stores/redis.ts';
import type { OnOpen } from '../nemesis/proxy.ts';

/** A server that can be made to crash, and started again at the same address with what it has on disk. */
export interface Store {
  readonly url: string;
  /** Resolves when it is gone. */
  crash(): Promise<void>;
  start(): Promise<void>;
}

export interface PostgresStore extends Store {
  /** Runs statements as the owner of everything, outside of any transaction. */
  run(...statements: string[]): Promise<void>;
  /** All that the server wrote to its own log. */
  log(): Promise<string>;
}

export interface RedisStore extends Store {
  /** Stops answering, and goes on, without losing anything. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Every command that ever changed it, from its append-only file. */
  history(): Promise<string>;
}

export async function openPostgres(folder: string, onOpen: OnOpen): Promise<PostgresStore> {
  const options = { dataDir: join(folder, 'postgres'), log: createLog('silent'), settings: { shared_buffers: '48MB' } };
  let server = await startPostgres(options);
  const { port, url, superuserUrl } = server;
  onOpen(() => server.stop('immediate'));
  return {
    url,
    crash: () => server.stop('immediate'),
    async start() {
      server = await startPostgres({ ...options, port });
    },
    async run(...statements) {
      const client = new Client({ connectionString: superuserUrl });
      await client.connect();
      try {
        for (const statement of statements) await client.query(statement);
      } finally {
        await client.end();
      }
    },
    log: () => readFile(join(options.dataDir, 'postgres.log'), 'utf8'),
  };
}

export async function openRedis(folder: string, onOpen: OnOpen): Promise<RedisStore> {
  const dir = join(folder, 'redis');
  await mkdir(dir);
  let server = await startRedis({ dir });
  const { port, url } = server;
  onOpen(() => server.stop());
  return {
    url,
    crash: () => server.kill('SIGKILL'),
    async start() {
      server = await startRedis({ dir, port });
    },
    freeze: () => server.kill('SIGSTOP'),
    thaw: () => server.kill('SIGCONT'),
    async history() {
      const files = await readdir(join(dir, 'appendonlydir'));
      const texts = await Promise.all(files.map((file) => readFile(join(dir, 'appendonlydir', file), 'latin1')));
      return texts.join('\n');
    },
  };
}

/** Lets the queues forget every job, what waits behind them, and who they stand for. */
export async function loseJobs({ database, redis }: { database: Pool; redis: RedisStore | undefined }): Promise<void> {
  if (redis) {
    const client = new Redis(redis.url);
    await client.flushall().finally(() => client.disconnect());
    return;
  }
  for (const table of ['job', 'dedup', 'dedup_next']) {
    // The queues take their locks in an order of their own, and a deletion may meet them.
    await retryDeadlock(() => database.query(`delete from bullmq.${table}`));
  }
}
