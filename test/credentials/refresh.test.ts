import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { forgetTokens } from '../../src/credentials/tokens.ts';
import { proxyPage } from '../sandbox/presets.ts';
import { onLocks } from '../world/database.ts';
import { afterFailure, createLoginWorld, encryptionKey } from './login-world.ts';

const loginWorld = await createLoginWorld();
const { sandbox, database } = loginWorld;
const token = 'getTokens';
const discovery = 'discoverOAuth';

const loginNeeded = { code: 'login_required', advice: 'credential' };
const later = { code: 'unauthenticated', advice: 'retry' };

describe('a token', () => {
  test('is replaced before it ends, while it is still used', async () => {
    await loginWorld.logIn({ expiresInSeconds: 6 });
    await using client = loginWorld.open();
    const { version } = await loginWorld.row();
    // A third of a short life is the time ahead.
    await expect.poll(() => client.service.lines.list().then(loginWorld.refreshes)).toEqual([200]);
    await expect.poll(async () => (await loginWorld.row()).version).not.toBe(version);
    expect(sandbox.requests(1_000).filter(({ status }) => status === 401)).toEqual([]);
  });

  test('of a log in is seen within seconds, also where the clock of the machine was put back meanwhile', async () => {
    await using client = loginWorld.open();
    await expect(client.service.lines.list()).rejects.toMatchObject(loginNeeded);
    const now = Date.now.bind(Date);
    const wall = vi.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000);
    onTestFinished(() => wall.mockRestore());
    await loginWorld.logIn();
    const lines = () => client.service.lines.list().then(({ data }) => data.length);
    await expect.poll(lines).toBeGreaterThan(0);
  });

  test('that has ended is replaced before anything is asked', async () => {
    await loginWorld.logIn({ expiresInSeconds: 0 });
    await using client = loginWorld.open();
    await client.service.lines.list();
    expect(loginWorld.refreshes()).toEqual([200]);
    expect(sandbox.requests(1_000).filter(({ status }) => status === 401)).toEqual([]);
  });

  test('is not shown to another service than it is from', async () => {
    await loginWorld.logIn({ service: 'https://another.example' });
    await using client = loginWorld.open();
    await expect(client.service.lines.list()).rejects.toMatchObject(loginNeeded);
    expect(sandbox.requests()).toEqual([]);
  });

  test('that the service refuses however new it is does not become a storm of refreshes', async () => {
    await loginWorld.logIn();
    await using client = loginWorld.open();
    sandbox.faults({ kind: 'answer', status: 401 });
    for (let round = 0; round < 12; round += 1) await client.service.lines.list().catch(() => undefined);
    expect(loginWorld.refreshes()).toHaveLength(5);
    await expect(client.service.lines.list()).rejects.toMatchObject({
      ...later,
      message: expect.stringContaining('just issued'),
    });
  });
});

