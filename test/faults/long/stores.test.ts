import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { describe, expect, test } from 'vitest';
import { backends } from '../../stores/backends.ts';
import { type Deployment, deploy } from '../deployment/deployment.ts';
import { startLoad } from '../load/load.ts';
import { isAccepted } from '../load/sender.ts';
import type { Trap } from '../nemesis/trap.ts';
import type { Wires } from '../nemesis/wires.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

test('goes on accepting while Redis is out of memory, and mirrors all of it afterwards', async ({ onTestFinished }) => {
  const deployment = await deploy({ backend: 'redis' }, onTestFinished);
  const load = await startLoad(deployment, createRandom('out of memory'), onTestFinished);
  const client = new Redis(deployment.redis?.url ?? '');
  onTestFinished(() => client.disconnect());
  await load.isAccepted(5);
  await client.config('SET', 'maxmemory', '1mb');
  await expect(client.set('probe', 'x')).rejects.toThrow('OOM');
  const during = await load.sentDuring(() => load.isAccepted(30));
  await client.config('SET', 'maxmemory', '0');
  await load.finish();
  expect(during.filter(({ status }) => status !== 202)).toEqual([]);
  await expectNothingLost(deployment, load);
});

test('goes on accepting while Redis hangs, and mirrors all of it when Redis answers again', async ({
  onTestFinished,
}) => {
  const deployment = await deploy({ backend: 'redis' }, onTestFinished);
  const load = await startLoad(deployment, createRandom('hang'), onTestFinished);
  onTestFinished(() => deployment.redis?.thaw());
  await load.isAccepted(3);
  await deployment.redis?.freeze();
  const during = await load.sentDuring(() => load.isAccepted(30));
  await deployment.redis?.thaw();
  await load.finish();
  expect(during.filter((each) => !isAccepted(each))).toEqual([]);
  await expectNothingLost(deployment, load);
});

describe.each(backends)('on %s', (backend) => {
  test('answers 503 while Postgres is read-only, and loses nothing', async ({ onTestFinished }) => {
    const deployment = await deploy({ backend }, onTestFinished);
    const load = await startLoad(deployment, createRandom(`read-only ${backend}`), onTestFinished);
    await load.isAccepted(5);
    await readOnly(deployment, 'on');
    await load.isRefused(10);
    expect(new Set(load.sender.sent.slice(-5).map(({ status }) => status))).toEqual(new Set([503]));
    await readOnly(deployment, 'off');
    await load.isAccepted(3);
    await load.finish();
    await expectNothingLost(deployment, load);
  });

  test('loses nothing when no connection to Postgres is to be had', async ({ onTestFinished }) => {
    const deployment = await deploy({ backend }, onTestFinished);
    const load = await startLoad(deployment, createRandom(`no connections ${backend}`), onTestFinished);
    await load.isAccepted(5);
    await allowConnections(deployment, 0);
    await load.isRefused(5);
    await allowConnections(deployment, -1);
    await load.isAccepted(3);
    await load.finish();
    await expectNothingLost(deployment, load);
  });

  test('loses nothing when every connection of its pool waits', async ({ onTestFinished }) => {
    const deployment = await deploy({ backend }, onTestFinished);
    const load = await startLoad(deployment, createRandom(`pool ${backend}`), onTestFinished);
    await load.isAccepted(5);
    const holder = new Client({ connectionString: deployment.postgres.url });
    await holder.connect();
    await holder.query('begin; lock table ops.deliveries, ops.sync_targets in access exclusive mode');
    await sleep(8_000);
    await holder.end();
    await load.isAccepted(10);
    await load.finish();
    await expectNothingLost(deployment, load);
  });

  test('loses nothing while Postgres is slow', async ({ onTestFinished }) => {
    const deployment = await deploy({ backend, isWired: true }, onTestFinished);
    const { webToPostgres, workerToPostgres } = deployment.wires as Wires;
    const load = await startLoad(deployment, createRandom(`slow ${backend}`), onTestFinished);
    for (const wire of [webToPostgres, workerToPostgres]) wire.delay(120);
    await load.isAccepted(30);
    for (const wire of [webToPostgres, workerToPostgres]) wire.delay(0);
    await load.finish();
    await expectNothingLost(deployment, load);
  });

  test('loses and doubles nothing when connections are cut after COMMIT', async ({ onTestFinished }) => {
    const deployment = await deploy({ backend, isWired: true }, onTestFinished);
    const wires = deployment.wires as Wires;
    const load = await startLoad(deployment, createRandom(`cut ${backend}`), onTestFinished);
    for (let time = 0; time < 10; time += 1) {
      await cutAt(wires, 'webToPostgres', { words: 'accept-deliveries', when: 'unanswered' });
      await cutAt(wires, 'workerToPostgres', { words: 'commit\0', when: 'unanswered' });
    }
    await load.isAccepted(3);
    await load.finish();
    expect(load.sender.sent.filter(({ status }) => status === 503).length).toBeGreaterThan(0);
    await expectNothingLost(deployment, load);
  });

  test('loses nothing when any wire is cut, again and again', async ({ onTestFinished }) => {
    const deployment = await deploy({ backend, isWired: true }, onTestFinished);
    const random = createRandom(`wires ${backend}`);
    const wires = deployment.wires as Wires;
    const load = await startLoad(deployment, random, onTestFinished);
    for (let time = 0; time < 30; time += 1) {
      random.pick(Object.values(wires)).cut();
      await sleep(random.between(50, 400));
    }
    await load.isAccepted(3);
    await load.finish();
    await expectNothingLost(deployment, load);
  });
});

function cutAt(wires: Wires, wire: keyof Wires, trap: Trap): Promise<void> {
  return new Promise((resolve) => wires[wire].set(trap, resolve));
}

function readOnly({ postgres }: Deployment, value: 'on' | 'off'): Promise<void> {
  return postgres.run(
    'set default_transaction_read_only = off',
    `alter system set default_transaction_read_only = ${value}`,
    'select pg_reload_conf()',
  );
}

/** How many connections the daemon may have, without a limit by -1; those above it are ended. */
async function allowConnections({ postgres }: Deployment, limit: 0 | -1): Promise<void> {
  const owner = decodeURIComponent(new URL(postgres.url).username);
  await postgres.run(`alter role ${escapeIdentifier(owner)} connection limit ${limit}`);
  if (limit !== 0) return;
  const end = `select pg_terminate_backend(pid) from pg_stat_activity where usename = ${escapeLiteral(owner)}`;
  // One that was being opened under the old limit is listed a moment later.
  await postgres.run(end, 'select pg_sleep(1)', end);
}
