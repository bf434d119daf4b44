import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createOAuth } from '../../src/api-client/oauth/oauth.ts';
import { serviceName } from '../../src/credentials/credentials.ts';
import { beginLogin, type LoginRequest, readOutcome, ScopesNotOffered } from '../../src/credentials/login.ts';
import { createSealer } from '../../src/credentials/sealer.ts';
import { createLog } from '../../src/shared/log.ts';
import { open } from '../sandbox/oauth/login.ts';
import { consent } from './consent.ts';
import { startDaemon } from './daemon.ts';
import { createLoginWorld, encryptionKey } from './login-world.ts';

const loginWorld = await createLoginWorld();
const { sandbox, database } = loginWorld;
const daemon = await startDaemon(loginWorld);
const oauth = createOAuth({ baseUrl: sandbox.url, log: createLog('silent') });
afterAll(async () => {
  await oauth.close();
  await daemon[Symbol.asyncDispose]();
});

/** Begins a login at the daemon. */
const begin = (wish: Partial<LoginRequest> = {}) =>
  beginLogin(
    { db: database.db, sealer: createSealer(encryptionKey), oauth },
    {
      ...{ service: serviceName(sandbox.url), publicUrl: daemon.receiver.url, scopes: undefined },
      ...{ registerAgain: false, validMs: 60_000, ...wish },
    },
  );

// The sandbox forgets its clients between two tests.
beforeEach(() => database.query('delete from secrets.oauth_clients'));

describe('a log in that is allowed', () => {
  test('leaves tokens with which the service can be asked', async () => {
    const begun = await begin();
    const { status, body } = await open(await consent(begun.url));
    expect([status, body]).toEqual([200, expect.stringContaining('You are logged in; this window can be closed.')]);
    expect(await readOutcome(database.db, begun.id)).toEqual({ outcome: 'granted', missingScopes: [] });
    await using client = loginWorld.open();
    expect((await client.service.lines.list()).data.length).toBeGreaterThan(0);
  });

  test('in part says so, and keeps what was granted', async () => {
    const begun = await begin();
    const { body } = await open(await consent(begun.url, { scope: ['sms:read', 'users:read'] }));
    expect(body).toContain('not with all requested scopes');
    expect(await readOutcome(database.db, begun.id)).toMatchObject({
      outcome: 'granted',
      missingScopes: expect.arrayContaining(['reports:read', 'recordings:read']),
    });
    expect(await database.value('select scopes from secrets.oauth_tokens')).toEqual(['users:read', 'sms:read']);
  });

  test('takes the place of one that was lost', async () => {
    await loginWorld.logIn();
    await database.query(`update secrets.oauth_tokens set state = 'lost', last_error = 'gone', failures = 3`);
    await open(await consent((await begin()).url));
    expect(await loginWorld.row()).toMatchObject({ state: 'valid', last_error: null, failures: 0 });
  });

  test('registers the program once, and again when that is asked for', async () => {
    const registrations = () => sandbox.requests().filter(({ path }) => path.endsWith('/register')).length;
    await begin();
    await begin();
    expect(registrations()).toBe(1);
    await begin({ registerAgain: true });
    expect(registrations()).toBe(2);
    await begin();
    expect(registrations()).toBe(2);
  });
});

describe('a log in of somebody who may', () => {
  beforeEach(() => database.query('truncate ops.sync_targets, ops.coverage'));
  const inFuture = () =>
    database.query<{ soon: boolean }>(
      `select due_at < now() + interval '1 minute' as soon from ops.sync_targets where dirty_version > clean_version
       union all select due_at < now() + interval '1 minute' from ops.coverage`,
    );

  test('has all asked for again that was refused to the one before, when the new pair is seen everywhere', async () => {
    await database.query(
      `insert into ops.sync_targets (kind, key, dirty_version, clean_version, due_at, read_at, state, last_error)
       values ('thread', '16465550101/12125550123', 2, 1, now() + interval '1 day', now(), 'forbidden', 'not yours'),
         ('call', '1700000001.1', 2, 1, now() + interval '1 day', now(), 'forbidden', 'not yours')`,
    );
    await database.query(
      `insert into ops.coverage (stream, from_at, to_at, is_watched, state, due_at, attempts, last_error)
       values ('calls', now() - interval '3 hours', now() - interval '2 hours', true, 'failed', now() + interval '1 hour', 6, 'not yours')`,
    );
    await open(await consent((await begin()).url));
    expect(await inFuture()).toEqual([{ soon: true }, { soon: true }, { soon: true }]);
    // Processes that still hold the pair before must not ask with it.
    expect(await database.value("select min(due_at) > now() + interval '9 seconds' from ops.sync_targets")).toBe(true);
  });

  test('has that asked for again too which was refused while the pair before was still held', async () => {
    await open(await consent((await begin()).url));
    await database.query(
      `insert into ops.sync_targets (kind, key, dirty_version, clean_version, due_at, read_at, state, last_error)
       values ('call', '1700000001.1', 2, 1, now() + interval '1 day', now(), 'forbidden', 'not yours')`,
    );
    await expect.poll(inFuture).toEqual([{ soon: true }]);
  });
});

