import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { queueSettings } from '../../config/queues.ts';
import { claimDue } from '../../src/inbox/claims.ts';
import type { Target } from '../../src/inbox/targets.ts';
import { backends } from '../stores/backends.ts';
import { callId, shownCall } from '../sync/call-service.ts';
import { type OddService, startOddService } from '../world/service.ts';
import { createWorld, until, type World } from '../world.ts';

/** Twice as many as may read at a time, and few enough that a loaded machine reads a backlog within its leases. */
const jobs = 2 * queueSettings.calls.reads;
/** More than can be in hand, so that somebody has to go on. */
const backlog = 3 * jobs;

const stages = new Map<string, { service: OddService; world: World }>();
for (const backend of backends) {
  const service = await startOddService();
  const api = { url: service.url, key: 'key-of-the-backlog' };
  stages.set(backend, { service, world: await createWorld({ backend, api, workers: null }) });
}
afterAll(async () => {
  for (const { world, service } of stages.values()) {
    await world.close();
    await service[Symbol.asyncDispose]();
  }
});

const shows: OddService['answer'] = ({ path }) => {
  const [, list, id] = path.split('/');
  if (list !== 'calls' || id === undefined) return { data: [] };
  return { data: shownCall(id, { recorded: false, status: 'missed' }) };
};

describe.each(backends)('on %s', (backend) => {
  const { service, world } = stages.get(backend) as { service: OddService; world: World };
  const { query, value } = world;
  const { database, queues } = world.context;
  const pending = () =>
    value(`select count(*)::integer from ops.sync_targets where kind = 'call' and dirty_version > clean_version`);
  const settled = () => until(async () => (await pending()) === 0);

  /** Calls that are due, as web leaves them when it has enqueued for them. */
  async function due(count: number): Promise<Target[]> {
    await query('truncate ops.sync_targets');
    const calls = Array.from({ length: count }, () => ({ kind: 'call', key: callId() }) as const);
    await query(
      `insert into ops.sync_targets (kind, key, due_at, enqueued_at)
       select 'call', key, now(), now() + interval '1 hour' from unnest($1::text[]) key`,
      calls.map(({ key }) => key),
    );
    service.asked.length = 0;
    return calls;
  }
  async function work() {
    const workers = await world.work({ queues: ['calls'] });
    onTestFinished(() => workers.close(2_000));
    return workers;
  }
  const enqueue = (calls: readonly Target[]) => queues.enqueue('calls', calls);
  const isAnswered = async () => (await queues.waiting('calls')) === 0;
  /** The reads of calls, without those that recognize the account. */
  const asked = () => service.asked.map(({ path }) => path).filter((path) => path.startsWith('/calls/'));

  test('a backlog is read without a job for each, every call once', async () => {
    service.answer = shows;
    const calls = await due(backlog);
    await enqueue(calls.slice(0, jobs));
    await work();
    await settled();
    expect([asked().length, new Set(asked()).size]).toEqual([backlog, backlog]);
    await enqueue(calls);
    await until(isAnswered);
    expect(asked()).toHaveLength(backlog);
  });

  test('what is no backlog waits for its jobs', async () => {
    service.answer = shows;
    const calls = await due(10);
    await work();
    await enqueue(calls.slice(0, 1));
    await until(async () => (await pending()) === 9 && (await isAnswered()));
    await enqueue(calls.slice(1));
    await settled();
    expect(asked()[0]).toBe(`/calls/${calls[0]?.key}`);
    expect(asked()).toHaveLength(10);
  });

  test('workers that close leave the rest of a backlog to others, and nothing is read twice', async () => {
    service.answer = async (one) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return shows(one);
    };
    const calls = await due(backlog);
    await enqueue(calls.slice(0, jobs));
    const workers = await work();
    await until(() => asked().length > jobs / 2);
    await workers.close(5_000);
    expect(await pending()).toBeGreaterThan(0);
    await enqueue(calls.slice(-jobs));
    await work();
    await settled();
    expect(asked()).toHaveLength(backlog);
  });

  test('a call whose read takes longer than its lease is kept from others all the same', async () => {
    const [slow] = await due(1);
    const answered = Promise.withResolvers<void>();
    service.answer = async (one) => {
      await answered.promise;
      return shows(one);
    };
    await work();
    await enqueue(slow ? [slow] : []);
    await until(() => asked().length > 0);
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(await claimDue(database.db, ['call'], 1)).toEqual([]);
    answered.resolve();
    await settled();
    expect(asked()).toHaveLength(1);
  });

  // The last: the service is given a rest afterwards.
  test('nobody goes on while the service fails', async () => {
    service.answer = () => ({ status: 500, body: 'no' });
    const calls = await due(backlog);
    await enqueue(calls.slice(0, jobs));
    await work();
    await until(isAnswered);
    const claimed = 'select count(*)::integer from ops.sync_targets where claimed_until > now()';
    await until(async () => (await value(claimed)) === 0);
    const tried = 'select count(*)::integer from ops.sync_targets where claimed_version > 0';
    expect(await value(tried)).toBeLessThanOrEqual(jobs);
  });
});
