import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { queueNames } from '../../config/queues.ts';
import { startPostgres } from '../../src/local/postgres.ts';
import { migrateQueues } from '../../src/queues/postgres.ts';
import { createQueues, type Queues, type QueuesOptions, QueueUnavailable } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { temporaryFolder } from '../at-end.ts';
import { openWire } from '../faults/nemesis/proxy.ts';
import { createDatabase, databaseForTest, dropDatabase, superuserUrlOf } from '../stores/databases.ts';
import { haltBackends } from '../stores/halted.ts';
import { type RedisServer, startRedis } from '../stores/redis.ts';
import { conditionTimeoutMs } from '../timeouts.ts';
import { migrated } from '../world/database.ts';

const settled = { timeout: conditionTimeoutMs, interval: 20 };
const job = { kind: 'call', key: '1783385492.057900' } as const;

async function usingRedis(options?: Parameters<typeof startRedis>[0]): Promise<RedisServer> {
  const redis = await startRedis(options);
  onTestFinished(() => redis.stop());
  return redis;
}

/** Queues in a Redis or in a Postgres, and the sentences that they log. */
async function usingQueues(
  at: { readonly redis?: string; readonly postgres?: string },
  { level = 'info', ...more }: Partial<QueuesOptions> & { readonly level?: string } = {},
) {
  const lines: string[] = [];
  const log = createLog(level, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) });
  const timing = { lockDuration: 1_000, stalledInterval: 500 };
  const databaseUrl = at.postgres ?? inject('postgresUrl');
  const queues = await createQueues({ redisUrl: at.redis, databaseUrl, log, timing, ...more });
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= queues.close());
  onTestFinished(close);
  const seen: string[] = [];
  const work = (handle: () => unknown = () => undefined) =>
    queues.work('calls', {}, async ({ key }) => {
      seen.push(key);
      await handle();
    });
  const sees = () => vi.waitUntil(() => seen.length > 0, settled);
  const enqueues = () =>
    queues.enqueue('calls', [job]).then(
      () => true,
      () => false,
    );
  return { queues, close, lines, work, sees, enqueues, accepts: () => vi.waitUntil(enqueues, settled) };
}

async function within<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const done = await work();
  expect(performance.now() - start).toBeLessThan(ms);
  return done;
}
const refusesInTime = (queues: Queues) =>
  within(30_000, () => expect(queues.enqueue('calls', [job])).rejects.toBeInstanceOf(QueueUnavailable));
const reasonOf = async (queues: Queues) => {
  await vi.waitUntil(async () => (await queues.health()).reason !== undefined, settled);
  expect((await queues.health()).isReachable).toBe(false);
  return (await queues.health()).reason;
};

