import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createService } from '../../src/api-client/client.ts';
import { createAttribution } from '../../src/completeness/attribution.ts';
import { scheduleHours } from '../../src/completeness/coverage/coverage.ts';
import { createReconciler } from '../../src/completeness/coverage/reconcile.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { createLog } from '../../src/shared/log.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { type Reply, startOddService } from '../world/service.ts';

const facts = await factsDatabase();
const { query, value, lines } = facts;
beforeEach(() =>
  query(
    `truncate ops.coverage, ops.attribution_days, ops.sync_targets, warehouse.calls, warehouse.call_legs, warehouse.call_attributions,
       warehouse.users, warehouse.user_endpoints, rollups.queue_visits, rollups.endpoints`,
  ),
);

/** Yesterday, in Unix seconds: the tests' time zone is UTC. */
const today = Math.floor(Date.now() / 86_400_000) * 86_400;
const yesterday = { from: today - 86_400, to: today };
const noon = new Date((today - 43_200) * 1_000).toISOString();

function open(baseUrl: string, apiKey: string) {
  const log = createLog('silent');
  const service = createService({ baseUrl, apiKey, log, retry: { tries: 1 }, circuit: { failures: 1_000 } });
  onTestFinished(() => service.close());
  const deps = { db: facts.db, service, log, notify: () => undefined };
  return { service, attribution: createAttribution(deps), reconciler: createReconciler(deps) };
}
const endpoint = (kind: string, name: string) =>
  query(`insert into rollups.endpoints (kind, endpoint, last_date) values ($1, $2, current_date)`, kind, name);
const days = () => lines('select finished_at is not null, problem, differences::text from ops.attribution_days');

test('calls are attributed to the queues, huntgroups and users that their legs would tell, though no leg was read', async () => {
  // So many that each day has some, weekends too.
  const sandbox = await createSandbox({ calls: 2_000, threads: 1 });
  onTestFinished(() => sandbox.close());
  const { service, attribution, reconciler } = open(sandbox.url, sandbox.apiKey);
  for (const { id, extensions = [] } of (await service.users.list()).data) await facts.user(Number(id), extensions);
  for (const name of ['601', '602', '603']) await endpoint('queue', name);
  await endpoint('huntgroup', '54344');
  await scheduleHours(facts.db, yesterday);
  await reconciler.round();
  // As if this did not run within the first minutes of a day.
  await query(
    `update ops.coverage set proven_at = greatest(proven_at, to_at + interval '15 minutes') where proven_at is not null`,
  );

  await attribution.round();
  expect(await days()).toEqual([expect.stringMatching(/^true \| - /)]);
  const calls = await lines(
    'select call_id from warehouse.calls where started_at >= to_timestamp($1) and started_at < to_timestamp($2)',
    ...[yesterday.from, yesterday.to],
  );
  expect(calls.length).toBeGreaterThan(5);
  for (const id of calls) {
    const { data: whole } = await service.calls.get(id);
    const ends = [whole, ...(whole.legs ?? [])].flatMap(({ callerType, callerNumber, calledType, calledNumber }) => [
      `${callerType} ${callerNumber}`,
      `${calledType} ${calledNumber}`,
    ]);
    const users = await lines(
      `select distinct 'user ' || user_id from warehouse.user_endpoints where kind = 'extension' and 'user ' || endpoint = any($1)`,
      ends,
    );
    const attributed = await lines(
      `select kind || ' ' || endpoint from warehouse.call_attributions where call_id = $1
       union
       select called_type || ' ' || called_number from warehouse.calls where call_id = $1 and called_type in ('queue', 'huntgroup')
       union
       select 'user ' || e.user_id from warehouse.calls c join warehouse.user_endpoints e on e.kind = 'extension'
         and (c.caller_type = 'user' and c.caller_number = e.endpoint or c.called_type = 'user' and c.called_number = e.endpoint)
       where call_id = $1`,
      id,
    );
    const expected = new Set([...ends.filter((end) => /^(queue|huntgroup) /.test(end)), ...users]);
    expect(attributed.sort(), id).toEqual([...expected].sort());
  }
  const searched = `select count(*)::integer from warehouse.call_attributions where source = 'search_filter'`;
  expect(await value(searched)).toBeGreaterThan(5);

  const asked = sandbox.requests(100_000).length;
  await attribution.round();
  expect(sandbox.requests(100_000)).toHaveLength(asked);
});

