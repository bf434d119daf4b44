import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { shareConnections } from '../../src/db/connection-limits.ts';
import { createDatabase as openPool, query } from '../../src/db/database.ts';
import { describeRefusal } from '../../src/db/refusals.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { createLog } from '../../src/shared/log.ts';
import { program } from '../program.ts';
import { backends } from '../stores/backends.ts';
import { databaseForTest, superuserUrlOf } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';

const silent = createLog('silent');
const secret = 'a-secret-of-the-small-plans-0123';

/** A migrated database, a role that may do what its owner may on so many connections, and a superuser's session in it. */
async function smallPlan(connections: number) {
  const role = `small_${randomBytes(6).toString('hex')}`;
  const url = new URL(await databaseForTest(migrated));
  const superuser = new Client({ connectionString: superuserUrlOf(url.href) });
  await superuser.connect();
  onTestFinished(() => superuser.end());
  // Never dropped: the role ends with the server of the test run, and what it owns with the database.
  await superuser.query(
    `create role ${role} login connection limit ${connections} password 'small' in role ${decodeURIComponent(url.username)}`,
  );
  url.username = role;
  url.password = 'small';
  const held = async () => {
    const { rows } = await superuser.query(
      'select count(*)::integer as held from pg_stat_activity where usename = $1',
      [role],
    );
    return rows[0].held as number;
  };
  return { url: url.href, role, superuser, held };
}

const shapes = backends.flatMap((queues) =>
  [
    { receives: true, works: false },
    { receives: false, works: true },
    { receives: true, works: true },
  ].map((process) => ({ queues, ...process })),
);

test.each(shapes)('the shares of %o are no more than the whole, and enough for each part', (process) => {
  const isStart = process.receives && process.works;
  for (const total of [8, 9, 10, 25].map((size) => (isStart ? 2 * size : size))) {
    const { main, producers, jobs } = shareConnections(total, process);
    expect(main).toBeGreaterThanOrEqual(2);
    const others = (process.receives ? 5 : 0) + (process.works ? 1 : 0);
    const isListening = process.works && process.queues === 'postgres';
    expect(main + producers + jobs + others + (isListening ? 1 : 0)).toBe(total);
    expect(jobs > 0).toBe(isListening);
  }
});

test.each(backends)('with queues in %s, web and worker at work keep within a plan of 20', async (backend) => {
  const { url, held } = await smallPlan(20);
  const sandbox = await createSandbox({ calls: 0, threads: 0 });
  onTestFinished(sandbox.close);
  const environment = {
    API_BASE_URL: sandbox.url,
    API_KEY: sandbox.apiKey,
    DATABASE_URL: url,
    REDIS_URL: backend === 'redis' ? `${inject('redisUrl')}/3997` : '',
    WEBHOOK_SECRET: secret,
    PORT: '0',
  };
  const web = program(['web', '--json'], environment);
  const worker = program(['worker', '--json'], environment);
  await expect.poll(web.out).toContain('\n');
  await expect.poll(worker.out).toContain('\n');
  expect(JSON.parse(worker.out())).toMatchObject({ connections: 9 });
  const { url: receiver } = JSON.parse(web.out());
  const probe = openPool({ url, log: silent, maxConnections: 1, name: 'probe' });
  const mirrored = async () =>
    (await query<{ n: number }>(probe.db, 'select count(*)::integer as n from warehouse.calls', []))[0]?.n;
  let most = 0;
  const watching = setInterval(() => void held().then((count) => (most = Math.max(most, count))), 20);
  try {
    const calls = await Promise.all(Array.from({ length: 150 }, () => sandbox.emit.call()));
    await Promise.all(
      calls.map(({ id }) =>
        fetch(`${receiver}/hooks/${secret}/AccountEndedCalls`, {
          method: 'POST',
          body: JSON.stringify({ callid: id }),
        }),
      ),
    );
    await expect.poll(mirrored).toBe(150);
  } finally {
    clearInterval(watching);
    await probe[Symbol.asyncDispose]();
  }
  // The probe is one more.
  expect(most).toBeLessThanOrEqual(19);
  expect(web.err() + worker.err()).not.toContain('refused');
  const doctor = program(['doctor', '--json'], environment);
  await doctor.ended;
  expect(doctor.out()).toContain('"subject":"Postgres"');
  expect(doctor.out()).not.toContain('1 web and 1 worker open up to 18 connections');
});

test.each(['web', 'worker'])('%s waits and retries when it gets a first connection and no others', async (name) => {
  const { url, role, superuser } = await smallPlan(20);
  await superuser.query(`alter role ${role} connection limit 1`);
  const environment = { API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'of-nobody', DATABASE_URL: url, REDIS_URL: '' };
  const command = program([name, '--json'], { ...environment, WEBHOOK_SECRET: secret, PORT: '0' });
  await expect.poll(command.err).toContain('Waiting for Postgres');
  expect(command.err()).toContain('DATABASE_POOL_SIZE');
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(command.err().match(/Waiting for Postgres/g)).toHaveLength(1);
  expect(command.process.exitCode).toBeNull();
  await superuser.query(`alter role ${role} connection limit 30`);
  await expect.poll(command.out).toContain('\n');
  expect(await command.stop()).toBe(0);
});

test('a limit that is reached is waited for and named, with what helps, in the log, in status and in doctor', async () => {
  const { url, role } = await smallPlan(3);
  const holders = Array.from({ length: 3 }, () => new Client({ connectionString: url }));
  for (const holder of holders) await holder.connect();
  const environment = { API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'of-nobody', DATABASE_URL: url, REDIS_URL: '' };
  const worker = program(['worker', '--json'], { ...environment, REDIS_URL: inject('redisUrl') });
  await expect.poll(worker.err).toContain('Waiting for Postgres');
  expect(worker.err()).toContain(`takes no more connections (too many connections for role \\"${role}\\")`);
  expect(worker.err()).toContain('DATABASE_POOL_SIZE');
  for (const name of ['doctor', 'status']) {
    const command = program([name], { ...environment, REDIS_URL: inject('redisUrl') });
    expect(await command.ended).toBe(1);
    const told = (command.out() + command.err()).replaceAll(/\s+/g, ' ');
    expect(told, name).toContain(`takes no more connections (too many connections for role "${role}")`);
    expect(told, name).toContain('lower their DATABASE_POOL_SIZE');
    expect(told, name).not.toContain('user, password and database');
  }
  for (const holder of holders) await holder.end();
  await expect.poll(worker.out).toContain('\n');
  expect(await worker.stop()).toBe(0);
});

test.each([
  'too many connections for role "app"',
  'too many connections for database "mirror"',
  'sorry, too many clients already',
  'remaining connection slots are reserved for roles with the SUPERUSER attribute',
])('of "%s" it is said what to raise', (message) => {
  const full = describeRefusal(new Error('outer', { cause: Object.assign(new Error(message), { code: '53300' }) }));
  expect(full?.sentence).toContain(message);
  expect(full?.remedy).toMatch(/of the role or database .* by ALTER .*, else max_connections/);
});
