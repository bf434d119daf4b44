import { afterAll, beforeEach, onTestFinished } from 'vitest';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { temporaryFolder } from '../../at-end.ts';

interface Answer {
  status: number;
  headers: Headers;
  // Tests look at whatever came; its shape is what they check.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
}

export type Ask = (method: string, path: string, body?: unknown, key?: string | null) => Promise<Answer>;

/** Asks the API of a sandbox over bare HTTP. */
export function caller(sandbox: Pick<Sandbox, 'url' | 'apiKey'>, prefix = '/api/public/v1'): Ask {
  return async (method, path, body, key = sandbox.apiKey) => {
    const response = await fetch(`${sandbox.url}${prefix}${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
}

export const askers = (sandbox: Sandbox) => ({ sandbox, ask: caller(sandbox), control: caller(sandbox, '/_sandbox') });

/** An empty sandbox, or one with other options, for the tests of a file; each begins with the seeded state. */
export async function sandboxOfFile(options: SandboxOptions = {}) {
  const sandbox = await createSandbox({ calls: 0, threads: 0, ...options });
  beforeEach(() => sandbox.reset());
  afterAll(() => sandbox.close());
  return askers(sandbox);
}

/** Such a sandbox for one test; it may be closed earlier. */
export async function sandboxOfTest(options: SandboxOptions = {}) {
  const sandbox = await createSandbox({ calls: 0, threads: 0, ...options });
  onTestFinished(() => sandbox.close());
  return askers(sandbox);
}

/** A folder for the state of sandboxes, until the test ends. */
export async function dataFolder(): Promise<string> {
  const folder = await temporaryFolder();
  return folder;
}

/** A window that holds everything up to a minute from now. */
export function everything(): { start: number; end: number } {
  const now = Math.floor(Date.now() / 1000);
  return { start: now - 30 * 86_400, end: now + 60 };
}

/** All that a sandbox shows of its account. */
export async function snapshot(sandbox: Pick<Sandbox, 'url' | 'apiKey'>) {
  const ask = caller(sandbox);
  const calls = (await ask('POST', '/calls/search', { ...everything(), limit: 500 })).body.data;
  const hooks = (await ask('GET', '/webhooks')).body.data;
  const { faults: _, ...state } = (await caller(sandbox, '/_sandbox')('GET', '/state')).body.data;
  return { calls, hooks, state };
}

/** A line of the seeded account that everybody may use, and another one. */
export const line = '16465550100';
export const otherLine = '16465550101';

/** A user of the seeded account who may do everything, also on the portal. */
export const karen = 4128;