describe('a service', () => {
  type Filters = Readonly<Record<string, readonly string[]>>;
  const list = (...ids: readonly string[]): Reply => ({
    data: { total: ids.length, limit: 500, offset: 0, calls: ids.map((id) => ({ id })) },
  });
  const none = list();
  const call = (sequence: number, more: object = {}) =>
    facts.call({ call_id: idOf(sequence), started_at: noon, legs_fetched_at: noon, ...more });
  const idOf = (sequence: number) => `170000000${sequence}.1`;

  async function closedDay(proven = '20 minutes') {
    await query(
      `insert into ops.coverage (stream, from_at, to_at, is_watched, due_at, state, reported_count, proven_at)
       select 'calls', h, h + interval '1 hour', true, now(), 'proven', 5, h + interval '1 hour' + $3::interval
       from generate_series(to_timestamp($1), to_timestamp($2) - interval '1 second', '1 hour') h`,
      ...[yesterday.from, yesterday.to, proven],
    );
  }

  /** What attributes by a service that answers so, and what that is asked. */
  async function answering(answer: (filters: Filters, offset: number, asked: number) => Reply) {
    const odd = await startOddService();
    onTestFinished(() => odd[Symbol.asyncDispose]());
    const asked: string[] = [];
    odd.answer = ({ body }) => {
      const { filters, offset } = JSON.parse(body) as { filters: Filters; offset: number };
      const words = Object.entries(filters).map(([key, names]) => `${key} ${names}`);
      asked.push(words.join(', '));
      return answer(filters, offset, asked.length);
    };
    return { round: () => open(odd.url, 'key').attribution.round(), asked };
  }
  const laterRound = async (round: () => Promise<unknown>) => {
    await query('update ops.attribution_days set claimed_until = now()');
    await round();
  };

  test.each(['2 minutes', undefined])('is not asked for a day that is not proven complete (%s)', async (proven) => {
    if (proven) await closedDay(proven);
    const { round, asked } = await answering(() => none);
    await round();
    expect(asked).toEqual([]);
  });

  test('that refuses or ignores a filter attributes nothing by it, and the others go on', async () => {
    await closedDay();
    for (const kind of ['queue', 'huntgroup']) await endpoint(kind, '601');
    await facts.user(1, ['201']);
    await facts.call({ call_id: idOf(1), started_at: noon });
    const { round, asked } = await answering(({ queues, huntgroups, users }) => {
      if (queues) return { error: 'invalid_request', status: 400 };
      return huntgroups || users?.includes('1') ? list(idOf(1)) : none;
    });
    await round();
    const unused = 'trunkline-nobody';
    expect(asked.slice(6)).toEqual([`huntgroups ${unused}`, `queues ${unused}`, `users ${unused}`, 'users 1']);
    expect(await lines('select kind, endpoint, role, user_id, source from warehouse.call_attributions')).toEqual([
      'user | 1 | touched | 1 | search_filter',
    ]);
    expect(await days()).toEqual([expect.stringContaining('huntgroup')]);
  });

  test('is asked about 200 times a night at most', async () => {
    await closedDay();
    for (let user = 1; user <= 250; user += 1) await facts.user(user, []);
    const { round, asked } = await answering(() => none);
    await round();
    await round();
    expect(asked).toHaveLength(200);
    expect(await days()).toEqual([expect.stringMatching(/^true \| .*too many for a night/)]);
  });

  test('that goes down meanwhile is asked again half an hour later', async () => {
    await closedDay();
    for (const user of [1, 2, 3]) await facts.user(user, []);
    const { round, asked } = await answering((_filters, _offset, count) =>
      count === 12 ? { error: 'internal_error', status: 500 } : none,
    );
    await round();
    expect(await days()).toEqual([expect.stringMatching(/^false/)]);
    await round();
    expect(asked).toHaveLength(12);
    await laterRound(round);
    expect(asked).toHaveLength(24);
    expect(await days()).toEqual(['true | - | []']);
  });

  test('that lists calls that are not held, or of whom somebody was erased, attributes those that are', async () => {
    await closedDay();
    await endpoint('queue', '601');
    await call(1);
    await call(2, { is_erased: true });
    await call(3, { deleted_at: noon, deleted_reason: 'gone' });
    const { round } = await answering(({ queues }) =>
      queues?.includes('601') ? list(...[1, 2, 3, 4].map(idOf)) : none,
    );
    await round();
    expect(await lines('select call_id, kind, endpoint, role from warehouse.call_attributions')).toEqual([
      `${idOf(1)} | queue | 601 | entered`,
    ]);
  });

  test('that lists other calls than are held has them read again, is asked once more, and what still differs is kept', async () => {
    await closedDay();
    await endpoint('queue', '601');
    await call(1, { status: 'missed' });
    await call(2);
    await call(3, { is_erased: true });
    const { round } = await answering(({ directions, statuses, queues }) => {
      if (queues?.includes('601')) return list(idOf(1), idOf(4));
      if (!directions?.includes('inbound')) return none;
      return statuses?.includes('answered') ? list(...[1, 2, 3].map(idOf)) : none;
    });
    await round();
    expect(await days()).toEqual([expect.stringMatching(/^false/)]);
    expect(await lines('select key from ops.sync_targets order by key')).toEqual([idOf(1), idOf(4)]);
    await call(4, { status: 'outbound' });
    await laterRound(round);
    await round();
    const differences = `select d ->> 'name' as name, d ->> 'theirs' as theirs, d ->> 'ours' as ours, d ->> 'callIds' as ids
      from ops.attribution_days, jsonb_array_elements(differences) d where finished_at is not null`;
    expect(await lines(differences)).toEqual([
      `inbound answered | 2 | 1 | ["${idOf(1)}"]`,
      `inbound missed | 0 | 1 | ["${idOf(1)}"]`,
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