describe('a refresh', () => {
  test('whose answer is lost means: log in again, and the old token is never shown another time', async () => {
    await loginWorld.logIn({ expiresInSeconds: 0 });
    await using client = loginWorld.open();
    sandbox.faults({ kind: 'reset', when: 'after', operation: token, times: 1 });
    await expect(client.service.lines.list()).rejects.toMatchObject({
      ...loginNeeded,
      message: expect.stringContaining('trunkline auth login'),
    });
    await afterFailure();
    await expect(client.service.lines.list()).rejects.toMatchObject(loginNeeded);
    await using another = loginWorld.open();
    await expect(another.service.lines.list()).rejects.toMatchObject(loginNeeded);
    expect(loginWorld.refreshes()).toHaveLength(1);
    expect(await loginWorld.row()).toMatchObject({ state: 'lost', last_error: expect.stringContaining('lost') });
  });

  test('that the service refuses means: log in again', async () => {
    await loginWorld.logIn({ expiresInSeconds: 0 });
    await using client = loginWorld.open();
    await fetch(`${sandbox.url}/_sandbox/grants`, { method: 'DELETE' });
    await expect(client.service.lines.list()).rejects.toMatchObject(loginNeeded);
    await afterFailure();
    await expect(client.service.lines.list()).rejects.toMatchObject(loginNeeded);
    expect(loginWorld.refreshes()).toEqual([400]);
    expect(await loginWorld.row()).toMatchObject({ state: 'lost' });
  });

  test.each([
    ['cannot even be begun', { kind: 'reset' as const, operation: discovery }, 0],
    ['is refused its discovery', { kind: 'answer' as const, status: 401, operation: discovery }, 0],
    ['is forbidden its discovery', { kind: 'answer' as const, status: 403, operation: discovery }, 0],
    ['finds a web page for its discovery', { ...proxyPage(200), operation: discovery }, 0],
    ['is asked to wait', { kind: 'answer' as const, status: 429, operation: token }, 1],
    ['is answered that the service has failed', { kind: 'answer' as const, status: 500, operation: token }, 1],
    ['is answered that the service is not available', { kind: 'answer' as const, status: 503, operation: token }, 1],
  ])('that %s is made later, with the same token', async (_what, fault, asked) => {
    await loginWorld.logIn({ expiresInSeconds: 0 });
    await using client = loginWorld.open();
    sandbox.faults(fault);
    await expect(client.service.lines.list()).rejects.toMatchObject(later);
    await expect(client.service.lines.list()).rejects.toMatchObject(later);
    expect(loginWorld.refreshes()).toHaveLength(asked);
    expect(await loginWorld.row()).toMatchObject({ state: 'valid', failures: 1 });

    sandbox.faults();
    await database.query('update secrets.oauth_tokens set retry_at = now()');
    await using next = loginWorld.open();
    await next.service.lines.list();
    expect(loginWorld.refreshes()).toHaveLength(asked + 1);
    expect(await loginWorld.row()).toMatchObject({ state: 'valid', failures: 0, last_error: null });
  });

  test('that a proxy answers for the service is a lost answer', async () => {
    await loginWorld.logIn({ expiresInSeconds: 0 });
    await using client = loginWorld.open();
    sandbox.faults({ ...proxyPage(502), operation: token });
    await expect(client.service.lines.list()).rejects.toMatchObject(loginNeeded);
    expect(await loginWorld.row()).toMatchObject({ state: 'lost' });
  });

  test('rests longer after each failure, and all processes keep to it', async () => {
    await loginWorld.logIn({ expiresInSeconds: 0 });
    await using one = loginWorld.open();
    await using other = loginWorld.open();
    sandbox.faults({ kind: 'answer', status: 503, operation: token });
    await expect(one.service.lines.list()).rejects.toMatchObject(later);
    await expect(other.service.lines.list()).rejects.toMatchObject(later);
    expect(loginWorld.refreshes()).toEqual([503]);
    const rest = 'select extract(epoch from retry_at - now())::float8 from secrets.oauth_tokens';
    expect(await database.value(rest)).toBeGreaterThan(10);
    await database.query('update secrets.oauth_tokens set retry_at = now(), failures = 20');
    await using third = loginWorld.open();
    await expect(third.service.lines.list()).rejects.toMatchObject(later);
    expect(await database.value(rest)).toBeGreaterThan(290);
    expect(await database.value(rest)).toBeLessThan(301);
  });

  test('that fails while the token is still good disturbs nobody', async () => {
    await loginWorld.logIn({ expiresInSeconds: 40 });
    await database.query(`update secrets.oauth_tokens set issued_at = now() - interval '1 hour'`);
    await using client = loginWorld.open();
    sandbox.faults({ kind: 'answer', status: 503, operation: token });
    for (let round = 0; round < 5; round += 1) await client.service.lines.list();
    await expect.poll(async () => (await loginWorld.row()).failures).toBe(1);
    await client.service.lines.list();
    expect(loginWorld.refreshes()).toEqual([503]);
  });

  test('under way when somebody logs out stores nothing', async () => {
    await loginWorld.logIn({ expiresInSeconds: 0 });
    await using client = loginWorld.open();
    sandbox.faults({ kind: 'slow', ms: 1_000, operation: token });
    const asked = client.service.lines.list();
    asked.catch(() => undefined);
    await expect.poll(async () => (await loginWorld.row()).state, { interval: 20 }).toBe('refreshing');
    await forgetTokens(database.db);
    await expect(asked).rejects.toMatchObject(loginNeeded);
    expect(await database.query('select from secrets.oauth_tokens')).toEqual([]);
  });

  test('under way when somebody logs in again leaves the new tokens alone', async () => {
    await loginWorld.logIn({ expiresInSeconds: 0 });
    await using client = loginWorld.open();
    sandbox.faults({ kind: 'slow', ms: 1_000, operation: token });
    const asked = client.service.lines.list();
    await expect.poll(async () => (await loginWorld.row()).state, { interval: 20 }).toBe('refreshing');
    await loginWorld.logIn();
    const { version } = await loginWorld.row();
    await asked;
    expect(await loginWorld.row()).toMatchObject({ version, state: 'valid' });
  });

  test('whose lock breaks while its answer is on its way still stores what came', async () => {
    await loginWorld.logIn({ expiresInSeconds: 0 });
    await using client = loginWorld.open();
    sandbox.faults({ kind: 'slow', ms: 1_500, operation: token });
    const asked = client.service.lines.list();
    await expect.poll(async () => (await loginWorld.row()).state, { interval: 20 }).toBe('refreshing');
    await database.query(
      `select pg_terminate_backend(pid) from pg_locks where ${onLocks} and database = (select oid from pg_database where datname = current_database())`,
    );
    await asked;
    expect(loginWorld.refreshes()).toEqual([200]);
    expect(await loginWorld.row()).toMatchObject({ state: 'valid' });
  });
});

