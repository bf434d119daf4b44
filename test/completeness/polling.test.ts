import { beforeEach, expect, test } from 'vitest';
import { planHours } from '../../src/completeness/coverage/coverage.ts';
import { createReconciler } from '../../src/completeness/coverage/reconcile.ts';
import { createGapDetection } from '../../src/completeness/gaps/gap-detection.ts';
import { createPolling, readsOfRound } from '../../src/completeness/polling.ts';
import { createLog } from '../../src/shared/log.ts';
import { migratedDatabase } from '../world/database.ts';
import { callAt, createHistory, serveHistory } from './coverage/history.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
const line = '16465550100';
beforeEach(async () => {
  await query(
    `truncate ops.coverage, ops.sync_targets, ops.gaps, warehouse.calls, warehouse.call_legs, warehouse.sms_lines, warehouse.sms_conversations`,
  );
  await query(
    `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ($1, 'h', 'test', 1, now())`,
    line,
  );
  await planHours(db);
});

/** What one worker polls with, of a service that lists calls and counts `unread` texts of the line. */
async function open(reads = 2) {
  const history = createHistory();
  const { client, searches, service } = await serveHistory(history);
  const told = { unread: 0, streams: ['calls', 'texts'] as ('calls' | 'texts')[] };
  const { answer } = service;
  service.answer = (asked) =>
    asked.path === '/sms/unread' ? { data: { total: 0, lines: [{ line, count: told.unread }] } } : answer(asked);
  const deps = { db, log: createLog('silent'), service: client };
  const notify = () => undefined;
  const reconciler = createReconciler({ ...deps, notify });
  const poller = () => {
    const gapDetection = createGapDetection({ ...deps, notify, polledReads: () => Promise.resolve(reads) });
    return createPolling({ ...deps, reconciler, gapDetection, unannounced: () => Promise.resolve(told.streams) });
  };
  const one = poller();
  return {
    ...{ history, searches, told, reconciler, poller },
    /** A round that is due; resolves to the paths that were asked for. */
    async round(polling = one, isDue = true): Promise<string[]> {
      if (isDue) await query(`update ops.coverage set claimed_until = '-infinity'`);
      const before = service.asked.length;
      await polling.round(new AbortController().signal);
      return service.asked.slice(before).map(({ path }) => path);
    },
  };
}
const now = () => Math.floor(Date.now() / 1_000);
const isHeld = async ({ second, sequence }: ReturnType<typeof callAt>) =>
  (await value('select call_id from warehouse.calls where call_id = $1', `${second}.${sequence}`)) !== undefined;

test('streams are polled that nothing announces, by one process at a time', async () => {
  const { told, poller, round } = await open();
  told.streams = [];
  expect(await round()).toEqual([]);
  told.streams = ['texts'];
  expect(await round()).toEqual(['/sms/unread']);
  expect(await round(poller(), false), 'another has polled just now').toEqual([]);
  told.streams = ['calls'];
  expect(await round()).toEqual(['/calls/search']);
});

test('a call is found when it ended, however long ago it began, with one request, and is to be read', async () => {
  const { history, told, round } = await open();
  told.streams = ['calls'];
  for (const [at, minutes] of [1, 90, 600].entries()) {
    const call = callAt(now() - minutes * 60, at, minutes * 60);
    history.calls.push(call);
    expect(await round()).toEqual(['/calls/search']);
    expect(await isHeld(call)).toBe(true);
  }
  const pending = `select count(*)::integer from ops.sync_targets where kind = 'call' and priority = 0`;
  expect(await value(pending)).toBe(3);
});

test('a call that is listed late is found by the next poll, or when its hour is compared', async () => {
  const { history, round, reconciler } = await open();
  await round();
  const ended = (secondsAgo: number, sequence: number) => callAt(now() - secondsAgo - 60, sequence, 60);
  const [late, later] = [ended(200, 1), ended(7_200, 2)];
  const page = (secondsAgo: number) => Array.from({ length: 100 }, (_, at) => ended(secondsAgo, secondsAgo + at));
  // A poll goes on where a page is newer than the overlap, and ends with the page that reaches back past it.
  history.calls.push(late, later, ...page(150), ...page(400));
  await round();
  expect([await isHeld(late), await isHeld(later)]).toEqual([true, false]);
  await query('update ops.coverage set due_at = now() where to_at <= now()');
  await reconciler.round();
  expect(await isHeld(later)).toBe(true);
});

test('the first poll of a process goes back two hours, which are compared later', async () => {
  const { history, round } = await open();
  const early = callAt(now() - 7_100, 1, 60);
  const newer = Array.from({ length: 100 }, (_, at) => callAt(now() - 3_600, 10 + at, 60));
  history.calls.push(early, ...newer);
  await round();
  expect(await isHeld(early)).toBe(true);
});

test('a text of a known thread is found by few reads a round, however many texts arrive in another', async () => {
  const { told, round } = await open();
  told.streams = ['texts'];
  const threads = 5;
  await query(
    `insert into warehouse.sms_conversations (line, number, thread_fetched_at, last_message_at)
     select $1, '1212555010' || n, now() - interval '1 hour', now() - n * interval '1 minute' from generate_series(1, $2::integer) n`,
    ...[line, threads],
  );
  told.unread = 1;
  const isRead = new Set<string>();
  const perRound: number[] = [];
  for (let rounds = 0; rounds < threads; rounds += 1) {
    await round();
    const pending = await query<{ key: string }>(`delete from ops.sync_targets where kind = 'thread' returning key`);
    perRound.push(pending.length);
    for (const { key } of pending) isRead.add(key);
    // Each is read, and the first gets a text in every round.
    await query(
      `update warehouse.sms_conversations set thread_fetched_at = clock_timestamp()
      where line || '/' || number = any($1) or number = '12125550101'`,
      pending.map(({ key }) => key),
    );
    await query(`update warehouse.sms_conversations set last_message_at = now() where number = '12125550101'`);
  }
  expect(isRead.size).toBe(threads);
  expect(Math.max(...perRound)).toBeLessThanOrEqual(2);
  expect(perRound.at(-1), 'none after all were read').toBe(0);
});

test('a round reads fewer threads after a minute of many requests, but some', () => {
  expect([0, 96, 1_000].map(readsOfRound)).toEqual([16, 8, 4]);
});