/** A handler that holds its job until it is let go. */
function gate() {
  const [begun, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hold = () => {
    begun.resolve();
    return ending.promise;
  };
  return { begun: begun.promise, end: ending.resolve, hold };
}

async function ownPostgres() {
  const dataDir = await temporaryFolder();
  const postgres = await startPostgres({ dataDir, log: createLog('silent') });
  onTestFinished(() => postgres.stop());
  await migrateQueues(postgres.url);
  return postgres;
}

describe('a Redis', () => {
  test('that hangs refuses an enqueue in bounded time', async () => {
    const redis = await usingRedis();
    const { queues, accepts } = await usingQueues({ redis: redis.url });
    await accepts();
    await redis.kill('SIGSTOP');
    await refusesInTime(queues);
    await redis.kill('SIGCONT');
    await accepts();
  });

  test('that is down when queues open takes jobs once it is there', async () => {
    const gone = await usingRedis();
    await gone.kill('SIGKILL');
    const { queues, work, sees, accepts } = await usingQueues({ redis: gone.url });
    work();
    await refusesInTime(queues);
    await usingRedis({ port: gone.port, dir: gone.dir });
    await accepts();
    await sees();
  });

  test('that went and came back is told of once each', async () => {
    const redis = await usingRedis();
    const { queues, lines, accepts, enqueues } = await usingQueues({ redis: redis.url });
    await accepts();
    await redis.kill('SIGKILL');
    for (let time = 0; time < 5; time += 1) await refusesInTime(queues);
    await usingRedis({ port: redis.port, dir: redis.dir });
    await vi.waitUntil(async () => (await enqueues()) && lines.length > 1, settled);
    expect(lines).toEqual(['The queues cannot be reached; targets wait in Postgres', 'The queues are back']);
  });

  test('whose memory is used up cannot be used, and says why', async () => {
    const redis = await usingRedis({ args: ['--maxmemory', '1'] });
    const { queues } = await usingQueues({ redis: redis.url });
    await refusesInTime(queues);
    await vi.waitUntil(async () => (await queues.health()).reason?.includes('OOM'), settled);
  });

  test.each([
    ['no password', ''],
    ['a wrong password', ':a-wrong-one@'],
  ])('that is given %s says so, and does not tell it', async (_what, given) => {
    const redis = await usingRedis({ args: ['--requirepass', 'the-right-one'] });
    const { queues } = await usingQueues({ redis: redis.url.replace('//', `//${given}`) });
    const reason = await reasonOf(queues);
    expect(reason).toMatch(/^Redis refuses the user or the password of REDIS_URL \((?:NOAUTH|WRONGPASS) /);
    expect(reason).not.toContain('one');
  });

  test('that is opened for reading keeps no trace', async () => {
    const redis = await usingRedis();
    const { queues, close } = await usingQueues({ redis: redis.url }, { isReadOnly: true });
    expect(await queues.waiting('calls')).toBe(0);
    await close();
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    expect(await client.dbsize()).toBe(0);
  });

  test('in which another worker has the lock of a job is no trouble of the store', async () => {
    const redis = await usingRedis();
    const { lines, work, accepts } = await usingQueues({ redis: redis.url }, { level: 'debug' });
    const { begun, end, hold } = gate();
    work(hold);
    await accepts();
    await begun;
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    const [lock = ''] = await client.keys('*:lock');
    await client.set(lock, 'of another worker');
    end();
    const lost = 'A job took longer than its lock; another worker may take it too, which is harmless';
    await vi.waitUntil(() => lines.includes(lost), settled);
    expect(new Set(lines)).toEqual(new Set([lost]));
  });

  describe('whose user lacks a command', () => {
    async function restricted(rule: string) {
      const redis = await usingRedis();
      const admin = new Redis(redis.url);
      onTestFinished(() => void admin.disconnect());
      await admin.call('ACL', 'SETUSER', 'queues', 'on', '>pw', '~*', '&*', '+@all', rule);
      const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await admin.info('stats'))?.[1]);
      const allow = (command: string) => admin.call('ACL', 'SETUSER', 'queues', `+${command}`);
      return { commands, allow, ...(await usingQueues({ redis: redis.url.replace('//', '//queues:pw@') })) };
    }

    test('takes jobs without INFO', async () => {
      const { queues, work, accepts, sees } = await restricted('-info');
      work();
      await accepts();
      await sees();
      expect(await queues.health()).toMatchObject({ isReachable: true });
    });

    test('is no usable one without scripts, and the remedy says so', async () => {
      const { queues } = await restricted('-eval');
      expect(await reasonOf(queues)).toMatch(/^The user of REDIS_URL may not run what the queues need .*EVAL/);
    });

    test.each([
      ['bzpopmin', `'bzpopmin'`],
      ['evalsha', `'evalsha'`],
      // Redis 7.0 does not name what a script may not run.
      ['zadd', 'script'],
    ])('is told that it is %s, and the worker waits until it may run that', async (command, words) => {
      const { queues, allow, commands, work, enqueues, accepts, sees } = await restricted(`-${command}`);
      work();
      const says = async () => {
        await enqueues();
        return (await queues.health()).reason?.includes(words);
      };
      await vi.waitUntil(says, { timeout: 30_000, interval: 100 });
      expect((await queues.health()).reason).toContain('The user of REDIS_URL may not run');
      const before = await commands();
      await sleep(2_000);
      expect((await commands()) - before).toBeLessThan(200);
      await allow(command);
      work();
      await accepts();
      await sees();
    });
  });
});

describe('closing while the store is away', () => {
  test('returns by its deadline with a job in hand', async () => {
    const redis = await usingRedis();
    const { close, work, accepts } = await usingQueues({ redis: redis.url });
    const { begun, hold } = gate();
    const worker = work(hold);
    await accepts();
    await begun;
    await redis.kill('SIGKILL');
    await within(20_000, () => worker.close(500));
    await within(20_000, close);
  });

  test.each(['before the worker started', 'while it waited for jobs', 'while the last job was answered'])(
    'with nothing in hand neither waits for it nor speaks of work: Redis went %s',
    async (when) => {
      const redis = await usingRedis();
      const { lines, work, accepts } = await usingQueues({ redis: redis.url });
      if (when.startsWith('before')) await redis.kill('SIGKILL');
      const { begun, end, hold } = gate();
      const isAnswered = when.endsWith('answered');
      const worker = work(isAnswered ? hold : undefined);
      if (!when.startsWith('before')) await accepts();
      if (isAnswered) await begun;
      if (!when.startsWith('before')) await redis.kill('SIGKILL');
      if (isAnswered) setTimeout(end, 500);
      await within(30_000, () => worker.close(60_000));
      expect(lines.filter((each) => each.includes('busy'))).toEqual([]);
    },
  );

  test('with nothing in hand neither waits for it nor speaks of work: Postgres went', async () => {
    const postgres = await ownPostgres();
    const { lines, work, accepts, sees } = await usingQueues({ postgres: postgres.url });
    const worker = work();
    await accepts();
    await sees();
    await postgres.stop('immediate');
    await within(30_000, () => worker.close(60_000));
    expect(lines.filter((each) => each.includes('busy'))).toEqual([]);
  });

  test('hears no trouble on a closed connection of a Postgres that stops', async () => {
    const postgres = await createDatabase('test_closed_queues').then(() => {
      onTestFinished(() => dropDatabase('test_closed_queues'));
      const url = new URL(inject('postgresUrl'));
      url.pathname = '/test_closed_queues';
      return url.href;
    });
    await migrateQueues(postgres);
    const { close, lines, accepts } = await usingQueues({ postgres });
    await accepts();
    const halted = await haltBackends(postgres);
    await close();
    await halted.end();
    expect(halted.count).toBeGreaterThan(0);
    expect(lines).toEqual([]);
  });
});

