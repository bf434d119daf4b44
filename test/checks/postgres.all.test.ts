import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MIGRATION_ADVISORY_LOCK_KEY } from 'bullmq';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { findings } from '../../src/checks/checks.ts';
import { migrateAll } from '../../src/migrations.ts';
import { createLog } from '../../src/shared/log.ts';
import { runInProcess } from '../cli/in-process.ts';
import { databaseForTest, dropDatabase, superuserUrlOf } from '../stores/databases.ts';
import { captureLog } from '../world/log.ts';
import { createWorld, type World } from '../world.ts';

const silent = createLog('silent');

/** A session of another program, as a role that Postgres lets do anything, which a BI role need not be. */
async function otherProgram(url: string, name: string): Promise<Client> {
  const client = new Client({ connectionString: superuserUrlOf(url), application_name: name });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

async function idle(options: Partial<Parameters<typeof createWorld>[0]> = {}): Promise<World> {
  const world = await createWorld({ backend: 'redis', workers: null, ...options });
  onTestFinished(() => world.close());
  return world;
}

test('a release waits for an advisory lock of the queue library, and names who holds it', async () => {
  const url = await databaseForTest();
  const dashboard = await otherProgram(url, 'a dashboard');
  const libraryLock = `select pg_advisory_lock(${MIGRATION_ADVISORY_LOCK_KEY}, hashtext('bullmq'))`;
  await dashboard.query(libraryLock);
  const captured = captureLog();
  const migrating = migrateAll(url, captured.log);
  await expect.poll(captured.text).toContain('a dashboard, pid');
  expect(captured.text()).toContain('pg_terminate_backend');
  await dashboard.query('select pg_advisory_unlock_all()');
  await migrating;
  await dashboard.query(libraryLock);
  await migrateAll(url, silent);
});

/** A folder of its own small disk, for the user that Postgres runs as; undefined where none can be mounted. */
async function smallDisk(url: string): Promise<string | undefined> {
  const server = await otherProgram(url, 'disk');
  const { rows } = await server.query(`select current_setting('data_directory') as folder`);
  const { uid, gid } = statSync(rows[0].folder);
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=64m,uid=${uid},gid=${gid},mode=700`, 'tmpfs', folder], {
      stdio: 'ignore',
    });
  } catch {
    return undefined;
  }
  onTestFinished(() => {
    execFileSync('umount', ['-l', folder]);
    rmdirSync(folder);
  });
  return folder;
}

test('a full disk is named by status, doctor and alerts, ahead of all else', async ({ skip }) => {
  const place = new URL(await databaseForTest());
  const folder = await smallDisk(place.href);
  if (folder === undefined) return skip('no disk can be mounted here');
  const name = `small_${process.pid}_${Date.now()}`;
  const superuser = await otherProgram(place.href, 'disk');
  await superuser.query(`create tablespace ${name} location '${folder}'`);
  onTestFinished(async () => {
    await superuser.query(`drop tablespace ${name}`);
  });
  await superuser.query(
    `create database ${name} owner ${decodeURIComponent(place.username)} tablespace ${name} template template0`,
  );
  onTestFinished(() => dropDatabase(name));
  place.pathname = `/${name}`;
  await migrateAll(place.href, silent);
  const world = await idle({ databaseUrl: place.href });
  await world.query('create table ops.filler (bytes text)');
  const fill = async () => {
    for (;;) await world.query(`insert into ops.filler select repeat(md5(n::text), 30) from generate_series(1, 500) n`);
  };
  await expect(fill()).rejects.toMatchObject({ code: '53100' });
  expect((await findings(world.context))[0]).toMatchObject({
    check: 'database_takes_no_writes',
    level: 'problem',
  });
  const doctor = await runInProcess(
    { DATABASE_URL: place.href, WEBHOOK_SECRET: 'a-secret-of-the-disk-0123456' },
    'doctor',
  );
  expect(doctor.code).toBe(1);
  expect(doctor.out).toContain('The disk of Postgres is full');
});
