import { beforeEach, expect, test } from 'vitest';
import { ServiceError } from '../../../src/api-client/client.ts';
import { claimHours, planHours, scheduleHours, unproveHours } from '../../../src/completeness/coverage/coverage.ts';
import { createReconciler } from '../../../src/completeness/coverage/reconcile.ts';
import { createLog } from '../../../src/shared/log.ts';
import { markCallsGone } from '../../../src/warehouse/calls.ts';
import { ignored, readNumber } from '../../warehouse/reads.ts';
import { migratedDatabase } from '../../world/database.ts';
import { captureLog } from '../../world/log.ts';
import { callAt, createHistory, serveHistory } from './history.ts';

const database = await migratedDatabase();
const { db, query, value } = database;

/** The start of the hour that is not over: of each test, since hours pass. */
let running = 0;
beforeEach(async () => {
  running = Math.floor(Date.now() / 3_600_000) * 3_600;
  await query('truncate ops.coverage, ops.gaps, ops.sync_targets, warehouse.calls, warehouse.call_legs');
});
/** Ten minutes into an hour that is over. */
const hoursAgo = (hours: number) => running - hours * 3_600 + 600;
const log = createLog('silent');

/** A reconciler of a service that lists calls which started then. */
async function open(...seconds: readonly number[]) {
  const history = createHistory();
  history.calls.push(...seconds.map((second, at) => callAt(second, at)));
  const { client } = await serveHistory(history);
  const deps = { db, log, notify: () => undefined };
  const reconciler = createReconciler({ ...deps, service: client });
  /** One whose searches are made by other means. */
  const searching = (search: typeof client.calls.search, kept = log) =>
    createReconciler({ ...deps, log: kept, service: { ...client, calls: { ...client.calls, search } } });
  return { history, searching, ids: seconds.map((second, at) => `${second}.${at}`), round: () => reconciler.round() };
}

const held = () => value('select count(*)::integer from warehouse.calls where deleted_at is null');
const pending = async () =>
  (await query<{ key: string }>(`select key from ops.sync_targets where kind = 'call' order by 1`)).map(
    ({ key }) => key,
  );
const makeDue = (where = 'to_at <= now()') => query(`update ops.coverage set due_at = now() where ${where}`);
const watch = (hours: number) =>
  query('update ops.coverage set is_watched = true where from_at = to_timestamp($1)', hour(hours));
const hour = (hours: number) => running - hours * 3_600;
/** What is known of an hour: its state, and how many calls are reported and held. */
const known = (hours: number) =>
  value(
    `select concat_ws(' ', state, reported_count, held_count, unannounced_count, last_error) from ops.coverage where from_at = to_timestamp($1)`,
    hour(hours),
  );

test('calls that no webhook announced are held after a round, those of the running hour too, and are to be read', async () => {
  const { ids, round } = await open(hoursAgo(2), hoursAgo(5), running + Math.floor((Date.now() / 1_000 - running) / 2));
  const first = await round();
  expect(first).toMatchObject({ failed: 0 });
  expect(first.compared).toBeGreaterThanOrEqual(23);
  expect(await held()).toBe(3);
  expect(await pending()).toEqual(ids.toSorted());
  expect([await known(2), await known(5)]).toEqual(['proven 1 1', 'proven 1 1']);
  expect(await round()).toMatchObject({ failed: 0, changed: 0 });
  await makeDue();
  expect(await round()).toMatchObject({ failed: 0, changed: 0 });
});

test('an API that is away is logged once, and so is its return', async () => {
  const { searching, history } = await open();
  const { log: kept, text } = captureLog();
  const away = new ServiceError('network', undefined, { operation: 'calls.search', effect: 'none' });
  let isAway = true;
  const { client } = await serveHistory(history);
  const search: typeof client.calls.search = (...given) =>
    isAway ? Promise.reject(away) : client.calls.search(...given);
  const reconciler = searching(search, kept);
  const said = () => [text().split('could not be compared').length - 1, text().split('compared again').length - 1];
  await reconciler.round();
  await makeDue();
  await reconciler.round();
  expect(said()).toEqual([1, 0]);
  isAway = false;
  await makeDue();
  await reconciler.round();
  await makeDue();
  await reconciler.round();
  expect(said()).toEqual([1, 1]);
});

test('calls of a time without webhooks are held after a round, and the gap is closed', async () => {
  const { round } = await open();
  await round();
  const late = await open(hoursAgo(3));
  await query(`insert into ops.gaps (stream, from_at, to_at, reason)
    values ('calls', now() - interval '4 hours', now(), 'a test')`);
  await late.round();
  expect(await held()).toBe(1);
  expect(await known(3), 'no webhook was expected').toBe('proven 1 1');
  expect(await value(`select filled_at is not null from ops.gaps where reason = 'a test'`)).toBe(true);
});

test('an hour in which webhooks were expected counts what they did not announce', async () => {
  await (await open()).round();
  await watch(3);
  const { ids, round } = await open(hoursAgo(3), hoursAgo(3));
  await query(`insert into ops.sync_targets (kind, key) values ('call', $1)`, ids[1]);
  await makeDue();
  await round();
  expect(await known(3)).toBe('proven 2 2 1');
});

test('what is held and no longer listed is read, and gone only on proof', async () => {
  const { history, ids, round } = await open(hoursAgo(4), hoursAgo(4));
  await round();
  await query('truncate ops.sync_targets');
  history.calls.pop();
  await scheduleHours(db, { from: hour(4), to: hour(3) });
  await round();
  expect(await known(4)).toBe('differs 1 2 1 held calls are no longer listed; they are read again');
  expect(await pending()).toEqual([ids[1]]);
});

