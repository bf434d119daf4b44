import { createHash, randomBytes } from 'node:crypto';

export const redirectUri = 'https://app.example.com/oauth/callback';
export const state = 'a state';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  body: any;
}

async function ask(address: string | URL, request: RequestInit = {}): Promise<Answer> {
  const response = await fetch(address, { redirect: 'manual', ...request });
  const { status, headers } = response;
  const text = await response.text();
  return { status, headers, body: headers.get('content-type')?.includes('json') ? JSON.parse(text) : text };
}

const post = (address: string, body: string | URLSearchParams, headers = {}) =>
  ask(address, { method: 'POST', body, headers });

export const postJson = (address: string, body: unknown) =>
  post(address, JSON.stringify(body), { 'content-type': 'application/json' });

export async function discover(baseUrl: string): Promise<Record<string, string> & { scopes_supported: string[] }> {
  return (await ask(`${baseUrl}/.well-known/oauth-authorization-server`)).body;
}

/** Registers with any metadata, or with a client name and the usual redirect. */
export async function register(baseUrl: string, metadata: object = {}): Promise<Answer> {
  const { registration_endpoint = '' } = await discover(baseUrl);
  return postJson(registration_endpoint, { client_name: 'A program', redirect_uris: [redirectUri], ...metadata });
}

export const open = (address: string | URL) => ask(address);

/** The fields that a shown form carries. */
export function hiddenFields(page: string): Record<string, string> {
  const fields = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
  if (fields.length === 0) throw new Error(`no form was shown: ${page.slice(-400)}`);
  return Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]));
}

/** Sends a form; lists become repeated fields. */
export function submit(address: string | URL, fields: Record<string, string | readonly string[]>): Promise<Answer> {
  const pairs = Object.entries(fields).flatMap(([key, value]) => [value].flat().map((each) => [key, each]));
  return post(String(address), new URLSearchParams(pairs as [string, string][]));
}

/** Where an answer sends the browser, as the program sees it. */
export const sentBack = ({ headers }: Answer) => new URL(headers.get('location') ?? 'about:blank');

export type Program = Awaited<ReturnType<typeof createProgram>>;

/** A program that registers and logs users in as section 5.3 tells, over bare HTTP. */
export async function createProgram(baseUrl: string, scopes: readonly string[], registration: object = {}) {
  const endpoints = await discover(baseUrl);
  const clientId: string = (await register(baseUrl, registration)).body.client_id;
  const verifier = randomBytes(32).toString('base64url');
  const usual = {
    ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope: scopes.join(' '), state },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };

  /** The authorization page; query values replace the usual ones, null leaves one out. */
  function address(changes: Record<string, string | null> = {}): URL {
    const url = new URL(endpoints.authorization_endpoint ?? '');
    for (const [name, value] of Object.entries({ ...usual, ...changes })) {
      if (value !== null) url.searchParams.set(name, value);
    }
    return url;
  }

  /** Opens the page and fills its form in, as a user would. */
  async function decide(decision: 'allow' | 'deny', userId: number): Promise<Answer> {
    const { body } = await open(address());
    return submit(address(), { ...hiddenFields(body), decision, user: String(userId), scope: scopes });
  }

  const tokens = (form: Record<string, string>) => submit(endpoints.token_endpoint ?? '', form);
  const exchange = { grant_type: 'authorization_code', client_id: clientId, redirect_uri: redirectUri };
  return {
    ...{ endpoints, clientId, verifier, exchange, address, decide, tokens },
    /** From the consent page to the code. */
    approve: async (userId: number) => sentBack(await decide('allow', userId)).searchParams.get('code') ?? '',
    redeem: (code: string, changes: Record<string, string> = {}) =>
      tokens({ ...exchange, code, code_verifier: verifier, ...changes }),
    refresh: (token: string) => tokens({ grant_type: 'refresh_token', client_id: clientId, refresh_token: token }),
  };
}
