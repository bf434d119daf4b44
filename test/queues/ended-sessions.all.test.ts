import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { queueNames } from '../../config/queues.ts';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog, type Log } from '../../src/shared/log.ts';
import { draw } from '../draws.ts';
import { databaseForTest, superuserUrlOf } from '../stores/databases.ts';
import { conditionTimeoutMs } from '../timeouts.ts';
import { migrated } from '../world/database.ts';
import { captureLog } from '../world/log.ts';

const settled = { timeout: conditionTimeoutMs, interval: 50 };

test('queues whose sessions are ended while they start work once that stops', async () => {
  const { url, endSessions } = await ownDatabase();
  const ending = endSessions();
  const queues = await usingQueues(url);
  const { takesAll } = working(queues);
  await sleep(1_500);
  await ending.stop();
  await takesAll();
});

test('queues whose sessions are ended at any moment work once that stops, and the log tells no more than that', async () => {
  const { url, endSessions } = await ownDatabase();
  const { log, text } = captureLog();
  const queues = await usingQueues(url, log);
  const { takesAll } = working(queues);
  await takesAll();
  const rounds = 3;
  for (let round = 0; round < rounds; round += 1) {
    const ending = endSessions();
    await sleep(1_500);
    await ending.stop();
    await takesAll();
  }
  const said = (words: string) => text().split(words).length - 1;
  expect(said('The queues cannot be reached')).toBeGreaterThan(0);
  expect(said('The queues cannot be reached')).toBeLessThanOrEqual(rounds);
  expect(said('The queues are back')).toBeLessThanOrEqual(rounds);
});

test('a worker that starts while no connection is left takes jobs when there is one', async () => {
  const { url, admin } = await ownDatabase();
  const queues = await usingQueues(url);
  await queues.enqueue('calls', [{ kind: 'call', key: 'first' }]);
  const name = new URL(url).pathname.slice(1);
  await admin.query(`alter database ${name} connection limit 1`);
  const { takesAll } = working(queues);
  // Longer than a refused connection is tried again.
  await sleep(7_000);
  await admin.query(`alter database ${name} connection limit -1`);
  await takesAll();
});

test('queues whose sessions are ended, refused for a time and ended again take jobs', async () => {
  const { url, admin, endSessions } = await ownDatabase();
  const name = new URL(url).pathname.slice(1);
  const { takesAll } = working(await usingQueues(url));
  await admin.query(`alter database ${name} connection limit 2`);
  const ending = endSessions();
  await sleep(500);
  await admin.query(`alter database ${name} connection limit -1`);
  await sleep(500);
  await ending.stop();
  await takesAll();
});

test('queues whose database was read-only for a time take jobs again, with their connections left alone', async () => {
  const { url, admin } = await ownDatabase();
  const name = new URL(url).pathname.slice(1);
  await admin.query(`alter database ${name} set default_transaction_read_only = on`);
  const { takesAll } = working(await usingQueues(url));
  await sleep(3_000);
  await admin.query(`alter database ${name} set default_transaction_read_only = off`);
  await takesAll();
});

async function ownDatabase() {
  const url = await databaseForTest(migrated);
  const admin = new Client({ connectionString: superuserUrlOf(url) });
  await admin.connect();
  onTestFinished(() => admin.end());
  return {
    url,
    admin,
    /** Ends every session of queues every few milliseconds, among them those that are being opened. */
    endSessions() {
      let isOver = false;
      const ended = (async () => {
        while (!isOver) {
          await admin.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid() and application_name = any($1)`,
            [['trunkline queues', ...queueNames]],
          );
          await sleep(draw() * 8);
        }
      })();
      return {
        stop() {
          isOver = true;
          return ended;
        },
      };
    },
  };
}

async function usingQueues(databaseUrl: string, log: Log = createLog('silent')) {
  const queues = await createQueues({ redisUrl: undefined, databaseUrl, log });
  onTestFinished(() => queues.close());
  return queues;
}

function working(queues: Awaited<ReturnType<typeof usingQueues>>) {
  const seen = new Set<string>();
  for (const name of queueNames) queues.work(name, {}, async ({ key }) => void seen.add(key));
  let round = 0;
  return {
    /** A new job of each queue is accepted, and taken. */
    async takesAll() {
      round += 1;
      for (const name of queueNames) {
        const key = `${name} ${round}`;
        const enqueues = () =>
          queues.enqueue(name, [{ kind: 'call', key }]).then(
            () => true,
            () => false,
          );
        await vi.waitUntil(enqueues, settled);
        await vi.waitUntil(() => seen.has(key), settled);
      }
    },
  };
}