test('calls that were listed and then not found leave their hour in doubt, until both agree', async () => {
  const { ids, round } = await open(hoursAgo(4), hoursAgo(4));
  await round();
  await query(`update ops.coverage set due_at = 'infinity'`);
  for (const callId of ids) {
    await db.transaction().execute(async (tx) => {
      await markCallsGone(tx, ignored, [{ callId, read: readNumber(1_000_000) }]);
      await unproveHours(tx, [callId]);
    });
  }
  expect(await known(4)).toMatch(/^differs 2 0/);
  const soon = `select due_at <= now() + interval '15 minutes' from ops.coverage where state = 'differs'`;
  expect(await value(soon)).toBe(true);
  await query(`select setval('ops.fetch_seq', 2000000)`);
  await makeDue();
  await round();
  expect(await known(4)).toBe('proven 2 2');
  expect(await held()).toBe(2);
});

test('an hour that cannot be proven holds up no other', async () => {
  const { history, round } = await open();
  history.refuse = ({ start, end }) => (start <= hour(5) && end > hour(5) ? { body: 'nobody can read it' } : undefined);
  for (let time = 0; time < 2; time += 1) {
    await round();
    await makeDue(`to_at <= now() and state <> 'proven'`);
  }
  expect(
    await query(
      `select extract(epoch from from_at)::integer as hour from ops.coverage where to_at <= now() and state <> 'proven'`,
    ),
  ).toEqual([{ hour: hour(5) }]);
});

test('a search that breaks leaves no gap claimed', async () => {
  await query(`insert into ops.gaps (stream, from_at, to_at, reason)
    select 'calls', now() - interval '1 hour', now(), 'a test' from generate_series(1, 2)`);
  const lost = 'the connection to Postgres was lost';
  const broken = (await open()).searching(() => Promise.reject(new Error(lost)));
  await expect(broken.round()).rejects.toThrow(lost);
  const due = `select from ops.gaps where reason = 'a test' and next_try_at < now() + interval '2 minutes'`;
  expect(await query(due)).toHaveLength(2);
});

test('a service that fails leaves the hours due, later each time', async () => {
  const { history, round } = await open();
  const refusing = () => ({ error: 'permission_denied', status: 403 });
  history.refuse = refusing;
  const first = await round();
  expect(first.compared).toBe(0);
  expect(first.failed).toBeGreaterThanOrEqual(23);
  const states = `select distinct concat_ws(' ', state, attempts, due_at > now(), last_error is not null) as how
    from ops.coverage where to_at <= now() and checked_at is not null`;
  expect(await query(states)).toEqual([{ how: 'failed 1 t t' }]);
  history.refuse = () => undefined;
  await makeDue();
  expect((await round()).failed).toBe(0);
  history.refuse = refusing;
  await makeDue();
  await round();
  expect(await known(3), 'what was proven stays so').toMatch(/^proven 0 0/);
});

test('a downtime is planned at the next start', async () => {
  const { round } = await open(hoursAgo(2));
  await round();
  await watch(6);
  await query('delete from ops.coverage where from_at > to_timestamp($1)', hour(6));
  await query('truncate warehouse.calls cascade');
  await round();
  const planned = 'select count(*)::integer from ops.coverage where to_at <= now() and is_watched';
  expect([await value(planned), await held()]).toEqual([6, 1]);
});

test('an hour is claimed by one process at a time', async () => {
  await planHours(db);
  await makeDue();
  const claimed = [...(await claimHours(db, 5)), ...(await claimHours(db, 100))];
  expect(claimed.length).toBeGreaterThanOrEqual(23);
  expect(new Set(claimed.map(({ start }) => start)).size).toBe(claimed.length);
});

test('the running hour is not compared, also where it is due', async () => {
  const { round } = await open();
  await round();
  await makeDue('true');
  await round();
  expect([await known(1), await known(0)]).toEqual(['proven 0 0', 'waiting']);
});

test('an hour is compared two minutes after its end, then a day and a week later', async () => {
  const { round } = await open();
  for (const hours of [30, 200]) await scheduleHours(db, { from: hour(hours), to: hour(hours - 1) });
  await round();
  const due = (hours: number) =>
    value(
      'select (extract(epoch from due_at) - extract(epoch from to_at))::float8 from ops.coverage where from_at = to_timestamp($1)',
      hour(hours),
    );
  expect(await Promise.all([0, 3, 30, 200].map(due))).toEqual([120, 86_400, 604_800, Number.POSITIVE_INFINITY]);
});

test('each day is complete, or says why not', async () => {
  const { round } = await open(hoursAgo(1));
  await round();
  // An hour that is just over is not compared before calls of it can have been listed.
  await makeDue(`state = 'waiting' and to_at <= now()`);
  await round();
  const days = () =>
    query(
      `select is_complete as "isComplete", difference, reported_count as reported from reporting.completeness order by utc_date`,
    );
  expect((await days()).at(-1)).toMatchObject({ isComplete: true });
  await query(
    `update ops.coverage set state = 'differs', last_error = 'because' where from_at = to_timestamp($1)`,
    hour(1),
  );
  expect((await days()).slice(-2)).toContainEqual(
    expect.objectContaining({ isComplete: false, difference: 'because' }),
  );
});
