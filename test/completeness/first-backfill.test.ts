import { afterAll, expect, test } from 'vitest';
import { createWorld, quick, until } from '../world.ts';

const world = await createWorld({
  backend: 'postgres',
  sandbox: { calls: 60, threads: 20 },
  ...quick,
  workers: null,
  environment: { BACKFILL_DAYS: '30' },
});
afterAll(() => world.close());

test('a first start fills in calls with their artefacts, then the threads of their callers, and resumes where it ended', async () => {
  const { value, query } = world;
  const parts = () =>
    query(
      `select stream, has_artefacts, finished_at is not null as is_finished from ops.backfills where is_automatic order by 1`,
    );
  const first = await world.work();
  await until(async () => (await parts()).length === 1);
  await first.close(2_000);
  await world.work();
  const both = [
    { stream: 'calls', has_artefacts: true, is_finished: true },
    { stream: 'threads', has_artefacts: false, is_finished: true },
  ];
  await until(
    async () => (await parts()).filter((part) => part.is_finished).length === 2,
    async () => JSON.stringify(await parts()),
  );
  await world.settled();
  expect(await parts()).toEqual(both);
  expect(await value('select count(*)::integer from warehouse.calls')).toBe(60);
  expect(await value('select count(distinct call_id)::integer from warehouse.call_legs')).toBe(60);
  expect(await value('select count(*)::integer from warehouse.sms_conversations')).toBeGreaterThan(0);
  expect(world.logged().match(/Filling in the history of the last 30 days/g)).toHaveLength(1);
});
