import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { createService, ServiceError } from '../../src/api-client/client.ts';
import { compareAccount, createAccountCheck } from '../../src/credentials/account-check.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { runInProcess } from '../cli/in-process.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';
import { captureLog } from '../world/log.ts';
import { openAccounts } from './accounts.ts';

const { opened, account, serve, databaseAt } = openAccounts(afterEach);

const provenance = 'content_hash, source, fetch_seq, fetched_at';
const aMinuteAgo = `'h', 'test', 1, now() - interval '1 minute'`;

interface Held {
  readonly calls: readonly (readonly [id: string, startedAt: string])[];
  readonly lines: readonly string[];
  readonly users: readonly string[];
}

/** A mirror that holds this of an account that was recognized just now, after the reads of it. */
async function mirrorWith({ calls, lines, users }: Held) {
  const url = await databaseForTest(migrated);
  const database = databaseAt(url);
  await database.query('insert into ops.account (recognized_at) values (now())');
  for (const [id, startedAt] of calls)
    await database.query(
      `insert into warehouse.calls (call_id, started_at, ${provenance}) values ($1, $2, ${aMinuteAgo})`,
      ...[id, startedAt],
    );
  for (const line of lines)
    await database.query(`insert into warehouse.sms_lines (line, ${provenance}) values ($1, ${aMinuteAgo})`, line);
  for (const user of users)
    await database.query(`insert into warehouse.users (user_id, ${provenance}) values ($1, ${aMinuteAgo})`, user);
  return { url, database };
}

/** A mirror of the account of a sandbox, with its newest calls. */
async function mirrorOf({ url, apiKey }: Sandbox) {
  const service = createService({ baseUrl: url, apiKey });
  const end = Math.floor(Date.now() / 1_000);
  const { data } = await service.calls.search({ start: end - 30 * 86_400, end, limit: 20 });
  const held = {
    calls: data.calls.map(({ id, startTime = '' }) => [id, startTime] as const),
    lines: (await service.lines.list()).data.map(({ number }) => String(number)),
    users: (await service.users.list()).data.map(({ id }) => String(id)),
  };
  await service.close();
  return { ...(await mirrorWith(held)), callId: data.calls[0]?.id ?? '' };
}

/** A client that checks the account at an address. */
function checked({ database }: Awaited<ReturnType<typeof mirrorOf>>, url: string, apiKey: string, more: object = {}) {
  const { log } = captureLog();
  const { isOwnSandbox = false, ...options } = more as { isOwnSandbox?: boolean };
  const checkAccount = createAccountCheck({ db: database.db, log, isOwnSandbox });
  const service = createService({ baseUrl: url, apiKey, checkAccount, ...options });
  opened.push(service.close);
  return service;
}

const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'answered',
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  );

test('the mirror of the own sandbox follows its reset, and that of a real account does not', async () => {
  const after = await account(2);
  const mirror = await mirrorOf(await account(1));
  const { database } = mirror;
  await database.query(`insert into ops.coverage (stream, from_at, to_at, is_watched, due_at, state, proven_at, checked_at)
    values ('calls', 'epoch', '1970-01-01T01:00:00Z', true, 'infinity', 'proven', now(), now())`);
  const asked = () => codeOf(checked(mirror, after.url, after.apiKey, { isOwnSandbox: true }).lines.list());
  expect(await asked()).toBe('account_unrecognized');
  await database.query('update ops.account set is_sandbox = true');
  expect(await asked()).toBe('answered');
  expect(await database.value(`select count(*)::int from ops.coverage where proven_at is not null`)).toBe(0);
});

