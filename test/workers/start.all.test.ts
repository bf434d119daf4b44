import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { callId } from '../sync/call-service.ts';
import { startOddService } from '../world/service.ts';
import { createWorld } from '../world.ts';

const service = await startOddService();
const api = { url: service.url, key: 'key-of-the-start' };
const world = await createWorld({ backend: 'redis', api, workers: null });
const { context, query, value } = world;
afterAll(async () => {
  await world.close();
  await service[Symbol.asyncDispose]();
});

test('workers whose start fails leave no loop and no queue handler behind', async () => {
  await query(`alter table ops.sync_targets add constraint no_lines check (kind <> 'lines') not valid`);
  await expect(world.work()).rejects.toThrow('no_lines');
  expect(await value('select count(*)::integer from ops.processes')).toBe(0);
  const key = callId();
  await query(`insert into ops.sync_targets (kind, key, due_at) values ('call', $1, now())`, key);
  await context.queues.enqueue('calls', [{ kind: 'call', key }]);
  await sleep(1_000);
  expect(service.asked).toEqual([]);
  expect(await context.queues.waiting('calls')).toBe(1);
});
