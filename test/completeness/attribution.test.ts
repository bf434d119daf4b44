import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createService, type Service } from '../../src/api-client/client.ts';
import { createAttribution } from '../../src/completeness/attribution.ts';
import { scheduleHours } from '../../src/completeness/coverage/coverage.ts';
import { createReconciler } from '../../src/completeness/coverage/reconcile.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { createLog } from '../../src/shared/log.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { type Reply, startOddService } from '../world/service.ts';

const facts = await factsDatabase();
const { query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());
beforeEach(() =>
  query(
    `truncate ops.coverage, ops.attribution_days, ops.sync_targets, warehouse.calls, warehouse.call_legs, warehouse.call_attributions,
       warehouse.users, warehouse.user_endpoints, rollups.queue_visits, rollups.endpoints`,
  ),
);

const log = createLog('silent');
const notify = () => undefined;

/** Yesterday, in Unix seconds: the tests' time zone is UTC. */
const today = Math.floor(Date.now() / 86_400_000) * 86_400;
const yesterday = { from: today - 86_400, to: today };
const noon = new Date((today - 43_200) * 1_000).toISOString();

function clientOf(baseUrl: string, key: string): Service {
  const service = createService({
    baseUrl,
    apiKey: key,
    log,
    retry: { tries: 1 },
    circuit: { failures: 1_000 },
  });
  onTestFinished(() => service.close());
  return service;
}

const pauses = { activeMs: 0, refusedMs: 0 };
const attributionOf = (service: Service) => createAttribution({ db: facts.db, service, log, pauses, notify });
const endpoint = (kind: string, name: string) =>
  query(`insert into rollups.endpoints (kind, endpoint, last_date) values ($1, $2, current_date)`, kind, name);
const days = () =>
  query('select finished_at is not null as is_finished, problem, differences from ops.attribution_days');

test('calls are attributed to the queues, huntgroups and users that their legs would tell, though no leg was read', async () => {
  const sandbox = await createSandbox({ calls: 600, threads: 1 });
  onTestFinished(() => sandbox.close());
  const service = clientOf(sandbox.url, sandbox.apiKey);
  for (const { id, extensions = [] } of (await service.users.list()).data) await facts.user(Number(id), extensions);
  for (const name of ['601', '602', '603']) await endpoint('queue', name);
  await endpoint('huntgroup', '54344');
  await scheduleHours(facts.db, yesterday);
  const reconciler = createReconciler({ db: facts.db, service, log, notify, pauses });
  await reconciler.round();
  // As if this did not run within the first minutes of a day.
  await query(
    `update ops.coverage set proven_at = greatest(proven_at, to_at + interval '15 minutes') where proven_at is not null`,
  );

  await attributionOf(service).round();
  expect(await days()).toMatchObject([{ is_finished: true, problem: null }]);
  const calls = await query<{ call_id: string }>(
    'select call_id from warehouse.calls where started_at >= to_timestamp($1) and started_at < to_timestamp($2)',
    yesterday.from,
    yesterday.to,
  );
  expect(calls.length).toBeGreaterThan(10);
  for (const { call_id } of calls) {
    const { data: whole } = await service.calls.get(call_id);
    const ends = [whole, ...(whole.legs ?? [])].flatMap(({ callerType, callerNumber, calledType, calledNumber }) => [
      [callerType, callerNumber],
      [calledType, calledNumber],
    ]);
    const groups = ends.filter(([type]) => type === 'queue' || type === 'huntgroup').map((end) => end.join(' '));
    const users = await query<{ id: string }>(
      `select distinct user_id::text as id from warehouse.user_endpoints where kind = 'extension' and endpoint = any($1)`,
      ends.filter(([type]) => type === 'user').map(([, number]) => number),
    );
    const attributed = await query<{ name: string }>(
      `select kind || ' ' || endpoint as name from warehouse.call_attributions where call_id = $1
       union
       select called_type || ' ' || called_number from warehouse.calls where call_id = $1 and called_type in ('queue', 'huntgroup')
       union
       select 'user ' || e.user_id from warehouse.calls c join warehouse.user_endpoints e on e.kind = 'extension'
         and (c.caller_type = 'user' and c.caller_number = e.endpoint or c.called_type = 'user' and c.called_number = e.endpoint)
       where call_id = $1`,
      call_id,
    );
    const expected = new Set([...groups, ...users.map(({ id }) => `user ${id}`)]);
    expect(attributed.map(({ name }) => name).sort(), call_id).toEqual([...expected].sort());
  }
  expect(
    await value(`select count(*)::integer from warehouse.call_attributions where source = 'search_filter'`),
  ).toBeGreaterThan(5);

  const asked = sandbox.requests(100_000).length;
  await attributionOf(service).round();
  expect(sandbox.requests(100_000)).toHaveLength(asked);
});

