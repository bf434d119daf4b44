import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, inject, test } from 'vitest';
import { migrateAll } from '../../src/migrations.ts';
import { createLog } from '../../src/shared/log.ts';
import { program } from '../program.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated, migratedDatabase } from '../world/database.ts';
import { awayFrom } from './away.ts';

const databaseUrl = await databaseForTest(migrated);
const secret = 'a-secret-of-the-arrivals-0123456';
const start = (name: string, DATABASE_URL: string, REDIS_URL = '', ...flags: string[]) => {
  const api = { API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'of-nobody' };
  return program([name, ...flags], { ...api, WEBHOOK_SECRET: secret, PORT: '0', REDIS_URL, DATABASE_URL });
};
const waiting = 'Waiting for Postgres';
const lacks = 'The database lacks migrations of this release: run `npx trunkline migrate`.';
const count = (text: string, words: string) => text.split(words).length - 1;

const processes = [
  ['web', ''],
  ['worker', ''],
  ['worker', inject('redisUrl')],
] as const;

test.each(processes)(
  '%s with REDIS_URL=%s waits for a Postgres that is away, and starts when it is there',
  async (name, redis) => {
    const place = await awayFrom(databaseUrl);
    const command = start(name, place.url, redis, '--json');
    await expect.poll(command.err).toContain(waiting);
    await sleep(1_000);
    expect(count(command.err(), waiting)).toBe(1);
    expect(command.process.exitCode).toBeNull();
    await place.letIn();
    await expect.poll(command.out).toContain('\n');
    expect(command.err()).toContain('Postgres accepts connections now');
    expect(await command.stop()).toBe(0);
  },
);

test.each(processes)(
  '%s with REDIS_URL=%s that waits for Postgres ends with 0 when it is told to stop',
  async (name, redis) => {
    const command = start(name, (await awayFrom(databaseUrl)).url, redis);
    await expect.poll(command.err).toContain(waiting);
    expect(await command.stop()).toBe(0);
  },
);

describe('a database that lacks migrations', () => {
  /** A migrated database from whose list one migration is taken, and the way to put it back. */
  async function lacking() {
    const database = await migratedDatabase();
    const [row] = await database.query(
      `delete from ops.migrations where name = (select max(name) from ops.migrations) returning name, text_hash`,
    );
    const catchUp = () =>
      database.query('insert into ops.migrations (name, text_hash) values ($1, $2)', row?.name, row?.text_hash);
    return { ...database, catchUp };
  }

  test.each(['', inject('redisUrl')])(
    'keeps a worker with REDIS_URL=%s from work, which says so and goes on by itself',
    async (redis) => {
      await using database = await lacking();
      const command = start('worker', database.url, redis, '--json');
      await expect.poll(command.err).toContain(lacks);
      // Several of its looks later it has said so once, has not reported itself, and has asked for nothing to be read.
      await sleep(3_000);
      expect(count(command.err(), lacks)).toBe(1);
      const worked = 'select from ops.processes union all select from ops.sync_targets';
      expect(await database.query(worked)).toEqual([]);
      await database.catchUp();
      await expect.poll(command.out).toContain('"connections"');
      expect(await command.stop()).toBe(0);
    },
  );

  test('or all of them: the worker starts once they are applied', async () => {
    const url = await databaseForTest();
    const command = start('worker', url, '', '--json');
    await expect.poll(command.err).toContain(lacks);
    await migrateAll(url, createLog('silent'));
    await expect.poll(command.out).toContain('"connections"');
  });

  test('ends a worker that waits with 0 when it is told to stop', async () => {
    await using database = await lacking();
    const command = start('worker', database.url);
    await expect.poll(command.err).toContain(lacks);
    expect(await command.stop()).toBe(0);
  });

  test('is told by a web that is not ready, stores what it can, and is ready once they are there', async () => {
    await using database = await lacking();
    const command = start('web', database.url, inject('redisUrl'), '--json');
    await expect.poll(command.out).toContain('\n');
    await expect.poll(command.err).toContain(lacks);
    const { url: at } = JSON.parse(command.out()) as { url: string };
    const ready = async () => (await fetch(`${at}/readyz`)).status;
    expect(await ready()).toBe(503);
    // Its tables are those of this release: what can be stored is stored.
    expect((await fetch(`${at}/hooks/${secret}/AccountSMS`, { method: 'POST', body: '{}' })).status).toBe(202);
    await database.catchUp();
    await expect.poll(ready).toBe(200);
    await expect.poll(command.err).toContain('has all migrations of this release now');
    expect(count(command.err(), lacks)).toBe(1);
  });

  test('is not one that a newer release has migrated', async () => {
    await using database = await migratedDatabase();
    await database.query(`insert into ops.migrations (name, text_hash) values ('9999_of_tomorrow', '')`);
    const command = start('worker', database.url, '', '--json');
    await expect.poll(command.out).toContain('"connections"');
    expect(command.err()).not.toContain(lacks);
  });
});
