import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { createAcceptedTargets } from '../../src/inbox/accepted-targets.ts';
import { resumeSends } from '../../src/ledger/control.ts';
import type { LostSpan } from '../../src/ledger/lost-sends.ts';
import { healthChecks } from '../../src/ops/health-checks.ts';
import { type ErasureRow, keepInFolder, keepInFolders, keepInRedis } from '../../src/ops/lost-writes/kept-outside.ts';
import { lostSpanOf, watchForLostWrites } from '../../src/ops/lost-writes/lost-writes.ts';
import { recoverLostSpan } from '../../src/ops/lost-writes/recover.ts';
import { takeSnapshot } from '../../src/ops/snapshot.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { connectRedis } from '../../src/queues/redis.ts';
import { createLog } from '../../src/shared/log.ts';
import { trunkline } from '../credentials/commands.ts';
import { placesWith } from '../privacy/everywhere.ts';
import { createRulesWorld } from '../rules/rules-world.ts';
import { backends, redisUrlOf } from '../stores/backends.ts';
import { snapshotOf } from '../stores/databases.ts';
import { createWorld, until } from '../world.ts';

const rules = `
rules:
  - name: answer
    on: message_received
    if: message.plain == "question"
    do: [{ reply: An answer. }, { comment: Answered. }]
    limits: { quiet_hours: none }
`;

const often = { callsMs: 200, textsMs: 200, pollMs: 3_600_000 };

describe.concurrent.each(backends)('with queues in %s', async (backend) => {
  const world = await createRulesWorld(rules, 'live', backend, { workers: { completenessPace: often } });
  const { sandbox, query, value, context } = world;
  afterAll(() => world.close());

  const comments = () =>
    sandbox.requests().filter(({ method, path }) => method === 'POST' && path.endsWith('/comments')).length;
  const findings = async () => healthChecks(await takeSnapshot(context)).filter(({ check }) => check === 'writes_lost');
  /** What stands outside of Postgres and has a number in it. */
  async function keptOf(id: string, number: string): Promise<string[]> {
    const { dataDir, redisUrl } = context.settings;
    const folder = join(dataDir, 'kept-outside', id);
    const files = await readdir(folder).catch(() => []);
    const texts = await Promise.all(files.map(async (file) => `${file} ${await readFile(join(folder, file), 'utf8')}`));
    if (redisUrl !== undefined) {
      const redis = connectRedis(redisUrl, {});
      for (const key of await redis.keys(`{trunkline-kept-${id}}*`)) {
        const type = await redis.type(key);
        texts.push(
          `${key} ${type === 'zset' ? await redis.zrange(key, '0', '-1') : type === 'string' ? await redis.get(key) : ''}`,
        );
      }
      redis.disconnect();
    }
    expect(texts.length).toBeGreaterThan(0);
    return texts.filter((text) => text.includes(number));
  }
  const isRecovered = async () =>
    Number(await value('select count(recovered_at) from ops.incarnation').catch(() => 0)) === 1;

  /** Until a report that began after now has ended: two have been counted. */
  async function reported(): Promise<void> {
    const count = async () => Number(await value('select report_count from ops.incarnation'));
    const before = await count();
    await until(async () => (await count()) >= before + 2);
  }
  const recovered = () =>
    until(isRecovered, async () =>
      JSON.stringify([
        await query('select * from ops.incarnation'),
        await query('select * from ops.gaps'),
        await query(
          `select kind, key, due_at, attempts, state, last_error from ops.sync_targets where dirty_version > clean_version`,
        ),
        await query('select * from ops.rule_events'),
        await query('select state, reason, searched_at from ops.sends'),
      ]),
    );

  test('a database that goes back in time is noticed, and nothing is lost, repeated or kept of the erased; a restored one is too', async () => {
    await sandbox.emit.sms({ number: '17185550301', text: 'Question' });
    await world.rulesSettled();
    await until(async () => (await value(`select count(*) from ops.sends where state = 'SENT'`)) === '1');
    await reported();
    expect(await findings()).toEqual([]);

    const snapshot = await snapshotOf(context.settings.databaseUrl);
    await until(() =>
      query('select 1').then(
        () => true,
        () => false,
      ),
    );
    await sandbox.emit.sms({ number: '17185550302', text: 'Question' });
    await sandbox.emit.sms({ number: '17185550303', text: 'A secret' });
    await world.rulesSettled();
    await until(
      async () => comments() === 2 && (await value(`select count(*) from ops.sends where state = 'SENT'`)) === '2',
    );
    await eraseNumber({ db: context.database.db, queues: context.queues, knownAfterMs: 0 }, '17185550303');
    await sandbox.emit.sms({ number: '17185550304', text: 'Hello' });
    await world.settled();

    await world.rules(rules);
    await reported();

    await snapshot.restore();
    await until(async () => (await findings().catch(() => [])).length > 0);
    await recovered();
    await world.rulesSettled();

    expect(await query(`select number from warehouse.sms_conversations order by 1`)).toEqual(
      ['17185550301', '17185550302', '17185550304'].map((number) => ({ number })),
    );
    expect(sandbox.sends()).toHaveLength(2);
    expect(comments()).toBe(2);
    expect(await query(`select number, state, is_reconciled from ops.sends order by number`)).toEqual([
      { number: '17185550301', state: 'SENT', is_reconciled: false },
      { number: '17185550302', state: 'SENT', is_reconciled: true },
    ]);
    expect(await query(`select sends_count, reserved_micros from ops.send_budgets where scope = 'account'`)).toEqual([
      { sends_count: 2, reserved_micros: '0' },
    ]);
    expect(await query(`select state, reason from ops.rule_actions where kind = 'comment' order by run_id`)).toEqual([
      { state: 'done', reason: null },
      { state: 'unclear', reason: 'the database went back in time' },
    ]);
    expect(await findings()).toMatchObject([{ level: 'warning' }]);
    expect(await query('select paused_by, pause_reason from ops.send_control where is_paused')).toEqual([
      { paused_by: 'operator', pause_reason: 'version 2 of the rules is lost; apply it again' },
    ]);
    await resumeSends(context.database.db);
    await reported();
    await until(async () => (await placesWith(world, '17185550303')).length === 0);
    const { databaseUrl, redisUrl, dataDir } = context.settings;
    const id = await value('select deployment_id from ops.incarnation');
    for (const number of ['17185550302', '17185550303']) expect(await keptOf(String(id), number)).toEqual([]);

    // An operator says that it was restored.
    const environment = { DATABASE_URL: databaseUrl, DATA_DIR: dataDir, ...(redisUrl && { REDIS_URL: redisUrl }) };
    const before = await value('select incarnation_id from ops.incarnation');
    // In a process of its own: this test runs on both backends at once, and one in this process would print for both.
    const command = trunkline(environment, 'restored', '--json');
    expect(await command.ended).toBe(0);
    expect(JSON.parse(command.out())).toMatchObject({ isDone: true });
    expect(await value('select former_ids[cardinality(former_ids)] from ops.incarnation')).toBe(before);
    await recovered();
    expect(await query('select is_paused from ops.send_control')).toEqual([{ is_paused: false }]);
  });
});

