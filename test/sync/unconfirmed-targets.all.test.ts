import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { maxReferences } from '../../src/webhooks/extract.ts';
import { startOddService } from '../world/service.ts';
import { createWorld, until } from '../world.ts';
import { callId, shownCall } from './call-service.ts';

const service = await startOddService();
const api = { url: service.url, key: 'key-of-the-flood' };
const world = await createWorld({ backend: 'postgres', api, workers: null });
const { query, value } = world;
afterAll(async () => {
  await world.close();
  await service[Symbol.asyncDispose]();
});

/** As docs/operations.md states them, of one worker process. */
const atOnce = 360;
const aSecond = 4;

const real = new Set<string>();
service.answer = ({ path }) => {
  const id = path.split('/')[2] ?? '';
  if (!path.startsWith('/calls/')) return { data: [] };
  return real.has(id)
    ? { data: shownCall(id, { recorded: false, status: 'missed', legs: [] }) }
    : { error: 'not_found', status: 404 };
};
beforeEach(async () => {
  await query('truncate ops.sync_targets, ops.deliveries');
  service.asked.length = 0;
});

async function work(): Promise<void> {
  const workers = await world.work();
  onTestFinished(() => workers.close(2_000));
}
const forged = (count: number) => Array.from({ length: count }, () => callId());
function newCalls(count: number): string[] {
  const ids = forged(count);
  for (const id of ids) real.add(id);
  return ids;
}
const deliver = async (event: object) => (await world.deliver('AccountEndedCalls', event)).json();
async function deliverEach(ids: readonly string[]): Promise<void> {
  for (let from = 0; from < ids.length; from += 50)
    await Promise.all(ids.slice(from, from + 50).map((callid) => deliver({ callId: callid })));
}
/** What is pending, for a test that waits in vain. */
const pending = async () =>
  JSON.stringify(
    await query(
      `select priority, is_unconfirmed, attempts, misses, last_error, count(*)::int, min(due_at - now()), max(claimed_until - now()) as claimed
       from ops.sync_targets where dirty_version > clean_version group by 1, 2, 3, 4, 5`,
    ),
  );
// Without the reads that recognize the account, which no delivery causes.
const readsOf = (isCounted: (id: string) => boolean) =>
  service.asked.filter(({ path, requestId }) => requestId && isCounted(path.split('/')[2] ?? '')).length;
const readsOfForged = () => readsOf((id) => !real.has(id));
const areHeld = async (ids: readonly string[]) =>
  (await value('select count(*)::integer from warehouse.calls where call_id = any($1)', ids)) === ids.length;

/** A call that one delivery names is read before most of a flood, which is read at its own rate meanwhile. */
async function expectReadBefore(flood: number, id: string): Promise<void> {
  const [before, began] = [readsOfForged(), performance.now()];
  expect(await deliver({ callId: id })).toMatchObject({ received: 1 });
  await until(() => readsOf((each) => each === id) > 0, pending);
  const asked = readsOfForged() - before;
  const seconds = (performance.now() - began) / 1_000;
  await until(() => areHeld([id]));
  expect(asked).toBeLessThanOrEqual(aSecond * (seconds + 2));
  expect(asked).toBeLessThan((flood - before) / 2);
}

test('a mebibyte of call ids costs a few reads a second, and a real call does not wait for them', async () => {
  await work();
  const began = performance.now();
  expect(await deliver({ callids: forged(50_000) })).toMatchObject({ received: maxReferences });
  for (let again = 0; again < 20; again += 1) await deliver({ callids: forged(maxReferences) });
  const [first = '', second = ''] = newCalls(2);
  await expectReadBefore(maxReferences, first);
  await until(() => readsOfForged() > 3 * aSecond);
  await expectReadBefore(maxReferences, second);
  const seconds = (performance.now() - began) / 1_000;
  expect(readsOfForged()).toBeLessThanOrEqual(aSecond * (seconds + 1));
});

test('what is beyond the limit of a delivery is kept as not understood', async () => {
  const ids = forged(maxReferences + 1);
  expect(await deliver({ callids: ids })).toMatchObject({ received: maxReferences });
  const kept = 'select body, is_recognized, cardinality(targets) as named from ops.deliveries';
  expect(await query(kept)).toEqual([
    { body: JSON.stringify({ callids: ids }), is_recognized: false, named: maxReferences },
  ]);
});

test('a flood of single ids is read up to a bound, and a real call comes before what is left of it', async () => {
  await work();
  const began = performance.now();
  const ids = forged(3 * atOnce);
  await deliverEach(ids);
  // The first reads are through, and whatever is left waits behind.
  const isLeft = `select not exists (select from ops.sync_targets where priority = 0 and due_at <= now()
    and dirty_version > clean_version) and exists (select from ops.sync_targets where priority = 2)`;
  await until(async () => (await value(isLeft)) === true, pending);
  const [id = ''] = newCalls(1);
  await expectReadBefore(ids.length, id);
  const seconds = (performance.now() - began) / 1_000;
  const minutes = Math.ceil(seconds / 60);
  expect(readsOfForged()).toBeLessThanOrEqual(atOnce * minutes + aSecond * (seconds + 1));
  expect(readsOfForged()).toBeGreaterThan(atOnce / 2);
});

test('a batch of new calls is mirrored without a rest', async () => {
  await work();
  const ids = newCalls(maxReferences);
  expect(await deliver(ids.map((callid) => ({ callId: callid })))).toMatchObject({ received: maxReferences });
  // As many that are not found take more than two minutes.
  await until(() => areHeld(ids), pending);
  expect(await value('select count(*)::integer from ops.sync_targets where priority >= 2')).toBe(0);
});

test('new calls beyond the bound are not held up by one another, nor by a call whose event came too early', async () => {
  const early = callId();
  await deliver({ callId: early });
  const ids = newCalls(2 * atOnce);
  await deliverEach(ids);
  await work();
  await until(() => readsOf((id) => id === early) > 0);
  real.add(early);
  await until(() => areHeld([early, ...ids]), pending);
  expect(readsOf((id) => ids.includes(id))).toBe(ids.length);
});
