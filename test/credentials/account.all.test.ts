import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { createService, ServiceError } from '../../src/api-client/client.ts';
import { acceptAccount, compareAccount, createAccountCheck } from '../../src/credentials/account.ts';
import { healthChecks } from '../../src/ops/health-checks.ts';
import { takeSnapshot } from '../../src/ops/snapshot.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { runInProcess } from '../cli/in-process.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated, openDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';
import { createWorld, until, type World } from '../world.ts';

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** The account of a company whose calls differ from those of any other seed. */
async function account(seed: number, calls = 60): Promise<Sandbox> {
  const sandbox = await createSandbox({ seed, calls, threads: 6 });
  opened.push(sandbox.close);
  return sandbox;
}

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  opened.push(async () => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function worldOf(databaseUrl: string, url: string, key: string): Promise<World> {
  const world = await createWorld({
    backend: 'postgres',
    databaseUrl,
    api: { url, key },
    workers: { completenessPace: { callsMs: 300, textsMs: 500, pollMs: 3_600_000 } },
  });
  let isClosed = false;
  const close = world.close;
  const closeOnce = async () => {
    if (!isClosed) await close();
    isClosed = true;
  };
  opened.push(closeOnce);
  return Object.assign(world, { close: closeOnce });
}

const held = `select (select count(*)::int from warehouse.calls where deleted_at is null) as calls,
  (select count(*)::int from warehouse.sms_lines where deleted_at is null) as lines,
  (select count(*)::int from warehouse.users where deleted_at is null) as users,
  (select count(*)::int from ops.coverage where state = 'proven') as proven`;

async function mirrorOf(sandbox: Sandbox): Promise<{ databaseUrl: string; holdings: unknown; callId: string }> {
  const databaseUrl = await databaseForTest(migrated);
  const world = await worldOf(databaseUrl, sandbox.url, sandbox.apiKey);
  const due = `select count(*)::int from ops.coverage where due_at <= now() and to_at <= now()`;
  await until(async () => {
    const [now] = await world.query<Record<string, number>>(held);
    return (now?.users ?? 0) > 0 && (now?.lines ?? 0) > 0 && (now?.proven ?? 0) > 20 && (await world.value(due)) === 0;
  });
  await world.settled();
  // Calls vouch for the account once it was recognized after their reads.
  await world.context.service?.confirmAccount('test');
  const [holdings] = await world.query(held);
  const callId = String(await world.value('select call_id from warehouse.calls order by started_at desc limit 1'));
  await world.close();
  return { databaseUrl, holdings, callId };
}

async function problemOf(world: World): Promise<string | undefined> {
  const checks = healthChecks(await takeSnapshot(world.context));
  return checks.find(({ check }) => check === 'account_unrecognized')?.detail;
}

describe('another account at the address', () => {
  test('deletes, proves and mixes in nothing, is named, and is forgotten with the right one back', async () => {
    const [ours, theirs] = [await account(1), await account(2)];
    const { databaseUrl, holdings, callId } = await mirrorOf(ours);

    const wrong = await worldOf(databaseUrl, theirs.url, theirs.apiKey);
    await wrong.deliver('AccountEndedCalls', { id: callId });
    await wrong.query(`update ops.coverage set due_at = now()`);
    await until(async () => (await problemOf(wrong)) !== undefined);
    expect(await problemOf(wrong)).toContain('another account answers');
    await until(
      async () => (await wrong.value(`select count(*)::int from ops.coverage where last_error is not null`)) !== 0,
    );
    expect(await wrong.query(held)).toEqual([holdings]);
    const reads = theirs.requests().filter(({ path }) => /calls\/search|conversations/.test(path));
    expect(reads).toEqual([]);
    const text = { from: '16465550100', to: ['12125550142'], message: 'Hello' };
    await expect(wrong.context.service?.messages.send(text)).rejects.toMatchObject({
      ...{ code: 'account_unrecognized', effect: 'none' },
    });
    expect(theirs.sends()).toEqual([]);
    await wrong.close();

    const right = await worldOf(databaseUrl, ours.url, ours.apiKey);
    await until(
      async () => (await right.value(`select count(*)::int from ops.coverage where last_error is not null`)) === 0,
    );
    await right.settled();
    expect(await right.query(held)).toEqual([holdings]);
    expect(await problemOf(right)).toBeUndefined();
  });

  test('may be accepted: what it does not have goes, and its own comes', async () => {
    const [ours, theirs] = [await account(1), await account(2, 1_000)];
    const { databaseUrl } = await mirrorOf(ours);
    const database = openDatabase(databaseUrl);
    opened.push(async () => database[Symbol.asyncDispose]());
    await acceptAccount(database.db);
    const world = await worldOf(databaseUrl, theirs.url, theirs.apiKey);
    const ofTheirs = await theirsNewest(theirs);
    await until(
      async () => (await world.value('select count(*)::int from warehouse.calls where call_id = $1', ofTheirs)) === 1,
    );
    await until(
      async () =>
        (await world.value(`select count(*)::int from ops.coverage where last_error like '%another account%'`)) === 0,
    );
    expect(await problemOf(world)).toBeUndefined();
  });
});

test('the mirror of the own sandbox follows its reset, and that of a real account does not', async () => {
  const [before, after] = [await account(1), await account(2)];
  const { databaseUrl } = await mirrorOf(before);
  const database = openDatabase(databaseUrl);
  opened.push(async () => database[Symbol.asyncDispose]());
  const asked = async () => {
    const service = createService({
      baseUrl: after.url,
      apiKey: after.apiKey,
      checkAccount: createAccountCheck({ db: database.db, log: captureLog().log, isOwnSandbox: true }),
    });
    opened.push(service.close);
    return service.lines.list().then(
      ({ data }) => data.length,
      (error: ServiceError) => error.code,
    );
  };
  expect(await asked()).toBe('account_unrecognized');
  await database.query('update ops.account set is_sandbox = true');
  expect(await asked()).toBe(4);
  expect(await database.value(`select count(*)::int from ops.coverage where proven_at is not null`)).toBe(0);
});

test('a service that lost its newest calls is the mirrored account', async () => {
  const ours = await account(1, 400);
  const { databaseUrl } = await mirrorOf(ours);
  const database = openDatabase(databaseUrl);
  opened.push(async () => database[Symbol.asyncDispose]());
  // Held, and no longer there, as after the service restored a back-up.
  for (const [id, age] of [
    ['1600000000.1', '1 minute'],
    ['1600000000.2', '2 minutes'],
  ]) {
    await database.query(
      `insert into warehouse.calls (call_id, started_at, content_hash, source, fetch_seq, fetched_at)
       select $1, now() - $2::interval, 'h', 'test', 1, recognized_at from ops.account`,
      ...[id, age],
    );
  }
  const service = createService({
    baseUrl: ours.url,
    apiKey: ours.apiKey,
    checkAccount: createAccountCheck({ db: database.db, log: captureLog().log }),
  });
  opened.push(service.close);
  expect((await service.lines.list()).data).toHaveLength(4);
});

test('a command takes the account that answers as the mirrored one, and the mirrored one not again', async () => {
  const [ours, theirs] = [await account(1), await account(2)];
  const { databaseUrl } = await mirrorOf(ours);
  const accept = (sandbox: Sandbox, ...args: string[]) => {
    const environment = { DATABASE_URL: databaseUrl, API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey };
    return runInProcess(environment, 'account', 'accept', ...args);
  };
  const needless = { code: 1, err: expect.stringContaining('nothing to accept') };
  expect(await accept(ours, '--yes')).toMatchObject(needless);
  expect(await accept(theirs)).toMatchObject({ code: 2 });
  expect(await accept(theirs, '--yes')).toMatchObject({ code: 0, out: expect.stringContaining('Accepted') });
  expect(await accept(theirs, '--yes')).toMatchObject(needless);
});

async function theirsNewest({ url, apiKey: key }: Sandbox): Promise<string> {
  const service = createService({ baseUrl: url, apiKey: key });
  // The hour that runs is compared after its end.
  const end = Math.floor(Date.now() / 3_600_000) * 3_600;
  const { data } = await service.calls.search({ start: end - 24 * 3_600, end, limit: 1 });
  await service.close();
  return data.calls[0]?.id ?? '';
}

describe('a service that is not this API', () => {
  const answers: [string, RequestListener][] = [
    ['404 with an error of its own', (_, response) => response.writeHead(404).end('{"error":"no such page"}')],
    [
      '404 in the envelope',
      (_, response) => response.writeHead(404).end('{"error":{"type":"not_found","message":"No such path"}}'),
    ],
    ['200 with HTML', (_, response) => response.writeHead(200).end('<html>It works</html>')],
    ['302', (_, response) => response.writeHead(302, { location: 'https://example.com/' }).end()],
  ];

  test('proves nothing and is named', async () => {
    const { databaseUrl, holdings, callId } = await mirrorOf(await account(1));
    for (const [name, listener] of answers) {
      const wrong = await worldOf(databaseUrl, await serve(listener), 'key');
      await wrong.deliver('AccountEndedCalls', { id: callId });
      await until(
        async () => (await problemOf(wrong)) !== undefined,
        () => name,
      );
      expect(await wrong.query(held), name).toEqual([holdings]);
      const settled = `select count(*)::int from ops.sync_targets where state <> 'active' or misses > 0`;
      expect(await wrong.value(settled), name).toBe(0);
      await wrong.close();
    }
  });

  test('is not adopted by an empty mirror, and a part of the path of the API leads nowhere', async () => {
    const ours = await account(1);
    const databaseUrl = await databaseForTest(migrated);
    const world = await worldOf(databaseUrl, `${ours.url}/api`, ours.apiKey);
    await until(async () => (await problemOf(world)) !== undefined);
    expect(await problemOf(world)).toContain('API_BASE_URL does not lead to this API');
    expect(await world.value('select count(*)::int from ops.account')).toBe(0);
  });
});

describe('what the operations say of the account', () => {
  type Says = 'ours' | 'none of ours' | 'fails' | 'forbidden';

  /** What reads say of ids of which a mirror holds two: one word for each of them. */
  function readsOf([call, lines, users]: readonly [Says, Says, Says], held: readonly string[]) {
    const errors = { 'none of ours': 'not_found', fails: 'rate_limited', forbidden: 'permission_denied' } as const;
    const told = async (says: Says, other: readonly string[] | undefined): Promise<string[]> => {
      if (says === 'ours') return [...held];
      if (says === 'none of ours' && other) return [...other];
      throw new ServiceError(errors[says], says, { operation: 'test', effect: 'none' });
    };
    return {
      call: async () => void (await told(call, undefined)),
      lines: () => told(lines, ['8', '9']),
      users: () => told(users, ['8', '9']),
    } as unknown as Parameters<typeof compareAccount>[1];
  }

  async function verdictOf(says: readonly [Says, Says, Says], holds: 'all' | 'nothing'): Promise<string> {
    const database = openDatabase(await databaseForTest(migrated));
    opened.push(async () => database[Symbol.asyncDispose]());
    if (holds === 'all') {
      await database.query(`insert into ops.account (recognized_at) values (now())`);
      const columns = 'content_hash, source, fetch_seq, fetched_at';
      const values = `'h', 'test', 1, now() - interval '1 minute'`;
      await database.query(
        `insert into warehouse.calls (call_id, started_at, ${columns}) values ('1600000000.1', now(), ${values})`,
      );
      await database.query(
        `insert into warehouse.sms_lines (line, ${columns}) values ('1', ${values}), ('2', ${values})`,
      );
      await database.query(`insert into warehouse.users (user_id, ${columns}) values (1, ${values}), (2, ${values})`);
    }
    return compareAccount(database.db, readsOf(says, ['1', '2'])).then(
      (reason) => (reason === undefined ? 'recognized' : 'refused'),
      (error: ServiceError) => error.code,
    );
  }

  test.each<[[Says, Says, Says], 'all' | 'nothing', string]>([
    [['ours', 'fails', 'fails'], 'all', 'recognized'],
    [['fails', 'ours', 'fails'], 'all', 'recognized'],
    [['fails', 'fails', 'ours'], 'all', 'recognized'],
    [['forbidden', 'forbidden', 'ours'], 'all', 'recognized'],
    [['none of ours', 'ours', 'ours'], 'all', 'refused'],
    [['none of ours', 'fails', 'fails'], 'all', 'refused'],
    [['forbidden', 'none of ours', 'none of ours'], 'all', 'refused'],
    // Neither proof of the mirrored account, nor of another one.
    [['fails', 'none of ours', 'ours'], 'all', 'rate_limited'],
    [['fails', 'none of ours', 'none of ours'], 'all', 'rate_limited'],
    [['fails', 'forbidden', 'forbidden'], 'all', 'rate_limited'],
    [['fails', 'fails', 'fails'], 'all', 'rate_limited'],
    [['ours', 'fails', 'ours'], 'nothing', 'recognized'],
    [['ours', 'ours', 'fails'], 'nothing', 'recognized'],
    [['ours', 'forbidden', 'forbidden'], 'nothing', 'recognized'],
    [['ours', 'fails', 'fails'], 'nothing', 'rate_limited'],
  ])('a call, the lines and the users: %j; the mirror holds %s: %s', async (says, holds, verdict) => {
    expect(await verdictOf(says, holds)).toBe(verdict);
  });
});

describe('an account that changes while a process runs', () => {
  /** A client through an address that leads to one of two accounts, with a clock of its own. */
  async function switching() {
    const accounts = [await account(1), await account(2)] as const;
    let at: 0 | 1 = 0;
    let failing = (_path: string): number | 'hangs' | undefined => undefined;
    const url = await serve(async (request, response) => {
      const { method = 'GET', url = '/' } = request;
      const failure = failing(url.slice('/api/public/v1'.length));
      if (failure === 'hangs') return;
      if (failure) return void response.writeHead(failure, { 'retry-after': '60' }).end('{"error":{"type":"any"}}');
      const body = await text(request);
      const answered = await fetch(accounts[at].url + url, {
        method,
        headers: { authorization: `Bearer ${accounts[at].apiKey}`, 'content-type': 'application/json' },
        ...(body !== '' && { body }),
      });
      response.writeHead(answered.status, { 'content-type': 'application/json' }).end(await answered.text());
    });
    const { databaseUrl, callId } = await mirrorOf(accounts[0]);
    const database = openDatabase(databaseUrl);
    opened.push(async () => database[Symbol.asyncDispose]());
    let now = 0;
    const { log } = captureLog();
    const service = createService({
      baseUrl: url,
      apiKey: 'key',
      checkAccount: createAccountCheck({ db: database.db, log }),
      clock: { now: () => now, sleep: async () => undefined, random: () => 0.5 } as never,
    });
    opened.push(service.close);
    const codeOf = (asked: Promise<unknown>) =>
      asked.then(
        () => 'answered',
        (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
      );
    return {
      ...{ service, callId, codeOf },
      lead(to: 0 | 1) {
        at = to;
      },
      fail(paths: RegExp | undefined, how: number | 'hangs' = 429) {
        failing = (path) => (paths?.test(path) ? how : undefined);
      },
      pass(ms: number) {
        now += ms;
      },
    };
  }

  test('is noticed before anything is proven by its answers, and forgotten with the right one back', async () => {
    const { service, callId, codeOf, lead, pass } = await switching();
    expect(await codeOf(service.calls.get(callId))).toBe('answered');
    expect(await codeOf(service.calls.get('1600000000.1'))).toBe('not_found');
    lead(1);
    pass(1);
    expect(await codeOf(service.confirmAccount('calls.search'))).toBe('account_unrecognized');
    expect(await codeOf(service.calls.get(callId))).toBe('account_unrecognized');
    lead(0);
    pass(11_000);
    expect(await codeOf(service.calls.get(callId))).toBe('answered');
    expect(await codeOf(service.confirmAccount('calls.search'))).toBe('answered');
  });

  test('is noticed beside the third 404', async () => {
    const { service, callId, codeOf, lead, pass } = await switching();
    expect(await codeOf(service.calls.get(callId))).toBe('answered');
    pass(16_000);
    lead(1);
    expect(await codeOf(service.calls.get(callId))).toBe('account_unrecognized');
    expect(await codeOf(service.calls.recordings(callId))).toBe('account_unrecognized');
    expect(service.accountProblem()).toContain('another account');
  });

  const oneCall = /^\/calls\/[\d.]+$/;

  test.each([
    ['a call', oneCall, 429],
    ['a call', oneCall, 'hangs'],
    ['the lines', /^\/sms\/lines/, 'hangs'],
  ] as const)('is recognized where reading %s fails (%s, %s)', async (_, paths, how) => {
    const { service, codeOf, fail } = await switching();
    fail(paths, how);
    const request = { from: '16465550100', to: ['12125550142'], message: 'Hello' };
    expect(await codeOf(service.unread.counts())).toBe('answered');
    expect(await codeOf(service.messages.send(request))).toBe('answered');
    expect(await codeOf(service.confirmAccount('calls.search'))).toBe('answered');
    expect(await codeOf(service.calls.recordings('1600000000.1'))).toBe('not_found');
  });

  test('stops nothing but proofs where nothing tells whose account answers', async () => {
    const { service, callId, codeOf, fail, pass } = await switching();
    expect(await codeOf(service.calls.get(callId))).toBe('answered');
    fail(/^\/calls\/[\d.]+$|^\/sms\/lines|^\/users/);
    pass(120_000);
    // The hour that runs is compared after its end.
    const end = Math.floor(Date.now() / 3_600_000) * 3_600;
    expect(await codeOf(service.calls.search({ start: end - 3_600, end }))).toBe('answered');
    expect(await codeOf(service.confirmAccount('calls.search'))).toBe('rate_limited');
    pass(2_000);
    expect(await codeOf(service.calls.recordings('1600000000.1'))).toBe('circuit_open');
    fail(undefined);
    pass(60_000);
    expect(await codeOf(service.confirmAccount('calls.search'))).toBe('answered');
  });
});
