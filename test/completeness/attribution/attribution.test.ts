import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { apiKey, createService, type Service } from '../../../src/api-client/client.ts';
import { createAttributionRounds } from '../../../src/completeness/attribution/attribution.ts';
import { scheduleHours } from '../../../src/completeness/coverage/coverage.ts';
import { createReconciler } from '../../../src/completeness/coverage/reconcile.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { createLog } from '../../../src/shared/log.ts';
import { factsDatabase } from '../../reporting/facts.ts';
import { type Reply, startOddService } from '../../world/service.ts';

const facts = await factsDatabase();
const { query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());
beforeEach(() =>
  query(
    `truncate ops.coverage, ops.attribution_windows, ops.attribution_parking, warehouse.calls, warehouse.call_legs,
       warehouse.call_attributions, warehouse.users, warehouse.user_endpoints, rollups.queue_visits`,
  ),
);

const day = 86_400;
/** The first second of the day so many days ago, UTC. */
const daysAgo = (days: number) => (Math.floor(Date.now() / 1_000 / day) - days) * day;

function clientOf(baseUrl: string, key: string): Service {
  const service = createService({
    baseUrl,
    credential: apiKey(key),
    log: createLog('silent'),
    retry: { tries: 1 },
    circuit: { failures: 1_000 },
  });
  onTestFinished(() => service.close());
  return service;
}

function roundsOf(service: Service, requestsOfRound?: number) {
  return createAttributionRounds({
    ...{ db: facts.db, service, log: createLog('silent'), onAnswer: () => undefined },
    ...(requestsOfRound !== undefined && { requestsOfRound }),
  });
}