describe('processes beside each other', async () => {
  const world = await createWorld({ backend: 'postgres', workers: null });
  const { context, query, value } = world;
  const { db } = context.database;
  afterAll(() => world.close());

  /** A process, as far as it takes part. */
  function start() {
    const accepted = createAcceptedTargets();
    return { accepted, ...watchForLostWrites({ ...context, accepted }) };
  }

  /** Keeps the row that a later call of the result puts back. */
  async function keepState() {
    await query('drop table if exists kept');
    await query('create table kept as select * from ops.incarnation');
    return async () => {
      await query('delete from ops.incarnation');
      await query('insert into ops.incarnation select * from kept');
    };
  }

  /** An erased person whose row is put back without the erasure. */
  async function bringBack(number: string) {
    await query('insert into ops.erasures (number_hash) values (ops.erasure_hash($1))', number);
    return async () => {
      await query('delete from ops.erasures');
      await query(`insert into warehouse.contacts (number) values ($1)`, number);
    };
  }
  const readable = (number: string) => value('select count(*)::int from warehouse.contacts where number = $1', number);

  test('notice once that the start of a recovery was lost too', async () => {
    const processes = [start(), start(), start()];
    const noticed: boolean[] = [];
    const report = async () => {
      for (const each of processes) noticed.push((await each.check()).lost !== undefined);
    };
    await report();
    const goBack = await keepState();
    await report();
    for (let losses = 0; losses < 2; losses += 1) {
      await goBack();
      await report();
    }
    await report();
    await report();
    for (const each of processes) await each.close();
    expect(noticed.filter(Boolean)).toHaveLength(2);
  });

  test('erase again whom the one that noticed has not erased before it ended', async () => {
    const number = '17185550311';
    const other = start();
    const goBack = await keepState();
    const bringsBack = await bringBack(number);
    await other.check();
    await bringsBack();
    await goBack();
    const [span] = await query<LostSpan>('select reported_at as from, now() as until from ops.incarnation');
    const erasures = await query<ErasureRow>(
      `select ops.erasure_hash($1) as "numberHash", '{}'::text[] as "spellingHashes"`,
      number,
    );
    await inTransaction(db, (tx) => recoverLostSpan(tx, span as LostSpan, { erasures, pauseReason: null }));
    await other.check();
    await other.close();
    expect(await readable(number)).toBe(0);
  });

  test('contribute what they know of a loss that comes while they contribute to another', async () => {
    const process = start();
    const goBack = await keepState();
    const bringsBack = await bringBack('17185550312');
    await process.check();
    await bringsBack();
    await goBack();
    await process.check();
    process.accepted.add([{ kind: 'call', key: '1700000000.1' }]);
    await goBack();
    await process.check();
    await until(async () => {
      await process.check();
      return (await value(`select count(*)::int from ops.sync_targets where key = '1700000000.1'`)) === 1;
    });
    await process.close();
  });
});

