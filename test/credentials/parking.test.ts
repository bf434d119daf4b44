import { afterAll, expect, test } from 'vitest';
import { diagnose } from '../../src/ops/doctor.ts';
import { healthChecks } from '../../src/ops/health-checks.ts';
import { takeSnapshot } from '../../src/ops/snapshot.ts';
import { createLog } from '../../src/shared/log.ts';
import { runInProcess } from '../cli/in-process.ts';
import { open } from '../sandbox/oauth/login.ts';
import { trunkline } from './commands.ts';
import { consent } from './consent.ts';
import { startDaemon } from './daemon.ts';
import { createLoginWorld } from './login-world.ts';

const loginWorld = await createLoginWorld();
const { database, sandbox } = loginWorld;
const daemon = await startDaemon(loginWorld);
afterAll(() => daemon[Symbol.asyncDispose]());

const streams = () =>
  database.query<{ kind: string; code: string; missing_scope: string | null }>(
    'select kind, code, missing_scope from ops.streams order by kind',
  );
const sentences = async () => healthChecks(await takeSnapshot(daemon.context)).map(({ sentence }) => sentence);

/** Logs in through the command and the receiver, but without a browser. */
async function logIn(scope?: readonly string[]): Promise<void> {
  await database.query('delete from secrets.oauth_clients');
  const login = trunkline(daemon.environment, 'auth', 'login');
  await expect.poll(() => login.out() + login.err()).toMatch(/\/authorize\S+\n/);
  await open(await consent(/\S+\/authorize\S+/.exec(login.out())?.[0] as string, scope ? { scope } : {}));
  expect(await login.ended).toBe(0);
}

test('streams wait while nobody is logged in, say why, and go on by themselves within a minute', async () => {
  await daemon.work();
  await expect.poll(streams).toMatchObject([
    { kind: 'lines', missing_scope: null, code: 'login_required' },
    { kind: 'users', missing_scope: null, code: 'login_required' },
  ]);
  expect(await sentences()).toContainEqual(
    expect.stringMatching(/^(?:Lines and users|Users and lines) are not read: a login is needed\.$/),
  );

  const began = performance.now();
  await logIn();
  await expect.poll(streams, { interval: 100 }).toEqual([]);
  expect(performance.now() - began).toBeLessThan(60_000);
  expect(await database.value('select count(*)::int from warehouse.sms_lines')).toBeGreaterThan(0);
});

test('a log in that is lost is told, and parks nothing but what asks', async () => {
  await logIn();
  // The daemon holds the new pair from here on.
  await daemon.context.service?.users.list();
  await loginWorld.expire();
  sandbox.faults({ kind: 'reset', when: 'after', operation: 'getTokens', times: 1 });
  await runInProcess(daemon.environment, 'resync', 'users', 'all');
  await expect.poll(async () => (await streams()).map(({ kind }) => kind)).toEqual(['users']);
  expect((await sentences())[0]).toBe('The login is no longer valid, so nothing is read.');
  const authorization = `Bearer ${daemon.environment.ADMIN_TOKEN}`;
  const page = await (await fetch(daemon.receiver.url, { headers: { authorization } })).text();
  expect(page).toContain('lost: log in again');
  const findings = await diagnose(daemon.context.settings, createLog('silent'));
  for (const begin of ['The login is no longer valid', 'The login cannot be used']) {
    expect(findings.find(({ sentence }) => sentence.startsWith(begin))).toMatchObject({
      level: 'problem',
      remedy: expect.stringContaining('Run `npx trunkline auth login`'),
    });
  }

  await logIn();
  await expect.poll(streams, { interval: 100 }).toEqual([]);
  expect(await sentences()).not.toContain('The login is no longer valid, so nothing is read.');
});

test('a scope that was not granted parks only what needs it, and is named everywhere', async () => {
  await logIn(['sms:read', 'reports:read', 'webhooks:read', 'webhooks:write', 'messages:read', 'recordings:read']);
  // The pair before is seen for some seconds; then the new one is, and lacks users:read.
  await expect
    .poll(
      async () => {
        await runInProcess(daemon.environment, 'resync', 'users', 'all');
        return streams();
      },
      { interval: 1_000 },
    )
    .toMatchObject([{ kind: 'users', missing_scope: 'users:read' }]);
  expect(await sentences()).toContain('Users are not read: the credential lacks the scope users:read.');
  const findings = await diagnose(daemon.context.settings, createLog('silent'));
  expect(findings.find(({ sentence }) => sentence.startsWith('Users cannot be read'))).toMatchObject({
    sentence: 'Users cannot be read: the credential lacks the scope users:read.',
    remedy: 'Run `npx trunkline auth login` and grant users:read.',
  });
});