describe('at the sandbox', () => {
  /** History of three whole days is mirrored without legs; users, queues and huntgroups are known. */
  async function historyWithoutLegs() {
    const sandbox = await createSandbox({ calls: 600, threads: 1 });
    onTestFinished(() => sandbox.close());
    const service = clientOf(sandbox.url, sandbox.apiKey);
    const { data: users } = await service.users.list();
    for (const { id, extensions = [] } of users) await facts.user(Number(id), extensions);
    await scheduleHours(facts.db, { from: daysAgo(4), to: daysAgo(1) });
    const nothing = () => undefined;
    const reconciler = createReconciler({
      ...{ db: facts.db, service, log: createLog('silent'), onAnswer: nothing, notify: nothing },
      pauses: { activeMs: 0, refusedMs: 0 },
    });
    await reconciler.round();
    // Each group was called directly once, days before.
    const started_at = new Date(daysAgo(9) * 1_000).toISOString();
    for (const [type, number] of [...['601', '602', '603'].map((each) => ['queue', each]), ['huntgroup', '54344']]) {
      await facts.call({ call_id: `1700000000.${number}`, started_at, called_type: type, called_number: number });
    }
    await facts.drain();
    return { sandbox, service };
  }

  const searches = (sandbox: { requests(limit?: number): { path: string }[] }) =>
    sandbox.requests(100_000).filter(({ path }) => path.endsWith('/calls/search')).length;
  const left = () => value('select count(*)::integer from ops.attribution_windows where finished_at is null');

  test('calls are attributed to whatever their legs would tell, though no leg was read', async () => {
    const { service } = await historyWithoutLegs();
    const rounds = roundsOf(service, 1_000);
    await rounds.round();
    expect(await left()).toBe(0);
    const calls = await query<{ call_id: string }>(
      `select call_id from warehouse.calls where started_at >= to_timestamp($1) and started_at < to_timestamp($2) and deleted_at is null`,
      daysAgo(4),
      daysAgo(1),
    );
    expect(calls.length).toBeGreaterThan(50);
    let behindOthers = 0;
    for (const { call_id } of calls) {
      const { data: whole } = await service.calls.get(call_id);
      const legs = (whole.legs ?? []) as readonly Record<string, unknown>[];
      const ends = [whole as unknown as Record<string, unknown>, ...legs].flatMap((end) => [
        [end.callerType, end.callerNumber],
        [end.calledType, end.calledNumber],
      ]);
      const touched = ends.flatMap(([type, number]) =>
        type === 'user'
          ? [`extension ${number}`]
          : type === 'queue' || type === 'huntgroup'
            ? [`${type} ${number}`]
            : [],
      );
      const rows = await query<{ name: string; source: string }>(
        `select kind || ' ' || endpoint as name, source from warehouse.call_attributions where call_id = $1 and kind <> 'user'
         union all
         select case type when 'user' then 'extension' else type end || ' ' || number, 'summary'
         from warehouse.calls cross join lateral (values (caller_type, caller_number), (called_type, called_number)) ends (type, number)
         where call_id = $1 and type in ('user', 'queue', 'huntgroup')`,
        call_id,
      );
      expect([...new Set(rows.map(({ name }) => name))].sort(), call_id).toEqual([...new Set(touched)].sort());
      behindOthers += rows.filter(({ source }) => source === 'search_filter').length;
    }
    // Ends alone do not tell of the queue behind a menu.
    expect(behindOthers).toBeGreaterThan(10);
  });

  test('what the ends of a call tell is not said again, and users are credited', async () => {
    const { service } = await historyWithoutLegs();
    await roundsOf(service, 1_000).round();
    expect(
      await query(
        `select call_id, kind, endpoint from warehouse.call_attributions group by 1, 2, 3 having count(distinct source) > 1`,
      ),
    ).toEqual([]);
    expect(
      await value(
        `select count(*)::integer from warehouse.call_attributions where role = 'touched' and kind = 'extension' and user_id is null`,
      ),
    ).toBe(0);
    expect(
      await query(`select distinct role from warehouse.call_attributions where source = 'search_filter' order by 1`),
    ).toEqual([{ role: 'entered' }, { role: 'touched' }]);
  });

  test('a round takes few requests, the next goes on, and nothing is searched twice', async () => {
    const { sandbox, service } = await historyWithoutLegs();
    const rounds = roundsOf(service, 7);
    const before = searches(sandbox);
    await rounds.round();
    expect(searches(sandbox) - before).toBe(7);
    const other = roundsOf(service, 7);
    for (let round = 0; round < 60 && (await left()) !== 0; round += 1) await other.round();
    expect(await left()).toBe(0);
    const asked = searches(sandbox);
    const windows = await query<{ kind: string; windows: number; searched: number }>(
      'select kind, count(*)::integer as windows, sum(searched_count)::integer as searched from ops.attribution_windows group by 1 order by 1',
    );
    // One for each name and window, and one in each window to see that the filter is heeded.
    expect(asked - before).toBe(windows.reduce((sum, row) => sum + row.windows + row.searched, 0));
    await rounds.round();
    expect(searches(sandbox)).toBe(asked);
  });

  test('legs that come later say how, and the search says no more', async () => {
    const { service } = await historyWithoutLegs();
    const rounds = roundsOf(service, 1_000);
    await rounds.round();
    const [touched] = await query<{ call_id: string; endpoint: string; started_at: Date }>(
      `select call_id, endpoint, started_at from warehouse.call_attributions where role = 'touched' and kind = 'extension' limit 1`,
    );
    if (!touched) throw new Error('No call was touched');
    await query(
      `insert into warehouse.call_attributions (call_id, kind, endpoint, role, started_at, user_id, source)
       select call_id, kind, endpoint, 'answered', started_at, user_id, 'legs' from warehouse.call_attributions
       where call_id = $1 and kind = 'extension' and endpoint = $2`,
      touched.call_id,
      touched.endpoint,
    );
    await query(`delete from ops.attribution_windows where kind = 'queue'`);
    await rounds.round();
    expect(
      await query(
        `select role from warehouse.call_attributions where call_id = $1 and kind = 'extension' and endpoint = $2`,
        touched.call_id,
        touched.endpoint,
      ),
    ).toEqual([{ role: 'answered' }]);
  });
});

