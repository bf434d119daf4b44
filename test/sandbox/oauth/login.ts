import { createHash } from 'node:crypto';
import { expect } from 'vitest';

/** A program that logs in with bare HTTP. */
export const redirectUri = 'https://app.example.com/callback';
export const verifier = 'v'.repeat(43);
export const challenge = createHash('sha256').update(verifier).digest('base64url');

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  body: any;
}

async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  return { status, headers, body: headers.get('content-type')?.includes('json') ? JSON.parse(text) : text };
}

/** Registers with any metadata, or with a client name and the usual redirect. */
export async function register(url: string, metadata: object = {}): Promise<Answer> {
  const body = JSON.stringify({ client_name: 'A program', redirect_uris: [redirectUri], ...metadata });
  const headers = { 'content-type': 'application/json' };
  return answerOf(await fetch(`${url}/api/v1/oauth/register`, { method: 'POST', headers, body }));
}

type Query = Record<string, string | undefined>;

export function authorizationUrl(url: string, clientId: string, query: Query = {}): string {
  const usual = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'users:read sms:read',
    state: 'a state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...usual, ...query })) if (value !== undefined) search.set(key, value);
  return `${url}/api/v1/oauth/authorize?${search}`;
}

export async function open(address: string): Promise<Answer> {
  return answerOf(await fetch(address, { redirect: 'manual' }));
}

/** The field that a shown form carries. */
export function ticketOf(page: string): string {
  const ticket = /name="ticket" value="([^"]+)"/.exec(page)?.[1];
  if (ticket === undefined) throw new Error(`no form was shown: ${page.slice(-400)}`);
  return ticket;
}

/** Sends the form of the page; lists become repeated fields. */
export async function decide(address: string, fields: Record<string, string | readonly string[]>): Promise<Answer> {
  const body = new URLSearchParams(
    Object.entries(fields).flatMap(([key, value]) => [value].flat().map((each): [string, string] => [key, each])),
  );
  return answerOf(await fetch(address, { method: 'POST', redirect: 'manual', body }));
}

/** Where an answer sends the browser, as the program sees it. */
export function sentBack({ status, headers }: Answer): Record<string, string> {
  expect(status).toBe(303);
  return Object.fromEntries(new URL(headers.get('location') ?? '').searchParams);
}

/** From the consent page to the code. */
export async function approve(url: string, clientId: string, userId: number, scopes: string[]): Promise<string> {
  const address = authorizationUrl(url, clientId, { scope: scopes.join(' ') });
  const { body } = await open(address);
  const form = { ticket: ticketOf(body), user: String(userId), scope: scopes, decision: 'allow' };
  return sentBack(await decide(address, form)).code ?? '';
}

export async function askToken(url: string, fields: Record<string, string>): Promise<Answer> {
  return answerOf(await fetch(`${url}/api/v1/oauth/token`, { method: 'POST', body: new URLSearchParams(fields) }));
}

export function redeem(
  url: string,
  clientId: string,
  code: string,
  more: Record<string, string> = {},
): Promise<Answer> {
  const fields = { code, client_id: clientId, redirect_uri: redirectUri, code_verifier: verifier };
  return askToken(url, { grant_type: 'authorization_code', ...fields, ...more });
}

export function refresh(url: string, clientId: string, token: string): Promise<Answer> {
  return askToken(url, { grant_type: 'refresh_token', client_id: clientId, refresh_token: token });
}
