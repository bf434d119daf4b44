import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, test, vi } from 'vitest';
import { queueNames } from '../../config/queues.ts';
import { createDatabase } from '../../src/db/database.ts';
import { grantBiRole } from '../../src/reporting/bi-role.ts';
import { createLog } from '../../src/shared/log.ts';
import { conditionTimeoutMs } from '../timeouts.ts';
import { deploy } from './deployment/deployment.ts';

const poolSize = 8;

/* Every role of a database may take the advisory locks of the queue library; where nobody is a superuser, nobody can forbid it. */

test('the mirror goes on while a BI role holds every lock of the queues in Postgres', async ({ onTestFinished }) => {
  const environment = { DATABASE_POOL_SIZE: String(poolSize) };
  const { service, database, postgres } = await deploy({ backend: 'postgres', environment }, onTestFinished);
  const waiting = { timeout: conditionTimeoutMs, interval: 50 };
  await using owner = createDatabase({ url: postgres.url, log: createLog('silent'), maxConnections: 1, name: 'owner' });
  await grantBiRole(owner.db, 'bi');
  await database.query(`alter role bi password 'reader'`);
  const address = Object.assign(new URL(postgres.url), { username: 'bi', password: 'reader' });
  const reader = new Client({ connectionString: address.href });
  reader.on('error', () => undefined);
  await reader.connect();
  onTestFinished(() => reader.end());
  await reader.query('set statement_timeout = 0');
  await postgres.run('grant execute on function pg_advisory_lock(integer, integer) to public');
  // Jobs that wait when the locks are taken make workers wait for them too.
  const before = await Promise.all([1, 2, 3, 4].map(() => service.call({})));
  await reader.query(
    `select pg_advisory_lock(hashtext('bullmq:finalization'), hashtext(name)) from unnest($1::text[]) name`,
    [[...queueNames]],
  );

  let most = 0;
  const counting = new AbortController();
  onTestFinished(() => counting.abort());
  const counted = (async () => {
    while (!counting.signal.aborted) {
      const { rows } = await database.query(
        `select count(*)::integer as sessions from pg_stat_activity
         where datname = current_database() and application_name like 'trunkline%' and application_name <> 'trunkline owner'`,
      );
      most = Math.max(most, rows[0].sessions);
      await sleep(100);
    }
  })();
  const isHeld = async (id: string) =>
    (await database.query('select from warehouse.calls where call_id = $1', [id])).rowCount === 1;
  const began = performance.now();
  const { id } = await service.call({});
  await vi.waitUntil(() => isHeld(id), waiting);
  expect(performance.now() - began).toBeLessThan(10_000);
  for (const call of before) await vi.waitUntil(() => isHeld(call.id), waiting);
  // Longer than any wait of the queue library, so that connections that are given up would add up.
  for (let second = 0; second < 15; second += 1) {
    await service.call({});
    await sleep(1_000);
  }
  const late = await service.call({});
  const again = performance.now();
  await vi.waitUntil(() => isHeld(late.id), waiting);
  expect(performance.now() - again).toBeLessThan(10_000);
  counting.abort();
  await counted;
  expect(most).toBeLessThanOrEqual(2 * poolSize);

  // Jobs are taken again once the locks are free.
  await reader.query('select pg_advisory_unlock_all()');
  const soon = await service.call({});
  await vi.waitUntil(() => isHeld(soon.id), waiting);
});
