import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../src/local/postgres.ts';
import { createLog } from '../../src/shared/log.ts';
import { redis } from '../selection.ts';
import { startDebianPostgres } from './debian.ts';
import { startRedis } from './redis.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** As the owner of the tests' databases. */
    postgresUrl: string;
    postgresSuperuserUrl: string;
    /** Empty where there is no Redis. */
    redisUrl: string;
  }
}

/** Each test file clones a database and drops it, all of which would wait for the disk; no test crashes the machine. */
const settings = { fsync: 'off', full_page_writes: 'off', wal_compression: 'off' };

/**
 * The stores of one test run on one Postgres: the embedded or Debian's (by the name of the project), and a Redis with a
 * database for each world; gone with it unless a failed test left a database.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
  const isDebian = project.name === 'debian';
  const postgres = isDebian
    ? await startDebianPostgres(folder, settings)
    : await startPostgres({ dataDir: folder, log: createLog('warn'), settings });
  const server = redis.isThere() ? startRedis({ args: ['--databases', '4000'] }) : undefined;
  const redisServer = await server?.catch(async (error: unknown) => {
    await postgres.stop();
    throw error;
  });
  project.provide('postgresUrl', postgres.url);
  project.provide('postgresSuperuserUrl', postgres.superuserUrl);
  project.provide('redisUrl', redisServer?.url ?? '');
  return async () => {
    const kept = await leftDatabases(postgres.url);
    await Promise.all([postgres.stop(), redisServer?.stop()]);
    if (kept.length === 0) await rm(folder, { recursive: true, force: true });
    else if (isDebian) console.error(`kept ${kept.join(' ')} in ${folder}`);
    else console.error(`kept ${kept.join(' ')}; to read: node test/stores/open.ts ${folder}`);
  };
}

async function leftDatabases(url: string): Promise<readonly string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `select datname as name from pg_database where datname like 'test\\_%' order by oid`,
    );
    return rows.map((row) => row.name);
  } finally {
    await client.end();
  }
}