describe('a service', () => {
  async function known() {
    await facts.user(1, ['201', '202', '203', '204']);
    await query(
      `insert into ops.coverage (stream, from_at, to_at, is_watched, due_at, state, reported_count, proven_at)
       select 'calls', h, h + interval '1 hour', true, now(), 'proven', 5, now()
       from generate_series(to_timestamp($1), to_timestamp($2) - interval '1 second', '1 hour') h`,
      daysAgo(3),
      daysAgo(2),
    );
  }
  type Filters = Readonly<Record<string, readonly string[]>>;

  async function answering(answer: (filters: Filters) => Reply) {
    const odd = await startOddService();
    onTestFinished(() => odd[Symbol.asyncDispose]());
    const asked: Filters[] = [];
    odd.answer = ({ body }) => {
      const { filters } = JSON.parse(body) as { filters: Filters };
      asked.push(filters);
      return answer(filters);
    };
    return { rounds: roundsOf(clientOf(odd.url, 'key'), 100), asked };
  }
  const none: Reply = { data: { total: 0, limit: 500, offset: 0, calls: [] } };
  const states = () =>
    query(`select w.kind, finished_at is not null as is_finished, p.reason from ops.attribution_windows w
           left join ops.attribution_parking p using (kind) where w.kind in ('user', 'extension') order by 1`);

  test('that lacks the scope parks each kind, and is asked again only when that is over', async () => {
    await known();
    const { rounds, asked } = await answering(() => ({
      error: 'insufficient_scope',
      status: 403,
      scope: 'reports:read',
    }));
    await rounds.round();
    expect(asked).toHaveLength(2);
    expect(await states()).toMatchObject([
      { kind: 'extension', is_finished: false, reason: expect.stringContaining('calls.search') },
      { kind: 'user', is_finished: false, reason: expect.stringContaining('calls.search') },
    ]);
    await rounds.round();
    expect(asked).toHaveLength(2);
    await query('update ops.attribution_parking set parked_until = now()');
    await rounds.round();
    expect(asked).toHaveLength(4);
    expect(
      await query(
        "select times_parked, parked_until > now() + interval '110 minutes' as is_longer from ops.attribution_parking",
      ),
    ).toEqual([
      { times_parked: 2, is_longer: true },
      { times_parked: 2, is_longer: true },
    ]);
  });

  test('that refuses one filter parks that kind alone, after three names', async () => {
    await known();
    const { rounds, asked } = await answering(({ extensions }) =>
      extensions ? { error: 'invalid_request', status: 400 } : none,
    );
    await rounds.round();
    expect(asked.filter(({ extensions }) => extensions)).toHaveLength(4);
    expect(await states()).toMatchObject([
      { kind: 'extension', is_finished: false, reason: expect.any(String) },
      { kind: 'user', is_finished: true, reason: null },
    ]);
  });

  test('that refuses one name is searched by the others', async () => {
    await known();
    const { rounds, asked } = await answering(({ extensions }) =>
      extensions?.includes('202') ? { error: 'invalid_request', status: 400 } : none,
    );
    await rounds.round();
    expect(asked.flatMap(({ extensions = [] }) => extensions)).toEqual([
      'trunkline-nobody',
      '201',
      '202',
      '203',
      '204',
    ]);
    expect(await states()).toMatchObject([{ is_finished: true, reason: null }, { is_finished: true }]);
    expect(await value(`select last_error from ops.attribution_windows where kind = 'extension'`)).toContain(
      'calls.search',
    );
  });

  test('that does not heed a filter attributes nothing', async () => {
    await known();
    await facts.call({ call_id: '1700000001.1', started_at: new Date(daysAgo(3) * 1_000).toISOString() });
    const { rounds } = await answering(() => ({
      data: { total: 1, limit: 500, offset: 0, calls: [{ id: '1700000001.1' }] },
    }));
    await rounds.round();
    expect(await states()).toMatchObject([
      { kind: 'extension', reason: expect.stringContaining('ignores this filter') },
      { kind: 'user', reason: expect.stringContaining('ignores this filter') },
    ]);
    expect(await value('select count(*)::integer from warehouse.call_attributions')).toBe(0);
  });

  test('that is down is asked once a round, later each time, and nothing is parked', async () => {
    await known();
    const { rounds, asked } = await answering(() => ({ error: 'internal_error', status: 500 }));
    await rounds.round();
    await rounds.round();
    expect(asked).toHaveLength(2);
    expect(await states()).toEqual([
      { kind: 'extension', is_finished: false, reason: null },
      { kind: 'user', is_finished: false, reason: null },
    ]);
    expect(await value('select min(attempts) from ops.attribution_windows where due_at > now()')).toBe(1);
  });

  test('that lists calls that are not held, or of whom somebody was erased, attributes those that are', async () => {
    await known();
    const at = new Date(daysAgo(3) * 1_000).toISOString();
    await facts.call({ call_id: '1700000001.1', started_at: at, legs_fetched_at: at });
    await facts.call({ call_id: '1700000002.1', started_at: at, is_erased: true });
    await facts.call({ call_id: '1700000003.1', started_at: at, deleted_at: at, deleted_reason: 'gone' });
    const ids = ['1700000001.1', '1700000002.1', '1700000003.1', '1700000004.1'];
    const { rounds } = await answering(({ extensions }) =>
      extensions?.includes('203')
        ? { data: { total: 4, limit: 500, offset: 0, calls: ids.map((id) => ({ id })) } }
        : none,
    );
    await rounds.round();
    expect(
      await query(
        'select call_id, kind, endpoint, role, user_id::integer, talk_seconds, source from warehouse.call_attributions',
      ),
    ).toEqual([
      {
        call_id: '1700000001.1',
        kind: 'extension',
        endpoint: '203',
        role: 'touched',
        user_id: 1,
        talk_seconds: null,
        source: 'search_filter',
      },
    ]);
  });
});
