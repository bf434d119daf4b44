import type { Sandbox } from '../../../src/sandbox/sandbox.ts';

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

/** A window that holds everything up to a minute from now. */
export function everything(): { start: number; end: number } {
  const now = Math.floor(Date.now() / 1000);
  return { start: now - 30 * 86_400, end: now + 60 };
}