describe('lost writes are noticed by', () => {
  const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, seconds));
  const held = {
    ...{ deploymentId: 'd', incarnationId: 'b', formerIds: ['a'], reportCount: 10, reportedAt: at(0) },
    ...{ server: '1/5/00000001', from: at(0), until: at(0), isRecovering: false },
  };
  const mark = { incarnationId: 'b', reportCount: 10, reportedAt: at(0), pauseReason: null, rulesVersion: 1 };
  const span = (changes: Partial<Parameters<typeof lostSpanOf>[0]>) =>
    lostSpanOf({ held, server: held.server, now: at(50), mark, ...changes });

  test.each([
    ['nothing, as the last report left it', {}, undefined],
    ['a lower count', { mark: { ...mark, reportCount: 14, reportedAt: at(8) } }, { from: at(0), until: at(23) }],
    ['an incarnation that it does not know', { mark: { ...mark, incarnationId: 'c' } }, { from: at(0), until: at(15) }],
    [
      'nothing, when another process noticed before',
      { mark: { ...mark, incarnationId: 'a', reportCount: 14 } },
      undefined,
    ],
    ['another timeline', { server: '1/5/00000002' }, { from: at(0), until: at(15) }],
    ['another database, without a mark', { server: '2/7/00000001', mark: undefined }, { from: at(0), until: at(50) }],
    ['nothing, when all reports were moved', { server: '2/7/00000001' }, undefined],
    ['a copied folder', { mark: { ...mark, isCopied: true } }, { from: at(0), until: at(50) }],
  ])('%s', (_, changes, expected) => expect(span(changes)).toEqual(expected));
});

test('a data folder that was copied is recognized, and nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-kept-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [own, copy] = [join(folder, 'own'), join(folder, 'copy')];
  const mark = { incarnationId: 'a', reportCount: 3, reportedAt: new Date(), pauseReason: null, rulesVersion: 1 };
  await keepInFolder(own, 'd').writeMark(mark);
  await cp(own, copy, { recursive: true, preserveTimestamps: true });
  expect(await keepInFolder(own, 'd').readMark('a')).toEqual({
    ...mark,
    folderCreatedAt: expect.any(Number),
    isCopied: false,
  });
  expect(await keepInFolder(copy, 'd').readMark('a')).toMatchObject({ isCopied: true });
});

test.each(backends)(
  'a back-up of before an earlier loss lacks all up to the last report, as %s knows',
  async (backend) => {
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-kept-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const redisUrl = redisUrlOf(backend);
    const kept = redisUrl === undefined ? keepInFolder(folder, 'd') : await keepInRedis(redisUrl, randomUUID());
    onTestFinished(() => kept.close());
    const mark = {
      incarnationId: 'a',
      reportCount: 9,
      reportedAt: new Date(1_000),
      pauseReason: null,
      rulesVersion: 1,
    };
    const later = { ...mark, incarnationId: 'b', reportCount: 20, reportedAt: new Date(9_000), rulesVersion: 3 };
    await kept.writeMark(mark);
    await kept.writeMark(later);
    expect(await kept.readMark('a')).toMatchObject({ ...later, incarnationId: 'a', reportCount: 9 });
    expect(await kept.readMark('b')).toMatchObject(later);
  },
);

test('marks and erasures are kept apart from a data folder with an embedded database', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-kept-'));
  vi.stubEnv('XDG_STATE_HOME', join(folder, 'state'));
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });
  const [own, copy] = [join(folder, 'own'), join(folder, 'copy')];
  await mkdir(join(own, 'postgres'), { recursive: true });
  const kept = () => keepInFolders(own, 'd', createLog('silent'));
  const mark = { incarnationId: 'a', reportCount: 3, reportedAt: new Date(), pauseReason: null, rulesVersion: 1 };
  const erasure = { numberHash: 'ab', spellingHashes: [] };
  await (await kept()).writeMark(mark);
  await cp(own, copy, { recursive: true });
  await (await kept()).writeMark({ ...mark, reportCount: 9 });
  await (await kept()).addErasures([erasure]);
  await rm(own, { recursive: true });
  await cp(copy, own, { recursive: true });
  expect(await (await kept()).readMark('a')).toMatchObject({ reportCount: 9 });
  expect(await (await kept()).erasures()).toEqual([erasure]);
});

test.each(backends)(
  'what an earlier version kept of accepted deliveries goes at the start, from %s',
  async (backend) => {
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-kept-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const [id, redisUrl] = [randomUUID(), redisUrlOf(backend)];
    if (redisUrl === undefined) {
      await mkdir(join(folder, 'kept-outside', id), { recursive: true });
      await writeFile(join(folder, 'kept-outside', id, 'targets.log'), '1 thread 15550000001/15550000002\n');
      await (await keepInFolders(folder, id, createLog('silent'))).close();
      expect(await readdir(join(folder, 'kept-outside', id))).toEqual([]);
      return;
    }
    const redis = connectRedis(redisUrl, {});
    onTestFinished(() => redis.disconnect());
    const key = `{trunkline-kept-${id}}:targets`;
    await redis.zadd(key, '1', 'thread 15550000001/15550000002');
    await (await keepInRedis(redisUrl, id)).close();
    expect(await redis.exists(key)).toBe(0);
  },
);
