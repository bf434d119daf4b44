import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import type { TargetJob } from '../../src/queues/backend.ts';
import { migrateQueues } from '../../src/queues/postgres.ts';
import { createQueues, type Queues, type QueuesOptions } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { openWire } from '../faults/nemesis/proxy.ts';
import { backends, redisUrlOf } from '../stores/backends.ts';
import { createDatabase, databaseForTest, dropDatabase } from '../stores/databases.ts';
import { conditionTimeoutMs } from '../timeouts.ts';

const databaseUrl = await databaseForTest(migrateQueues);
const otherDatabaseUrl = await databaseForTest(migrateQueues);
const timing = { lockDuration: 1_000, stalledInterval: 500 };
const call = (key: string): TargetJob => ({ kind: 'call', key });
const settled = { timeout: conditionTimeoutMs, interval: 10 };

describe.each(backends)('queues on %s', (backend) => {
  let queues: Queues;

  async function openQueues(options: Pick<QueuesOptions, 'timing'>): Promise<Queues> {
    const log = createLog('silent');
    const opened = await createQueues({ redisUrl: redisUrlOf(backend), databaseUrl, log, ...options });
    await vi.waitUntil(async () => (await opened.health()).isReachable, settled);
    return opened;
  }

  beforeEach(async () => {
    queues = await openQueues({ timing });
    for (const queue of queues.bull) await queue.obliterate({ force: true });
  });

  afterEach(() => queues.close());

  /** A handler that holds each job until it is let go. */
  function gate(): { seen: string[]; release: () => void; handler: (job: TargetJob) => Promise<void> } {
    const seen: string[] = [];
    const open = Promise.withResolvers<void>();
    return {
      seen,
      release: open.resolve,
      handler: async (job) => {
        seen.push(job.key);
        await open.promise;
      },
    };
  }

  async function seesNoMore(seen: readonly string[], count: number): Promise<void> {
    await queues.enqueue('calls', [call('last')]);
    await vi.waitUntil(() => seen.includes('last'), settled);
    expect(seen.filter((key) => key !== 'last')).toHaveLength(count);
  }

  test('forgets the job of a target among many that wait, however long a round trip takes', async () => {
    await queues.enqueue(
      'calls',
      Array.from({ length: 300 }, (_, at) => call(String(at))),
    );
    const redisUrl = redisUrlOf(backend);
    const wire = await openWire(Number(new URL(redisUrl ?? databaseUrl).port), onTestFinished);
    const addresses = redisUrl ? { redisUrl: wire.through(redisUrl) } : { databaseUrl: wire.through(databaseUrl) };
    const far = await createQueues({ redisUrl, databaseUrl, log: createLog('silent'), ...addresses });
    onTestFinished(() => far.close());
    await vi.waitUntil(async () => (await far.health()).isReachable, settled);
    wire.delay(20);
    expect(await far.forget('calls', ({ key }) => key === '7')).toBe(1);
    expect(await queues.waiting('calls')).toBe(299);
  });

  test.each(['18005550100/18455550123', '1783385492.057900', '42', 'a:b', 'Grüße ☎️', 'x'.repeat(500)])(
    'brings the job of %s to its handler',
    async (key) => {
      await queues.enqueue('conversations', [{ kind: 'thread', key }]);
      const seen: TargetJob[] = [];
      queues.work('conversations', {}, async (job) => void seen.push(job));
      await vi.waitUntil(() => seen.length > 0, settled);
      expect(seen).toEqual([{ kind: 'thread', key }]);
    },
  );

  test('one ill-formed key spoils no other job of its call', async () => {
    await queues.enqueue('calls', [call('nul\0'), call('half \ud83d'), call('good')]);
    const seen: string[] = [];
    queues.work('calls', { concurrency: 1 }, async (job) => void seen.push(job.key));
    await vi.waitUntil(() => seen.length === 3, settled);
    expect(seen.sort()).toEqual(['good', 'half \ufffd', 'nul\ufffd']);
  });

  test('a waiting target that is enqueued ten times is handled once', async () => {
    for (let at = 0; at < 10; at += 1) await queues.enqueue('calls', [call('a')]);
    expect(await queues.waiting('calls')).toBe(1);
    const seen: string[] = [];
    queues.work('calls', { concurrency: 1 }, async (job) => void seen.push(job.key));
    await seesNoMore(seen, 1);
  });

  test('a target enqueued again while it is handled is handled exactly once more', async () => {
    const { seen, release, handler } = gate();
    queues.work('calls', { concurrency: 1 }, handler);
    await queues.enqueue('calls', [call('a')]);
    await vi.waitUntil(() => seen.length === 1, settled);
    for (let at = 0; at < 5; at += 1) await queues.enqueue('calls', [call('a')]);
    release();
    await vi.waitUntil(() => seen.length === 2, settled);
    await seesNoMore(seen, 2);
  });

  test('a target is never looked at twice at the same time', async () => {
    let running = 0;
    let most = 0;
    let handled = 0;
    queues.work('calls', { concurrency: 8 }, async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      handled += 1;
    });
    for (let at = 0; at < 20; at += 1) await queues.enqueue('calls', [call('a')]);
    await vi.waitUntil(async () => handled >= 1 && running === 0 && (await queues.waiting('calls')) === 0, settled);
    expect(most).toBe(1);
  });

  test('a target enqueued after it was handled is handled again', async () => {
    const seen: string[] = [];
    queues.work('calls', {}, async (job) => void seen.push(job.key));
    for (let look = 1; look <= 3; look += 1) {
      await queues.enqueue('calls', [call('a')]);
      await vi.waitUntil(() => seen.length === look, settled);
      // The job leaves the store a moment after its handler; until then it would be no new job.
      await vi.waitUntil(async () => (await queues.bull[1]?.getActiveCount()) === 0, settled);
    }
    expect(seen).toEqual(['a', 'a', 'a']);
  });

  test('a handler that rejects holds up neither its own target nor others', async () => {
    const seen: string[] = [];
    queues.work('calls', { concurrency: 1 }, async (job) => {
      seen.push(job.key);
      if (seen.length === 1) throw new Error('refused');
    });
    await queues.enqueue('calls', [call('a')]);
    await queues.enqueue('calls', [call('b')]);
    await vi.waitUntil(() => seen.length === 2, settled);
    await queues.enqueue('calls', [call('a')]);
    await vi.waitUntil(() => seen.length === 3, settled);
    expect(seen).toEqual(['a', 'b', 'a']);
  });

  test('enqueues 1,200 jobs in one call, each target once', async () => {
    const jobs = Array.from({ length: 1_200 }, (_, index) => call(`1783385492.${index % 1_000}`));
    await queues.enqueue('calls', jobs);
    expect(await queues.waiting('calls')).toBe(1_000);
    const seen = new Set<string>();
    // With the locks of a deployment: a busy machine loses locks of a second, and works the same jobs again and again.
    const deployed = await openQueues({});
    onTestFinished(() => deployed.close());
    deployed.work('calls', {}, async (job) => void seen.add(job.key));
    await vi.waitUntil(() => seen.size === 1_000, settled);
  });

  test('many may enqueue the same targets at once, in any order', async () => {
    const jobs = Array.from({ length: 100 }, (_, index) => call(`c${index}`));
    /** A slow machine may miss the time that a producer waits; an error of the store is none of that. */
    const enqueue = async (some: typeof jobs): Promise<void> =>
      queues.enqueue('calls', some).catch((error: Error) => {
        if (!error.message.includes('did not answer within')) throw error;
        return enqueue(some);
      });
    await Promise.all(Array.from({ length: 20 }, (_, turn) => enqueue(turn % 2 ? jobs : jobs.toReversed())));
    expect(await queues.waiting('calls')).toBe(100);
  });

  test('closing a worker waits for the handler that runs, and takes no more', async () => {
    const { seen, release, handler } = gate();
    const worker = queues.work('calls', { concurrency: 1 }, handler);
    await queues.enqueue('calls', [call('a'), call('b')]);
    await vi.waitUntil(() => seen.length === 1, settled);
    let isClosed = false;
    const closing = worker.close(10_000).then(() => {
      isClosed = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(isClosed).toBe(false);
    release();
    await closing;
    expect(seen).toEqual(['a']);
    expect(await queues.waiting('calls')).toBe(1);
  });

  test('closing a worker aborts at its deadline a handler that does not end', async () => {
    const aborted = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const worker = queues.work('calls', {}, async (_bell, signal) => {
      begun.resolve();
      signal.addEventListener('abort', () => aborted.resolve());
      await aborted.promise;
    });
    await queues.enqueue('calls', [call('a')]);
    await begun.promise;
    await worker.close(200);
    await aborted.promise;
  });

  test('a worker given up at its deadline leaves its job, and the next ones, to another in the same process', async () => {
    const { seen, release, handler } = gate();
    const stuck = queues.work('calls', {}, handler);
    await queues.enqueue('calls', [call('a')]);
    await vi.waitUntil(() => seen.length === 1, settled);
    await stuck.close(200);
    const later: string[] = [];
    queues.work('calls', {}, async (job) => void later.push(job.key));
    await queues.enqueue('calls', [call('b')]);
    await vi.waitUntil(() => later.length === 2, settled);
    release();
    expect(later.sort()).toEqual(['a', 'b']);
  });

  test('a process ends by itself after it closed its queues', async () => {
    const child = spawn('node', [script('idle-process.ts'), redisUrlOf(backend) ?? '', databaseUrl], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('says what it runs on, and finds nothing to warn of', async () => {
    expect(await queues.health()).toEqual({ backend, isReachable: true });
    queues.work('calls', {}, async () => {});
    expect(queues.connections()).toBe(backend === 'redis' ? 0 : 6);
  });
});

test('two deployments share a Redis and no job: each database has keys of its own', async () => {
  const open = (url: string) =>
    createQueues({ redisUrl: inject('redisUrl'), databaseUrl: url, log: createLog('silent'), timing });
  await using stack = new AsyncDisposableStack();
  const ours = stack.adopt(await open(databaseUrl), (queues) => queues.close());
  const oursAgain = stack.adopt(await open(databaseUrl), (queues) => queues.close());
  const theirs = stack.adopt(await open(otherDatabaseUrl), (queues) => queues.close());
  const seenByThem: string[] = [];
  theirs.work('calls', {}, async ({ key }) => void seenByThem.push(key));
  await ours.enqueue('calls', [call('of ours')]);
  await theirs.enqueue('calls', [call('of theirs')]);
  await vi.waitUntil(() => seenByThem.length > 0, settled);
  expect(await oursAgain.waiting('calls')).toBe(1);
  const seenByUs: string[] = [];
  oursAgain.work('calls', {}, async ({ key }) => void seenByUs.push(key));
  await vi.waitUntil(() => seenByUs.length > 0, settled);
  expect([seenByThem, seenByUs]).toEqual([['of theirs'], ['of ours']]);
});

test('queues in Redis open once the database can be asked whose they are', async () => {
  const name = `late_${process.pid}_${process.env.VITEST_POOL_ID ?? 0}`;
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  await using stack = new AsyncDisposableStack();
  const queues = stack.adopt(
    await createQueues({ redisUrl: inject('redisUrl'), databaseUrl: url.href, log: createLog('silent'), timing }),
    (each) => each.close(),
  );
  await expect(queues.enqueue('calls', [call('1')])).rejects.toMatchObject({ code: 'queue_unavailable' });
  await expect(queues.open()).rejects.toMatchObject({ code: 'queue_unavailable' });
  await createDatabase(name);
  stack.defer(() => dropDatabase(name));
  await queues.enqueue('calls', [call('1')]);
  expect(await queues.waiting('calls')).toBe(1);
  for (const queue of queues.bull) await queue.obliterate({ force: true });
});

test('opening queues in a database without their schema is refused', async () => {
  await expect(
    createQueues({ redisUrl: undefined, databaseUrl: inject('postgresUrl'), log: createLog('silent') }),
  ).rejects.toThrow(/migrat/i);
});

function script(name: string): string {
  return new URL(name, import.meta.url).pathname;
}
