import { afterAll, expect, test } from 'vitest';
import { createWorld } from '../world.ts';

// At the workers' own pace.
const world = await createWorld({ backend: 'postgres', hurry: 1 });
afterAll(() => world.close());

const counted = () =>
  world.query(
    `select (select coalesce(sum(call_count), 0)::integer from reporting.call_hourly) as calls,
       (select coalesce(sum(inbound_count), 0)::integer from reporting.sms_daily) as texts,
       (select count(*)::integer from reporting.fct_sms_turn) as turns`,
  );
const mirroredAt = (tables: string) =>
  world.value(`select max(first_seen_at) from (${tables}) facts`) as Promise<Date | null>;

test('a call and a text stand in the reports within 30 seconds of being mirrored', async () => {
  expect(await counted()).toEqual([{ calls: 0, texts: 0, turns: 0 }]);
  await world.sandbox.emit.call({ status: 'answered' });
  await world.sandbox.emit.sms({ text: 'Is it ready?' });
  await expect.poll(counted, { interval: 100 }).toEqual([{ calls: 1, texts: 1, turns: 1 }]);
  const mirrored = await mirroredAt(
    'select first_seen_at from warehouse.calls union all select first_seen_at from warehouse.sms_messages',
  );
  expect(Date.now() - Number(mirrored)).toBeLessThan(30_000);
});
