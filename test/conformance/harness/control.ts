import { randomUUID } from 'node:crypto';

/** The control routes of the sandbox: what an owner, an operator, a customer or a carrier would do. */
export interface Control {
  /** Makes an API key with these scopes. */
  key(scopes: readonly string[]): Promise<{ key: string; name: string }>;
  revoke(name: string): Promise<void>;
  /** Makes an access token that acts for a user. */
  token(userId: number, scopes: readonly string[], expiresInSeconds?: number): Promise<string>;
  role(userId: number, changes: Record<string, unknown>): Promise<void>;
  account(changes: Record<string, unknown>): Promise<void>;
  /** Replaces all faults: without an argument, none is left. */
  faults(...faults: Record<string, unknown>[]): Promise<void>;
  sms(event: Record<string, unknown>): Promise<{ id: number; line: string; number: string }>;
  call(
    event: Record<string, unknown>,
  ): Promise<{ id: string; legs: string[]; recordings: string[]; transcriptIds: number[] }>;
  transcript(event: Record<string, unknown>): Promise<{ callId: string; transcriptIds: number[] }>;
  /** How many sends were charged so far. */
  charges(): Promise<number>;
}

export function createControl(baseUrl: string): Control {
  // biome-ignore lint/suspicious/noExplicitAny: answers of routes that are not under test
  async function ask(method: string, path: string, body?: unknown): Promise<any> {
    const response = await fetch(`${baseUrl}/_sandbox${path}`, {
      method,
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} /_sandbox${path} answered ${response.status}: ${text}`);
    return text === '' ? undefined : JSON.parse(text).data;
  }

  return {
    key: (scopes) => ask('POST', '/keys', { name: randomUUID(), scopes }),
    revoke: (name) => ask('DELETE', `/keys/${name}`),
    token: async (userId, scopes, expiresInSeconds = 3_600) =>
      (await ask('POST', '/tokens', { userId, scopes, expiresInSeconds })).access_token,
    role: async (userId, changes) => {
      const path = `/users/${userId}/role`;
      await ask('PUT', path, { ...(await ask('GET', path)), ...changes });
    },
    account: (changes) => ask('PATCH', '/account', changes),
    faults: (...faults) => ask('POST', '/faults', faults),
    sms: (event) => ask('POST', '/events/sms', event),
    call: (event) => ask('POST', '/events/call', event),
    transcript: (event) => ask('POST', '/events/transcript', event),
    async charges() {
      const sends: { charge: unknown }[] = await ask('GET', '/sends?limit=100000');
      return sends.filter(({ charge }) => charge !== null).length;
    },
  };
}