test('a refused key is told once, though the check of the account found it', async () => {
  const ours = await account(1, 400);
  const service = checked(await mirrorOf(ours), ours.url, 'of-nobody');
  const error = await service.users.list().catch((each) => each);
  expect(error.message).toMatch(/^users\.list: the service refuses the API key \(401/);
  expect(error.cause).toBeUndefined();
});

test('a service that lost its newest calls is the mirrored account', async () => {
  const ours = await account(1, 400);
  const mirror = await mirrorOf(ours);
  // Held, and no longer there, as after the service restored a back-up; of the calls before them, the older ones are there.
  await mirror.database.query(
    `insert into warehouse.calls (call_id, started_at, ${provenance})
     select '1600000000.' || n, now() - n * interval '1 minute', ${aMinuteAgo} from generate_series(1, 2) n`,
  );
  await mirror.database.query('truncate warehouse.sms_lines, warehouse.users');
  expect(await codeOf(checked(mirror, ours.url, ours.apiKey).lines.list())).toBe('answered');
});

test('a command takes the account that answers as the mirrored one, and the mirrored one not again', async () => {
  const [ours, theirs] = [await account(1), await account(2)];
  const { url: databaseUrl } = await mirrorOf(ours);
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

type Says = 'ours' | 'none of ours' | 'fails' | 'forbidden';

/** What reads say of ids of which a mirror holds two: one word for each of them. */
function readsOf([call, lines, users]: readonly [Says, Says, Says]) {
  const errors = { 'none of ours': 'not_found', fails: 'rate_limited', forbidden: 'permission_denied' } as const;
  const told = async (says: Says, other: readonly string[] | undefined): Promise<readonly string[]> => {
    if (says === 'ours') return ['1', '2'];
    if (says === 'none of ours' && other) return other;
    throw new ServiceError(errors[says], says, { operation: 'test', effect: 'none' });
  };
  const [theirs, none] = [['8', '9'], undefined];
  const reads = { call: () => told(call, none), lines: () => told(lines, theirs), users: () => told(users, theirs) };
  return reads as unknown as Parameters<typeof compareAccount>[1];
}

describe('what the operations say of the account', async () => {
  const empty = { calls: [], lines: [], users: [] };
  const all: Held = { calls: [['1600000000.1', new Date().toISOString()]], lines: ['1', '2'], users: ['1', '2'] };

  test.each<[Says, Says, Says, 'all' | 'nothing', string]>([
    ['ours', 'fails', 'fails', 'all', 'recognized'],
    ['fails', 'ours', 'fails', 'all', 'recognized'],
    ['fails', 'fails', 'ours', 'all', 'recognized'],
    ['forbidden', 'forbidden', 'ours', 'all', 'recognized'],
    ['none of ours', 'ours', 'ours', 'all', 'refused'],
    ['none of ours', 'fails', 'fails', 'all', 'refused'],
    ['forbidden', 'none of ours', 'none of ours', 'all', 'refused'],
    // Neither proof of the mirrored account, nor of another one.
    ['fails', 'none of ours', 'ours', 'all', 'rate_limited'],
    ['fails', 'none of ours', 'none of ours', 'all', 'rate_limited'],
    ['fails', 'forbidden', 'forbidden', 'all', 'rate_limited'],
    ['fails', 'fails', 'fails', 'all', 'rate_limited'],
    ['ours', 'fails', 'ours', 'nothing', 'recognized'],
    ['ours', 'ours', 'fails', 'nothing', 'recognized'],
    ['ours', 'forbidden', 'forbidden', 'nothing', 'recognized'],
    ['ours', 'fails', 'fails', 'nothing', 'rate_limited'],
  ])(
    'a call: %s, the lines: %s, the users: %s; the mirror holds %s: %s',
    async (call, lines, users, holds, verdict) => {
      const { database } = await mirrorWith(holds === 'all' ? all : empty);
      if (holds === 'nothing') await database.query('delete from ops.account');
      const compared = compareAccount(database.db, readsOf([call, lines, users])).then(
        (reason) => (reason === undefined ? 'recognized' : 'refused'),
        (error: ServiceError) => error.code,
      );
      expect(await compared).toBe(verdict);
    },
  );
});

describe('an account that changes while a process runs', () => {
  const oneCall = /^\/calls\/[\d.]+$/;

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
      const headers = { authorization: `Bearer ${accounts[at].apiKey}`, 'content-type': 'application/json' };
      const answered = await fetch(accounts[at].url + url, { method, headers, ...(body !== '' && { body }) });
      response.writeHead(answered.status, { 'content-type': 'application/json' }).end(await answered.text());
    });
    let now = 0;
    const mirror = await mirrorOf(accounts[0]);
    const clock = { now: () => now, sleep: async () => undefined, random: () => 0.5 };
    const service = checked(mirror, url, 'key', { clock });
    return {
      service,
      callId: mirror.callId,
      readCall: (id = mirror.callId) => codeOf(service.calls.get(id)),
      confirms: () => codeOf(service.confirmAccount('calls.search')),
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
    const { readCall, confirms, lead, pass } = await switching();
    expect([await readCall(), await readCall('1600000000.1')]).toEqual(['answered', 'not_found']);
    lead(1);
    pass(1);
    expect([await confirms(), await readCall()]).toEqual(['account_unrecognized', 'account_unrecognized']);
    lead(0);
    pass(11_000);
    expect([await readCall(), await confirms()]).toEqual(['answered', 'answered']);
  });

  test('is noticed beside the third 404', async () => {
    const { service, callId, readCall, lead, pass } = await switching();
    expect(await readCall()).toBe('answered');
    pass(16_000);
    lead(1);
    expect(await readCall()).toBe('account_unrecognized');
    expect(await codeOf(service.calls.recordings(callId))).toBe('account_unrecognized');
    expect(service.accountProblem()).toContain('another account');
  });

  test.each([
    ['a call', oneCall, 429],
    ['a call', oneCall, 'hangs'],
    ['the lines', /^\/sms\/lines/, 'hangs'],
  ] as const)('is recognized where reading %s fails (%s, %s)', async (_, paths, how) => {
    const { service, confirms, fail } = await switching();
    fail(paths, how);
    const request = { from: '16465550100', to: ['12125550142'], message: 'Hello' };
    expect(await codeOf(service.unread.counts())).toBe('answered');
    expect(await codeOf(service.messages.send(request))).toBe('answered');
    expect(await confirms()).toBe('answered');
    expect(await codeOf(service.calls.recordings('1600000000.1'))).toBe('not_found');
  });

  test('stops nothing but proofs where nothing tells whose account answers', async () => {
    const { service, readCall, confirms, fail, pass } = await switching();
    expect(await readCall()).toBe('answered');
    fail(/^\/calls\/[\d.]+$|^\/sms\/lines|^\/users/);
    pass(120_000);
    // The hour that runs is compared after its end.
    const end = Math.floor(Date.now() / 3_600_000) * 3_600;
    expect(await codeOf(service.calls.search({ start: end - 3_600, end }))).toBe('answered');
    expect(await confirms()).toBe('rate_limited');
    pass(2_000);
    expect(await codeOf(service.calls.recordings('1600000000.1'))).toBe('circuit_open');
    fail(undefined);
    pass(60_000);
    expect(await confirms()).toBe('answered');
  });
});
