import { afterAll, expect, test } from 'vitest';
import type { Service } from '../../src/api-client/client.ts';
import { planHours } from '../../src/completeness/coverage/coverage.ts';
import { createReconciler } from '../../src/completeness/coverage/reconcile.ts';
import { createGapDetection } from '../../src/completeness/gaps/gap-detection.ts';
import { createPolling, readsOfRound } from '../../src/completeness/polling.ts';
import { createLog } from '../../src/shared/log.ts';
import { unannouncedStreams } from '../../src/sync/subscriptions/store.ts';
import { createWorld } from '../world.ts';

const world = await createWorld({ backend: 'redis' });
afterAll(() => world.close());
const { context, sandbox } = world;
const { db } = context.database;
const line = '16465550100';
const reads = 2;

const { pauses, notifier } = context;
const log = createLog('silent');
const deps = { db, log, pauses, service: context.service as Service };
const reconciler = createReconciler({ ...deps, notify: notifier.notify });

/** What one worker polls with; every round of it is due. */
function poller() {
  const polledReads = () => Promise.resolve(reads);
  const gapDetection = createGapDetection({ ...deps, notify: notifier.notify, polledReads });
  return createPolling({ db, log, reconciler, gapDetection, unannounced: () => unannouncedStreams(db) });
}
const one = poller();

const asked = (path: string) => sandbox.requests(50_000).filter((each) => each.path.includes(path)).length;
const isDue = () => world.query(`update ops.coverage set claimed_until = '-infinity'`);
async function round(polling = one): Promise<void> {
  await isDue();
  await polling.round(new AbortController().signal);
  await world.settled();
}

test('a stream is polled while no subscription of ours is in place, by one process at a time', async () => {
  await planHours(db);
  await world.settled();
  const before = asked('/sms/unread');
  await round();
  expect(asked('/sms/unread'), 'webhooks are registered').toBe(before);
  await world.query(`update ops.subscription_watch set in_place_at = now() - interval '3 minutes'`);
  await round();
  expect(asked('/sms/unread')).toBe(before + 1);
  await poller().round(new AbortController().signal);
  expect(asked('/sms/unread'), 'another has polled just now').toBe(before + 1);
});

test('a call is found when it ended, however long ago it began, and with one request', async () => {
  for (const minutes of [1, 90, 600]) {
    const startTime = new Date(Date.now() - minutes * 60_000).toISOString();
    const { id } = await sandbox.emit.call({ startTime, durationSeconds: minutes * 60, announce: false });
    const before = asked('/calls/search');
    await round();
    expect(await world.value('select leg_count > 0 from warehouse.calls where call_id = $1', id)).toBe(true);
    expect(asked('/calls/search')).toBe(before + 1);
  }
});

test('a call that is listed late is found by the next poll, or when its hour is compared', async () => {
  const ended = async (secondsAgo: number) => {
    const startTime = new Date(Date.now() - (secondsAgo + 60) * 1_000).toISOString();
    return (await sandbox.emit.call({ startTime, durationSeconds: 60, announce: false })).id;
  };
  const isHeld = async (id: string) =>
    (await world.value('select count(*)::integer from warehouse.calls where call_id = $1', id)) === 1;
  await round();
  const [late, later] = [await ended(200), await ended(7_200)];
  // A poll ends with the page that reaches back past the overlap.
  await Promise.all(Array.from({ length: 100 }, () => ended(400)));
  await round();
  expect([await isHeld(late), await isHeld(later)]).toEqual([true, false]);
  await world.query('update ops.coverage set due_at = now() where to_at <= now()');
  await reconciler.round();
  expect(await isHeld(later)).toBe(true);
});

test('a text of a known thread is found by few reads a round', async () => {
  const numbers = Array.from({ length: 5 }, (_, at) => `1212555010${at}`);
  for (const number of numbers) await sandbox.emit.sms({ line, number });
  await world.settled();
  await round();
  const [quiet, busy] = [numbers[2] as string, numbers[4] as string];
  await sandbox.emit.sms({ line, number: quiet, text: 'missed', announce: false });
  const isHeld = () => world.value(`select count(*)::integer from warehouse.sms_messages where body = 'missed'`);
  const before = asked('/sms/conversations/');
  let rounds = 0;
  for (; (await isHeld()) === 0; rounds += 1) {
    expect(rounds, 'each thread is reached, however many texts arrive in another').toBeLessThan(numbers.length);
    await sandbox.emit.sms({ line, number: busy });
    await world.settled();
    await round();
  }
  await round();
  expect(asked('/sms/conversations/'), 'none after it is found').toBeLessThanOrEqual(before + rounds * (reads + 1));
});

test('a round reads fewer threads after a minute of many requests, but some', () => {
  expect([0, 96, 1_000].map(readsOfRound)).toEqual([16, 8, 4]);
});