describe('without a usable log in', () => {
  test('a request says what to do, and asks the service nothing', async () => {
    await using client = loginWorld.open();
    await expect(client.service.lines.list()).rejects.toMatchObject({
      ...loginNeeded,
      message: 'credential: nobody is logged in: log in with `npx trunkline auth login`',
    });
    expect(sandbox.requests()).toEqual([]);
  });

  test('another ENCRYPTION_KEY is told as that', async () => {
    await loginWorld.logIn();
    await using client = loginWorld.open({ encryptionKey: 'another key of thirty-two letters or more' });
    await expect(client.service.lines.list()).rejects.toMatchObject({
      ...loginNeeded,
      message: expect.stringContaining('cannot be opened with this ENCRYPTION_KEY'),
    });
    expect(sandbox.requests()).toEqual([]);
  });

  test('a Postgres that is away means: a little later', async () => {
    await using client = loginWorld.open({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none' });
    await expect(client.service.lines.list()).rejects.toMatchObject(later);
  });
});

test('nothing that is stored shows a token, and nothing that is logged', async () => {
  const given = await loginWorld.logIn({ expiresInSeconds: 0 });
  await using client = loginWorld.open();
  await client.service.lines.list();
  await loginWorld.expire();
  await client.service.lines.list();
  sandbox.faults({ kind: 'reset', when: 'after', operation: token });
  await loginWorld.expire();
  await client.service.lines.list().catch(() => undefined);

  const [row] = await database.query<{ text: string }>('select t::text as text from secrets.oauth_tokens t');
  const header = await client.open.credential.authorization().catch(() => 'Bearer none');
  const secrets = [given.access_token, given.refresh_token, encryptionKey, header.slice('Bearer '.length)];
  for (const secret of secrets.filter((each) => each !== 'none')) {
    expect(row?.text).not.toContain(secret);
    expect(row?.text).not.toContain(Buffer.from(secret).toString('hex'));
    expect(loginWorld.logged()).not.toContain(secret);
  }
  expect(loginWorld.logged()).toContain('Somebody has to log in again');
});