describe('a service', () => {
  type Filters = Readonly<Record<string, readonly string[]>>;
  const none: Reply = { data: { total: 0, limit: 500, offset: 0, calls: [] } };
  const unused = 'trunkline-nobody';

  async function closedDay(changes: { proven?: string } = {}) {
    await query(
      `insert into ops.coverage (stream, from_at, to_at, is_watched, due_at, state, reported_count, proven_at)
       select 'calls', h, h + interval '1 hour', true, now(), 'proven', 5, h + interval '1 hour' + $3::interval
       from generate_series(to_timestamp($1), to_timestamp($2) - interval '1 second', '1 hour') h`,
      yesterday.from,
      yesterday.to,
      changes.proven ?? '20 minutes',
    );
  }

  async function answering(answer: (filters: Filters, offset: number) => Reply) {
    const odd = await startOddService();
    onTestFinished(() => odd[Symbol.asyncDispose]());
    const asked: string[] = [];
    odd.answer = ({ body }) => {
      const { filters, offset } = JSON.parse(body) as { filters: Filters; offset: number };
      asked.push(
        Object.entries(filters)
          .map(([key, names]) => `${key} ${names}`)
          .join(', '),
      );
      return answer(filters, offset);
    };
    return { round: () => attributionOf(clientOf(odd.url, 'key')).round(), asked };
  }

  test.each(['2 minutes', undefined])('is not asked for a day that is not proven complete (%s)', async (proven) => {
    if (proven) await closedDay({ proven });
    const { round, asked } = await answering(() => none);
    await round();
    expect(asked).toEqual([]);
  });

  test('that refuses or ignores a filter attributes nothing by it, and the others go on', async () => {
    await closedDay();
    for (const kind of ['queue', 'huntgroup']) await endpoint(kind, '601');
    await facts.user(1, ['201']);
    await facts.call({ call_id: '1700000001.1', started_at: noon });
    const all: Reply = { data: { total: 1, limit: 500, offset: 0, calls: [{ id: '1700000001.1' }] } };
    const { round, asked } = await answering(({ queues, huntgroups, users }) => {
      if (queues) return { error: 'invalid_request', status: 400 };
      return huntgroups || users?.includes('1') ? all : none;
    });
    await round();
    expect(asked.slice(6)).toEqual([`huntgroups ${unused}`, `queues ${unused}`, `users ${unused}`, 'users 1']);
    expect(
      await query('select kind, endpoint, role, user_id::integer, source from warehouse.call_attributions'),
    ).toEqual([{ kind: 'user', endpoint: '1', role: 'touched', user_id: 1, source: 'search_filter' }]);
    expect(await days()).toMatchObject([{ problem: expect.stringContaining('huntgroup') }]);
  });

  test('is asked about 200 times a night at most', async () => {
    await closedDay();
    for (let user = 1; user <= 250; user += 1) await facts.user(user, []);
    const { round, asked } = await answering(() => none);
    await round();
    expect(asked).toHaveLength(200);
    expect(await days()).toMatchObject([
      { is_finished: true, problem: expect.stringContaining('too many for a night') },
    ]);
    await round();
    expect(asked).toHaveLength(200);
  });

  test('that goes down meanwhile is asked again half an hour later', async () => {
    await closedDay();
    for (const user of [1, 2, 3]) await facts.user(user, []);
    let isDown = true;
    const { round, asked } = await answering(() =>
      isDown && asked.length === 12 ? { error: 'internal_error', status: 500 } : none,
    );
    await round();
    expect(await days()).toMatchObject([{ is_finished: false }]);
    isDown = false;
    await round();
    expect(asked).toHaveLength(12);
    await query('update ops.attribution_days set claimed_until = now()');
    await round();
    expect(asked).toHaveLength(24);
    expect(await days()).toMatchObject([{ is_finished: true, problem: null, differences: [] }]);
  });

  test('that lists calls that are not held, or of whom somebody was erased, attributes those that are', async () => {
    await closedDay();
    await endpoint('queue', '601');
    await facts.call({ call_id: '1700000001.1', started_at: noon, legs_fetched_at: noon });
    await facts.call({ call_id: '1700000002.1', started_at: noon, is_erased: true });
    await facts.call({ call_id: '1700000003.1', started_at: noon, deleted_at: noon, deleted_reason: 'gone' });
    const calls = ['1700000001.1', '1700000002.1', '1700000003.1', '1700000004.1'].map((id) => ({ id }));
    const { round } = await answering(({ queues }) =>
      queues?.includes('601') ? { data: { total: 4, limit: 500, offset: 0, calls } } : none,
    );
    await round();
    expect(await query('select call_id, kind, endpoint, role from warehouse.call_attributions')).toEqual([
      { call_id: '1700000001.1', kind: 'queue', endpoint: '601', role: 'entered' },
    ]);
  });

  test('that lists other calls than are held has them read again, is asked once more, and what still differs is kept', async () => {
    await closedDay();
    await endpoint('queue', '601');
    const held = { started_at: noon, direction: 'inbound', legs_fetched_at: noon };
    await facts.call({ call_id: '1700000001.1', ...held, status: 'missed' });
    await facts.call({ call_id: '1700000002.1', ...held, status: 'answered' });
    await facts.call({ call_id: '1700000003.1', ...held, status: 'answered', is_erased: true });
    const list = (...ids: string[]): Reply => ({
      data: { total: ids.length, limit: 500, offset: 0, calls: ids.map((id) => ({ id })) },
    });
    const { round } = await answering(({ directions, statuses, queues }) => {
      if (queues?.includes('601')) return list('1700000001.1', '1700000004.1');
      if (!directions?.includes('inbound')) return none;
      return statuses?.includes('answered') ? list('1700000001.1', '1700000002.1', '1700000003.1') : none;
    });
    await round();
    expect(await days()).toMatchObject([{ is_finished: false }]);
    expect(await query('select key from ops.sync_targets order by key')).toEqual([
      { key: '1700000001.1' },
      { key: '1700000004.1' },
    ]);
    await facts.call({ call_id: '1700000004.1', ...held, status: 'outbound' });
    await query('update ops.attribution_days set claimed_until = now()');
    await round();
    await round();
    expect(await days()).toMatchObject([
      {
        is_finished: true,
        differences: [
          { kind: 'status', name: 'inbound answered', theirs: 2, ours: 1, callIds: ['1700000001.1'] },
          { kind: 'status', name: 'inbound missed', theirs: 0, ours: 1, callIds: ['1700000001.1'] },
        ],
      },
    ]);
  });

  test.each([true, false])('is asked to the end of what it lists (its total is told: %s)', async (isTotalTold) => {
    await closedDay();
    await endpoint('queue', '601');
    const ids = Array.from({ length: 100 }, (_, at) => `17000000${at + 10}.1`);
    for (const id of ids) await facts.call({ call_id: id, started_at: noon, legs_fetched_at: noon });
    const { round } = await answering(({ queues }, offset) => {
      if (!queues?.includes('601')) return none;
      const calls = ids.slice(offset, offset + 40).map((id) => ({ id }));
      return { data: { ...(isTotalTold && { total: 100 }), limit: 500, offset, calls } };
    });
    await round();
    expect(await value(`select count(*)::integer from warehouse.call_attributions where endpoint = '601'`)).toBe(100);
  });
});