test.each(['Redis', 'Postgres'])('a worker whose connections to %s a firewall forgot works again', async (store) => {
  const url = store === 'Redis' ? (await usingRedis()).url : await databaseForTest(migrateQueues);
  const wire = await openWire(Number(new URL(url).port), onTestFinished);
  const far = wire.through(url);
  const { work, sees, enqueues, queues } = await usingQueues(store === 'Redis' ? { redis: far } : { postgres: far });
  work();
  await vi.waitUntil(enqueues, settled);
  await sees();
  wire.forget();
  let isHeard = false;
  queues.work('calls', {}, async ({ key }) => {
    isHeard ||= key === 'after';
  });
  await vi.waitUntil(
    async () => {
      await queues.enqueue('calls', [{ kind: 'call', key: 'after' }]).catch(() => undefined);
      return isHeard;
    },
    { ...settled, interval: 200 },
  );
});

describe('queues in a Postgres', () => {
  async function ownDatabase() {
    const url = await databaseForTest(migrated);
    const admin = new Client({ connectionString: superuserUrlOf(url) });
    await admin.connect();
    onTestFinished(() => admin.end());
    const name = new URL(url).pathname.slice(1);
    const sessions = `from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name = any($1)`;
    return {
      url,
      alter: (what: string) => admin.query(`alter database ${name} ${what}`),
      /** Ends every session of queues every few milliseconds, among them those that are being opened. */
      async endSessions(forMs: number): Promise<void> {
        const until = performance.now() + forMs;
        for (let round = 0; performance.now() < until; round += 1) {
          await admin.query(`select pg_terminate_backend(pid) ${sessions}`, [['trunkline queues', ...queueNames]]);
          await sleep(round % 8);
        }
      },
    };
  }

  /** Works all queues; `takesAll` resolves when a new job of each is accepted and taken. */
  function working({ queues }: Awaited<ReturnType<typeof usingQueues>>) {
    const seen = new Set<string>();
    for (const name of queueNames) queues.work(name, {}, async ({ key }) => void seen.add(key));
    let round = 0;
    return async function takesAll(): Promise<void> {
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
    };
  }

  test('whose sessions are ended while they start, at any moment and while others are refused work once that stops, and the log tells no more', async () => {
    const { url, alter, endSessions } = await ownDatabase();
    const starting = endSessions(1_500);
    const using = await usingQueues({ postgres: url });
    const takesAll = working(using);
    await starting;
    await takesAll();
    const rounds = 2;
    for (let round = 0; round < rounds; round += 1) {
      // In the second one others are refused too.
      if (round === 1) await alter('connection limit 2');
      const ending = endSessions(1_500);
      await sleep(750);
      await alter('connection limit -1');
      await ending;
      await takesAll();
    }
    const count = (words: string) => using.lines.filter((line) => line.startsWith(words)).length;
    expect(count('The queues cannot be reached')).toBeGreaterThan(0);
    expect(count('The queues cannot be reached')).toBeLessThanOrEqual(1 + rounds);
    expect(count('The queues are back')).toBeLessThanOrEqual(1 + rounds);
  });

  test('that has no connection left when a worker starts take jobs when there is one', async () => {
    const { url, alter } = await ownDatabase();
    const using = await usingQueues({ postgres: url });
    await using.accepts();
    await alter('connection limit 1');
    const takesAll = working(using);
    // Longer than a refused connection is tried again.
    await sleep(7_000);
    await alter('connection limit -1');
    await takesAll();
  });

  test('that was read-only for a time take jobs again, with their connections left alone', async () => {
    const { url, alter } = await ownDatabase();
    await alter('set default_transaction_read_only = on');
    const takesAll = working(await usingQueues({ postgres: url }));
    await sleep(3_000);
    await alter('set default_transaction_read_only = off');
    await takesAll();
  });
});
