import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { describe, expect, test } from 'vitest';
import { type Backend, backends } from '../../stores/backends.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { loseJobs } from '../deployment/stores.ts';
import { createProgress, report, sized } from '../figures.ts';
import { isAccepted } from '../load/sender.ts';
import { surviveUnderLoad, type UnderLoad } from '../load/survive.ts';
import type { OnOpen } from '../nemesis/proxy.ts';
import type { Trap } from '../nemesis/trap.ts';
import type { Wires } from '../nemesis/wires.ts';

type Break = (deployment: UnderLoad) => Promise<void>;

/** What is done to a store, while deliveries go on. */
const redisFaults: Readonly<Record<string, Break>> = {
  async 'goes on accepting while Redis is out of memory, and mirrors all of it afterwards'({ redis, load }) {
    const client = new Redis(redis?.url ?? '');
    await load.isAccepted(5);
    await client.config('SET', 'maxmemory', '1mb');
    await expect(client.set('probe', 'x')).rejects.toThrow('OOM');
    const during = await load.sentDuring(() => load.isAccepted(30));
    await client.config('SET', 'maxmemory', '0');
    client.disconnect();
    expect(during.filter(({ status }) => status !== 202)).toEqual([]);
  },
  async 'goes on accepting while Redis hangs, and mirrors all of it when Redis answers again'({ redis, load }) {
    await load.isAccepted(3);
    await redis?.freeze();
    const during = await load.sentDuring(() => load.isAccepted(30)).finally(() => redis?.thaw());
    expect(during.filter((each) => !isAccepted(each))).toEqual([]);
  },
};

const postgresFaults: Readonly<Record<string, Break>> = {
  async 'answers 503 while Postgres is read-only, and loses nothing'(deployment) {
    const { load } = deployment;
    await load.isAccepted(5);
    await readOnly(deployment, 'on');
    await load.isRefused(10);
    expect(new Set(load.sender.sent.slice(-5).map(({ status }) => status))).toEqual(new Set([503]));
    await readOnly(deployment, 'off');
  },
  async 'loses nothing when no connection to Postgres is to be had'(deployment) {
    await deployment.load.isAccepted(5);
    await allowConnections(deployment, 0);
    await deployment.load.isRefused(5);
    await allowConnections(deployment, -1);
  },
  async 'loses nothing when every connection of its pool waits'({ load, postgres }) {
    await load.isAccepted(5);
    const holder = new Client({ connectionString: postgres.url });
    await holder.connect();
    await holder.query('begin; lock table ops.deliveries, ops.sync_targets in access exclusive mode');
    await sleep(8_000);
    await holder.end();
    await load.isAccepted(7);
  },
};

const wireFaults: Readonly<Record<string, Break>> = {
  async 'loses nothing while Postgres is slow'({ load, wires: { webToPostgres, workerToPostgres } }) {
    for (const wire of [webToPostgres, workerToPostgres]) wire.delay(120);
    await load.isAccepted(30);
    for (const wire of [webToPostgres, workerToPostgres]) wire.delay(0);
  },
  async 'loses and doubles nothing when connections are cut after COMMIT'({ load, wires }) {
    for (let time = 0; time < 10; time += 1) {
      await cutAt(wires, 'webToPostgres', { words: 'accept-deliveries', when: 'unanswered' });
      await cutAt(wires, 'workerToPostgres', { words: 'commit\0', when: 'unanswered' });
    }
    expect(load.sender.sent.filter(({ status }) => status === 503).length).toBeGreaterThan(0);
  },
  async 'loses nothing when any wire is cut, again and again'({ wires, random }) {
    for (let time = 0; time < 30; time += 1) {
      random.pick(Object.values(wires)).cut();
      await sleep(random.between(50, 400));
    }
  },
};

test.for(Object.entries(redisFaults))('%s', async ([name, breaks], { onTestFinished }) => {
  await surviveUnderLoad(name, { backend: 'redis' }, onTestFinished, breaks);
});

describe.each(backends)('on %s', (backend) => {
  test.for(Object.entries(postgresFaults))('%s', async ([name, breaks], { onTestFinished }) => {
    await surviveUnderLoad(name, { backend }, onTestFinished, breaks);
  });

  test.for(Object.entries(wireFaults))('%s', async ([name, breaks], { onTestFinished }) => {
    await surviveUnderLoad(name, { backend, isWired: true }, onTestFinished, breaks);
  });
});

/* Campaigns: a store is lost again and again. */

const limit = 3_600_000;

describe.each(backends)('again and again, on %s', (backend) => {
  test('loses nothing when Postgres crashes', { timeout: limit }, async ({ onTestFinished }) => {
    await campaign('postgres-crashes', backend, sized(50), onTestFinished, ({ postgres, ...deployment }) =>
      killForAMoment(postgres, deployment),
    );
  });

  test('loses nothing when all jobs are lost', { timeout: limit }, async ({ onTestFinished }) => {
    await campaign('lost-jobs', backend, sized(10), onTestFinished, loseJobs);
  });
});

test('loses nothing when Redis is killed again and again', { timeout: limit }, async ({ onTestFinished }) => {
  await campaign('redis-kills', 'redis', sized(50), onTestFinished, ({ redis, ...deployment }) =>
    killForAMoment(redis, deployment),
  );
});

async function killForAMoment(store: Deployment['postgres' | 'redis'], { random }: Pick<UnderLoad, 'random'>) {
  await store?.crash();
  await sleep(random.between(0, 400));
  await store?.start();
}

async function campaign(name: string, backend: Backend, times: number, onOpen: OnOpen, strike: Break): Promise<void> {
  const began = performance.now();
  const progress = createProgress(`${name} on ${backend}`);
  const load = await surviveUnderLoad(name, { backend }, onOpen, async (deployment) => {
    for (let time = 0; time < times; time += 1) {
      await deployment.load.isAccepted(deployment.random.between(1, 5));
      await strike(deployment);
      progress(() => `${time + 1} of ${times}`);
    }
  });
  const accepted = await load.accepted();
  report(name, backend, `${times} times under load, ${accepted.length} deliveries accepted`, began);
}

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
