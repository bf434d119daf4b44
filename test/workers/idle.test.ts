import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { createWorld } from '../world.ts';

const factor = 40;
const world = await createWorld({ backend: 'postgres', hurry: factor, idle: /^$/ });
afterAll(world.close);

test('a process without traffic asks Postgres less than once a second', async () => {
  await world.settled();
  await sleep(1_000);
  const asked = vi.spyOn(Client.prototype, 'query');
  await sleep(3_000);
  const statements = asked.mock.calls.length;
  asked.mockRestore();
  expect(statements).toBeGreaterThan(10);
  // A busy machine makes fewer rounds, never more.
  expect(statements).toBeLessThan(3 * factor);
});
