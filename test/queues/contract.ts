import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { TargetJob } from '../../src/queues/backend.ts';
import { migrateQueues } from '../../src/queues/postgres.ts';
import { createQueues, type Queues, type QueuesOptions } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { openWire } from '../faults/nemesis/proxy.ts';
import { type Backend, redisUrlOf } from '../stores/backends.ts';
import { databaseForTest } from '../stores/databases.ts';
import { conditionTimeoutMs } from '../timeouts.ts';

export const call = (key: string): TargetJob => ({ kind: 'call', key });
export const settled = { timeout: conditionTimeoutMs, interval: 10 };
const timing = { lockDuration: 1_000, stalledInterval: 500 };

/** Tests what queues promise, whichever store they live in. */
export async function testQueuesOn(backend: Backend): Promise<void> {
  const databaseUrl = await databaseForTest(migrateQueues);
  const redisUrl = redisUrlOf(backend);
  const log = createLog('silent');
  let queues: Queues;

  async function openQueues(options: Partial<QueuesOptions> = {}): Promise<Queues> {
    const opened = await createQueues({ redisUrl, databaseUrl, log, ...options });
    await vi.waitUntil(async () => (await opened.health()).isReachable, settled);
    return opened;
  }
  beforeEach(async () => {
    queues = await openQueues({ timing });
    for (const queue of queues.bull) await queue.obliterate({ force: true });
  });
  afterEach(() => queues.close());

  const enqueue = (...keys: readonly string[]) => queues.enqueue('calls', keys.map(call));
  /** Works the queue, one job at a time unless told otherwise; resolves to what was seen. */
  function work(handle: (key: string, signal: AbortSignal) => unknown = () => undefined, concurrency = 1) {
    const seen: string[] = [];
    const worker = queues.work('calls', { concurrency }, async ({ key }, signal) => {
      seen.push(key);
      await handle(key, signal);
    });
    const sees = (count: number) => vi.waitUntil(() => seen.length >= count, settled);
    return { worker, seen, sees };
  }
  /** The jobs that were seen before another one that is enqueued now. */
  async function seenBeforeNext({ seen, sees }: ReturnType<typeof work>): Promise<string[]> {
    const count = seen.length;
    await enqueue('last');
    await sees(count + 1);
    await vi.waitUntil(() => seen.includes('last'), settled);
    return seen.filter((key) => key !== 'last');
  }

  test('forgets the job of a target among many that wait, however long a round trip takes', async () => {
    await enqueue(...Array.from({ length: 300 }, (_, at) => String(at)));
    const wire = await openWire(Number(new URL(redisUrl ?? databaseUrl).port), onTestFinished);
    const through = redisUrl ? { redisUrl: wire.through(redisUrl) } : { databaseUrl: wire.through(databaseUrl) };
    const far = await openQueues(through);
    onTestFinished(() => far.close());
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
    await enqueue('nul\0', 'half \ud83d', 'good');
    const { seen, sees } = work();
    await sees(3);
    expect(seen.sort()).toEqual(['good', 'half \ufffd', 'nul\ufffd']);
  });

  test('a waiting target that is enqueued ten times is handled once', async () => {
    for (let at = 0; at < 10; at += 1) await enqueue('a');
    expect(await queues.waiting('calls')).toBe(1);
    expect(await seenBeforeNext(work())).toEqual(['a']);
  });

  test('a target enqueued again while it is handled is handled exactly once more, and never twice at a time', async () => {
    const gate = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    const working = work(async () => {
      running += 1;
      most = Math.max(most, running);
      await gate.promise;
      running -= 1;
    }, 8);
    await enqueue('a');
    await working.sees(1);
    for (let at = 0; at < 20; at += 1) await enqueue('a');
    gate.resolve();
    await working.sees(2);
    expect(await seenBeforeNext(working)).toEqual(['a', 'a']);
    expect(most).toBe(1);
  });

  test('a target enqueued after it was handled is handled again', async () => {
    const { seen, sees } = work();
    for (let time = 1; time <= 3; time += 1) {
      await enqueue('a');
      await sees(time);
      // The job leaves the store a moment after its handler; until then it would be no new job.
      await vi.waitUntil(async () => (await queues.bull[1]?.getActiveCount()) === 0, settled);
    }
    expect(seen).toEqual(['a', 'a', 'a']);
  });

  test('a handler that rejects holds up neither its own target nor others', async () => {
    let isFirst = true;
    const { seen, sees } = work(() => {
      if (!isFirst) return;
      isFirst = false;
      throw new Error('refused');
    });
    await enqueue('a');
    await enqueue('b');
    await sees(2);
    await enqueue('a');
    await sees(3);
    expect(seen).toEqual(['a', 'b', 'a']);
  });

  test('enqueues 1,200 jobs in one call, each target once', async () => {
    await enqueue(...Array.from({ length: 1_200 }, (_, at) => String(at % 1_000)));
    expect(await queues.waiting('calls')).toBe(1_000);
    const seen = new Set<string>();
    // With the locks of a deployment: a busy machine loses locks of a second, and works the same jobs again and again.
    const deployed = await openQueues();
    onTestFinished(() => deployed.close());
    deployed.work('calls', {}, async (job) => void seen.add(job.key));
    await vi.waitUntil(() => seen.size === 1_000, settled);
  });

  test('many may enqueue the same targets at once, in any order', async () => {
    const keys = Array.from({ length: 100 }, (_, at) => `c${at}`);
    /** A slow machine may miss the time that a producer waits; an error of the store is none of that. */
    const patiently = async (some: readonly string[]): Promise<void> =>
      enqueue(...some).catch((error: Error) => {
        if (!error.message.includes('did not answer within')) throw error;
        return patiently(some);
      });
    await Promise.all(Array.from({ length: 20 }, (_, at) => patiently(at % 2 ? keys : keys.toReversed())));
    expect(await queues.waiting('calls')).toBe(100);
  });

  test('closing a worker waits for the handler that runs, and takes no more', async () => {
    const gate = Promise.withResolvers<void>();
    const { worker, seen, sees } = work(() => gate.promise);
    await enqueue('a', 'b');
    await sees(1);
    let isClosed = false;
    const closing = worker.close(10_000).then(() => {
      isClosed = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(isClosed).toBe(false);
    gate.resolve();
    await closing;
    expect(seen).toEqual(['a']);
    expect(await queues.waiting('calls')).toBe(1);
  });

  test('a worker aborts at its deadline a handler that does not end, and leaves its job and the next ones to another', async () => {
    const gate = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const stuck = work((_key, signal) => {
      signal.addEventListener('abort', () => aborted.resolve());
      return gate.promise;
    });
    await enqueue('a');
    await stuck.sees(1);
    await stuck.worker.close(200);
    await aborted.promise;
    const later = work();
    await enqueue('b');
    await later.sees(2);
    gate.resolve();
    expect(later.seen.sort()).toEqual(['a', 'b']);
  });

  test('a process ends by itself after it closed its queues', async () => {
    const script = fileURLToPath(new URL('idle-process.ts', import.meta.url));
    const child = spawn('node', [script, redisUrl ?? '', databaseUrl], { stdio: ['ignore', 'inherit', 'inherit'] });
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('says what it runs on, and finds nothing to warn of', async () => {
    expect(await queues.health()).toEqual({ backend, isReachable: true });
    work();
    expect(queues.connections()).toBe(backend === 'redis' ? 0 : 6);
  });
}
