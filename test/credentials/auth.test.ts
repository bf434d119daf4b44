import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { json } from '../api-client/endpoint.ts';
import { startService } from '../api-client/oauth/service.ts';
import { launchBrowser } from '../browser.ts';
import { open } from '../sandbox/oauth/login.ts';
import { type Command, trunkline } from './commands.ts';
import { consent } from './consent.ts';
import { startDaemon } from './daemon.ts';
import { createLoginWorld } from './login-world.ts';

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
const loginWorld = await createLoginWorld();
const { sandbox, database } = loginWorld;
const daemon = await startDaemon(loginWorld);
afterAll(() => daemon[Symbol.asyncDispose]());
// The sandbox forgets its clients between two tests.
beforeEach(() => database.query('delete from secrets.oauth_clients'));

const auth = (...args: string[]): Command => trunkline(daemon.environment, 'auth', ...args);

/** The address that a log in tells its user to open. */
async function addressOf(login: Command, stream: 'out' | 'err' = 'out'): Promise<string> {
  await expect.poll(() => login[stream]() + login.err()).toMatch(/\/authorize\S+\n/);
  return /\S+\/authorize\S+/.exec(login[stream]())?.[0] as string;
}

describe('auth login', () => {
  test('waits for the answer, and says what was granted and what is missing', async () => {
    const login = auth('login');
    const address = await addressOf(login);
    expect(new URL(address).searchParams.get('redirect_uri')).toBe(`${daemon.receiver.url}/oauth/callback`);
    await open(await consent(address, { scope: ['sms:read', 'reports:read'] }));
    expect(await login.ended).toBe(0);
    expect(login.out()).toContain('Granted: reports:read sms:read');
    expect(login.out()).toMatch(/Requested but not granted: .*recordings:read/);
  });

  test('says in JSON what was granted', async () => {
    const login = auth('login', '--json');
    await open(await consent(await addressOf(login, 'err'), { user: 4128 }));
    expect(await login.ended).toBe(0);
    expect(JSON.parse(login.out())).toMatchObject({ missing: [], apiKeyIsSet: false });
  });

  test('asks for the scopes that it is told', async () => {
    const login = auth('login', '--scopes', 'sms:read,sms:send');
    const address = await addressOf(login);
    expect(new URL(address).searchParams.get('scope')).toBe('sms:read sms:send');
    await open(await consent(address, { scope: ['sms:read', 'sms:send'] }));
    expect(await login.ended).toBe(0);
  });

  test('fails with one sentence when the user says no', async () => {
    const login = auth('login');
    await open(await consent(await addressOf(login), { decision: 'deny' }));
    expect(await login.ended).toBe(1);
    expect(login.err()).toBe('The user refused; nothing was granted.\n');
  });

  test('fails when nobody answers in time, and takes no answer after that', async () => {
    const login = auth('login', '--wait', '1');
    const address = await addressOf(login);
    expect(await login.ended).toBe(1);
    expect(login.err()).toMatch(/^No answer arrived in time.*trunkline web/);
    expect((await open(await consent(address))).status).toBe(400);
  });

  test('fails with a cure when the service does not allow the address', async () => {
    const login = trunkline({ ...daemon.environment, PUBLIC_URL: 'http://trunkline.example' }, 'auth', 'login');
    expect(await login.ended).toBe(1);
    expect(login.err()).toMatch(/^The login cannot start .*PUBLIC_URL must be HTTPS/);
    expect(login.err()).not.toContain('    at ');
  });

  test('repeats the reason of another refusal, and names who can help', async () => {
    const refusal = { error: { type: 'invalid_request', message: 'unknown field software_id' } };
    const { url } = await startService({ registration: (response) => json(response, 400, refusal) });
    const login = trunkline({ ...daemon.environment, API_BASE_URL: url }, 'auth', 'login');
    expect(await login.ended).toBe(1);
    expect(login.err()).toMatch(/^The login cannot start .*unknown field software_id.*operator/);
  });

  test('that cannot reach the service says so', async () => {
    const login = trunkline({ ...daemon.environment, API_BASE_URL: 'http://127.0.0.1:1' }, 'auth', 'login');
    expect(await login.ended).toBe(1);
    expect(login.err()).toMatch(/^The login cannot start .*Check that API_BASE_URL is right/);
  });

  test('names what it lacks', async () => {
    const login = trunkline({ DATABASE_URL: database.url }, 'auth', 'login');
    expect(await login.ended).toBe(2);
    for (const name of ['API_BASE_URL', 'PUBLIC_URL', 'ENCRYPTION_KEY'])
      expect(login.err()).toContain(`${name} is missing`);
  });
});

describe('auth status', () => {
  test('says that nobody is logged in', async () => {
    const status = auth('status');
    expect(await status.ended).toBe(0);
    expect(status.out()).toContain('nobody is logged in');
  });

  test('shows scopes, expiry and state, and no token', async () => {
    const given = await loginWorld.logIn();
    const [status, asJson] = [auth('status'), auth('status', '--json')];
    expect(await Promise.all([status.ended, asJson.ended])).toEqual([0, 0]);
    expect(status.out()).toMatch(/state +valid\n/);
    expect(JSON.parse(asJson.out())).toMatchObject({
      inUse: 'login',
      login: { state: 'valid', scopes: given.scope.split(' '), service: sandbox.url },
    });
    for (const { out } of [status, asJson]) {
      expect(out()).not.toContain(given.access_token);
      expect(out()).not.toContain(given.refresh_token);
    }
  });

  test('says when somebody has to log in again, and when an API key goes before', async () => {
    await loginWorld.logIn();
    await database.query(`update secrets.oauth_tokens set state = 'lost', last_error = 'its answer is lost'`);
    const lost = auth('status');
    const keyed = trunkline({ ...daemon.environment, API_KEY: sandbox.apiKey }, 'auth', 'status');
    expect(await Promise.all([lost.ended, keyed.ended])).toEqual([0, 0]);
    expect(lost.out()).toMatch(/state +lost: run `npx trunkline auth login`/);
    expect(lost.out()).toContain('its answer is lost');
    expect(keyed.out()).toContain('In use: API_KEY.');
  });
});

test('auth logout forgets the tokens, and shows in a dry run that it would', async () => {
  await loginWorld.logIn();
  const looked = auth('logout', '--dry-run');
  expect(await looked.ended).toBe(0);
  expect(looked.out()).toContain('The tokens would be deleted');
  expect(await loginWorld.row()).toMatchObject({ state: 'valid' });
  const done = auth('logout', '--yes', '--json');
  expect(await done.ended).toBe(0);
  expect(JSON.parse(done.out())).toEqual({ wasLoggedIn: true, isDone: true });
  expect(await database.query('select from secrets.oauth_tokens')).toEqual([]);
});

describe('a person with a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  test('logs in through the consent page, and the daemon mirrors for them', async () => {
    await daemon.work();
    const login = auth('login');
    const page = await browser.newPage();
    const said: string[] = [];
    page.on('console', (message) => said.push(message.text()));
    await page.goto(await addressOf(login));
    await page.getByLabel('Sign in as').selectOption({ label: 'Karen Whitfield, Billing manager' });
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('You are logged in; this window can be closed.').waitFor();
    expect(said.filter((each) => !each.includes('favicon'))).toEqual([]);
    expect(await login.ended).toBe(0);
    expect(login.out()).toContain('Logged in');
    await expect
      .poll(() => database.value('select count(*)::int from warehouse.sms_lines'), { interval: 200 })
      .toBeGreaterThan(0);
    await expect.poll(() => database.query('select from ops.streams')).toEqual([]);
    await page.close();
  });
});
