import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { isCampaign, report } from '../faults/figures.ts';
import { locksHere, onLocks } from '../world/database.ts';
import { createLoginWorld, encryptionKey } from './login-world.ts';

const loginWorld = await createLoginWorld();
const { sandbox, database } = loginWorld;
const token = 'getTokens';

interface Asked {
  readonly answered: number;
  readonly failures: readonly string[];
}

/** A process of its own that asks the API when it is told. */
interface Asker {
  readonly process: ChildProcess;
  /** Resolves when so many requests at once are answered. */
  ask(times: number): Promise<Asked>;
}

const running: ChildProcess[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) {
    if (each.exitCode !== null || each.signalCode !== null) continue;
    each.kill('SIGKILL');
    await once(each, 'exit');
  }
});

async function startAsker(): Promise<Asker> {
  const file = fileURLToPath(new URL('asking-process.ts', import.meta.url));
  const child = spawn(process.execPath, [file, sandbox.url, database.url, encryptionKey], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  running.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Asked> => JSON.parse((await lines.next()).value ?? '{"answered":0,"failures":[]}');
  await next();
  return {
    process: child,
    ask(times) {
      child.stdin.write(`${times}\n`);
      return next();
    },
  };
}

test('five hundred requests of four processes that are refused at once make one refresh', async () => {
  const began = performance.now();
  let refused = 0;
  await loginWorld.logIn();
  const askers = await Promise.all([startAsker(), startAsker(), startAsker(), startAsker()]);
  for (let round = 1; round <= 3; round += 1) {
    const before = sandbox.requests(100_000).length;
    await loginWorld.expire();
    // As many as the limits of four processes let through are under way before the first is refused.
    sandbox.faults({ kind: 'slow', when: 'before', ms: 300 });
    const asked = await Promise.all(askers.map(({ ask }) => ask(125)));
    expect(asked).toEqual(Array.from({ length: 4 }, () => ({ answered: 125, failures: [] })));
    const requests = sandbox.requests(100_000).slice(before);
    const refusals = requests.filter(({ status }) => status === 401).length;
    expect(refusals).toBeGreaterThan(100);
    refused += refusals;
    expect(requests.filter(({ path }) => path === '/api/v1/oauth/token').map(({ status }) => status)).toEqual([200]);
  }
  if (isCampaign)
    report('refresh', 'neither', `3 × 500 requests in 4 processes, ${refused} refused at once, 3 refreshes`, began);
});

test.each([
  ['before the service has seen the request', 'before'],
  ['when the service has used the token up, and its answer is on its way', 'after'],
] as const)('a process that is killed in the middle of a refresh, %s, leaves "log in again"', async (_what, when) => {
  await loginWorld.logIn();
  const [killed, waiting] = await Promise.all([startAsker(), startAsker()]);
  await loginWorld.expire();
  sandbox.faults({ kind: 'slow', ms: 60_000, when, operation: token });
  void killed.ask(5);
  await refreshing();
  await expect.poll(discoveries).toBe(1);
  const waited = waiting.ask(5);
  killed.process.kill('SIGKILL');
  const { answered, failures } = await waited;
  expect(answered).toBe(0);
  expect(failures).toEqual([expect.stringContaining('log in with `npx trunkline auth login`')]);
  expect(await loginWorld.row()).toMatchObject({
    state: 'lost',
    last_error: expect.stringContaining('ended before'),
  });
  await waiting.ask(5);
  expect(discoveries()).toBe(1);

  sandbox.faults();
  await loginWorld.logIn();
  await expect.poll(async () => (await waiting.ask(5)).answered, { interval: 500 }).toBe(5);
});

test('a process that is killed before a refresh token has left it costs nobody a log in', async () => {
  await loginWorld.logIn();
  const [killed, waiting] = await Promise.all([startAsker(), startAsker()]);
  await loginWorld.expire();
  const discovery = 'discoverOAuth';
  sandbox.faults({ kind: 'slow', ms: 10_000, when: 'before', operation: discovery, times: 1 });
  void killed.ask(5);
  await expect.poll(refreshLocks, { interval: 20 }).toBe(1);
  expect(await loginWorld.row()).toMatchObject({ state: 'valid' });
  killed.process.kill('SIGKILL');
  await expect.poll(async () => (await waiting.ask(5)).answered, { interval: 500 }).toBe(5);
  expect(loginWorld.refreshes()).toEqual([200]);
});

/** How many processes hold the lock under which tokens are refreshed. */
function refreshLocks(): Promise<unknown> {
  return database.value(`select count(*)::integer from ${locksHere} where ${onLocks} and granted`);
}

/** Resolves when a process has taken the tokens for refreshing. */
async function refreshing(): Promise<void> {
  await expect.poll(async () => (await loginWorld.row()).state, { interval: 20 }).toBe('refreshing');
}

/** Each refresh begins with one. */
function discoveries(): number {
  return sandbox.requests(100_000).filter(({ path }) => path.startsWith('/.well-known/')).length;
}

test('a process that is frozen in the middle of a refresh holds nobody up for good, and its answer counts', async () => {
  await loginWorld.logIn();
  const [frozen, waiting] = await Promise.all([startAsker(), startAsker()]);
  await loginWorld.expire();
  sandbox.faults({ kind: 'slow', ms: 10_000, operation: token });
  const asked = frozen.ask(5);
  await refreshing();
  frozen.process.kill('SIGSTOP');
  const refused = await waiting.ask(5);
  expect(refused.failures).toEqual([expect.stringContaining('another process refreshes the tokens')]);
  frozen.process.kill('SIGCONT');
  expect(await asked).toMatchObject({ answered: 5 });
  await expect.poll(async () => (await waiting.ask(5)).answered, { interval: 500 }).toBe(5);
  expect(loginWorld.refreshes()).toEqual([200]);
});