describe('a log in that fails', () => {
  test('because the user says no is told as that', async () => {
    const begun = await begin();
    const { status, body } = await open(await consent(begun.url, { decision: 'deny' }));
    expect([status, body]).toEqual([200, expect.stringContaining('Access was not granted')]);
    expect(await readOutcome(database.db, begun.id)).toEqual({ outcome: 'denied' });
    expect(await database.query('select from secrets.oauth_tokens')).toEqual([]);
  });

  test.each([
    ['of another log in', 'state=nobody-knows-it&code=a-code'],
    ['that is missing', 'code=a-code'],
    ['that is empty', 'state=&code=a-code'],
  ])('because of a state %s changes nothing', async (_what, search) => {
    const begun = await begin();
    const { status, body } = await open(`${daemon.receiver.url}/oauth/callback?${search}`);
    expect([status, body]).toEqual([400, expect.stringContaining('no longer pending')]);
    expect(body).not.toContain('a-code');
    expect(await readOutcome(database.db, begun.id)).toBeUndefined();
    expect(await database.query('select from secrets.oauth_tokens')).toEqual([]);
    expect(loginWorld.refreshes()).toEqual([]);
  });

  test('because its answer comes a second time leaves the first', async () => {
    const address = await consent((await begin()).url);
    await open(address);
    const { version } = await loginWorld.row();
    expect((await open(address)).status).toBe(400);
    expect(loginWorld.refreshes()).toHaveLength(1);
    expect(await loginWorld.row()).toMatchObject({ version, state: 'valid' });
  });

  test('because it took too long is over', async () => {
    const begun = await begin({ validMs: 0 });
    expect((await open(await consent(begun.url))).status).toBe(400);
    expect(await database.query('select from secrets.oauth_tokens')).toEqual([]);
  });

  test('because the code is not taken says so where it began, and not in the browser', async () => {
    const begun = await begin();
    const address = new URL(await consent(begun.url));
    address.searchParams.set('code', 'no-such-code');
    const { status, body } = await open(address.href);
    expect([status, body]).toEqual([502, expect.stringContaining('The reason is in the terminal')]);
    expect(await readOutcome(database.db, begun.id)).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('invalid_grant'),
    });
  });

  test.each([
    ['another', { ENCRYPTION_KEY: 'another key of thirty-two letters or more' }],
    ['no', { ENCRYPTION_KEY: '', API_KEY: sandbox.apiKey }],
  ])('because the receiver has %s ENCRYPTION_KEY says so', async (which, environment) => {
    await using other = await startDaemon(loginWorld, environment);
    const begun = await begin({ publicUrl: other.receiver.url });
    expect((await open(await consent(begun.url))).status).toBe(502);
    expect(await readOutcome(database.db, begun.id)).toMatchObject({
      reason: expect.stringContaining(`${which} ENCRYPTION_KEY`),
    });
  });

  test('because of a scope that nobody offers names those that are offered', async () => {
    await expect(begin({ scopes: ['sms:read', 'sms:fly'] })).rejects.toThrow(ScopesNotOffered);
    await expect(begin({ scopes: ['sms:fly'] })).rejects.toThrow(/sms:fly; it offers .*sms:send/);
  });
});

test('the page may load nothing, and nobody may frame it or keep it', async () => {
  const { headers } = await open(`${daemon.receiver.url}/oauth/callback?state=x`);
  const policy = headers.get('content-security-policy') ?? '';
  for (const part of ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]) {
    expect(policy).toContain(part);
  }
  expect(policy).not.toContain('unsafe');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
});

test('neither log nor database shows a state, a code, a verifier or a token', async () => {
  const begun = await begin();
  const address = await consent(begun.url);
  const [kept] = await database.query<{ text: string; verifier: Buffer }>(
    'select l::text as text, verifier from secrets.oauth_logins l order by login_id desc limit 1',
  );
  await open(address);
  await using client = loginWorld.open();
  const token = (await client.open.credential.authorization()).slice('Bearer '.length);
  const { searchParams } = new URL(address);
  const verifier = createSealer(encryptionKey).open(kept?.verifier as Buffer, 'oauth_logins.verifier');
  for (const secret of [searchParams.get('state'), searchParams.get('code'), verifier, token]) {
    expect(daemon.logged()).not.toContain(secret);
    expect(kept?.text).not.toContain(secret);
  }
  expect(daemon.logged()).toContain('Somebody logged in');
});

/** May see neither texts nor calls, once `strip` took that away. */
const wrongUser = 4128;

async function strip(): Promise<void> {
  const answer = await fetch(`${sandbox.url}/_sandbox/users/${wrongUser}/role`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ users: 'all', phoneNumbers: false, callReports: false, allowRecordings: false }),
  });
  expect(answer.status).toBe(200);
}

async function logIn(user?: number): Promise<void> {
  const { url } = await begin();
  expect((await open(await consent(url, user === undefined ? {} : { user }))).status).toBe(200);
}

test('what the wrong user was refused comes within a minute of the right log in', async () => {
  await strip();
  await logIn(wrongUser);
  const { id } = await sandbox.emit.call({ status: 'answered' });
  const { line, number } = await sandbox.emit.sms();
  const keys = [id, `${line}/${number}`];
  await database.query(`insert into ops.sync_targets (kind, key) values ('call', $1), ('thread', $2)`, ...keys);
  await daemon.work();
  const states = () =>
    database.query('select kind, state from ops.sync_targets where key = any($1) order by kind, state', keys);
  await expect.poll(states).toEqual(
    expect.arrayContaining([
      { kind: 'call', state: 'forbidden' },
      { kind: 'thread', state: 'forbidden' },
    ]),
  );

  await logIn();
  const began = performance.now();
  await expect
    .poll(() => database.value('select count(*)::integer from warehouse.calls where call_id = $1', id))
    .toBe(1);
  await expect
    .poll(() => database.value('select count(*)::integer from warehouse.sms_messages where line = $1', line))
    .toBeGreaterThan(0);
  expect(performance.now() - began).toBeLessThan(60_000);
  expect(daemon.logged()).toContain('The login makes refused reads due again');
});
