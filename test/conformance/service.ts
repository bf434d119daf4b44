import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import { readAnswer } from '../../src/api-client/answers/envelope.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { typed } from '../api-client/row.ts';
import { type Operation, type OperationId, operationIds, operationOf, type Request } from './operations.ts';

/*
 * The service under test: what CONFORMANCE_BASE_URL names, or a sandbox. All cases ask it over bare HTTP, and whatever it answers
 * with success must be readable for the client of Trunkline.
 */

const { CONFORMANCE_BASE_URL = '', CONFORMANCE_API_KEY, CONFORMANCE_WRITE, CONFORMANCE_SEND } = process.env;
export const isSandbox = CONFORMANCE_BASE_URL === '';
if (!isSandbox && !CONFORMANCE_API_KEY) throw new Error('CONFORMANCE_API_KEY should be a key for CONFORMANCE_BASE_URL');

export const sandbox = await createSandbox({ calls: 600, threads: 20, seed: 7 });
export const baseUrl = isSandbox ? sandbox.url : CONFORMANCE_BASE_URL.replace(/\/+$/, '');
export const apiKey = isSandbox ? sandbox.apiKey : (CONFORMANCE_API_KEY ?? '');

/** What a case may do: look, change, spend money, or reach behind the API as only a sandbox allows. */
export type Need = 'read' | 'write' | 'send' | 'control';
export const allows: Readonly<Record<Need, boolean>> = {
  read: true,
  write: isSandbox || CONFORMANCE_WRITE === '1',
  send: isSandbox || CONFORMANCE_SEND === '1',
  control: isSandbox,
};

/** Where the API lies under the base address (section 9). */
const prefix = '/api/public/v1';

// Cases look at whatever came; its shape is what they check.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Anything = any;

export interface Reply {
  /** Status, type of the error and missing scope, such as `403 insufficient_scope sms:send`. */
  outcome: string;
  data?: Anything;
  headers: Headers;
  text: string;
}

/** Outcomes that came, such as `listUsers 403 insufficient_scope`. */
export const seen = new Set<string>();

/** Asks the service; a credential of null sends none. */
export async function ask(id: OperationId, request: Request = {}, credential: string | null = apiKey): Promise<Reply> {
  const { method, path: template, gives } = operationOf(id);
  const { path = {}, query = {}, body } = request;
  const url = new URL(
    baseUrl + prefix + template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] ?? '')),
  );
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const headers = {
    ...(credential !== null && { authorization: `Bearer ${credential}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, { method, headers, ...(sent !== undefined && { body: sent }) });
  const text = await response.text();
  const { data, error } = text === '' ? {} : JSON.parse(text);
  seen.add([id, response.status, error?.type].join(' ').trim());
  if (response.ok && gives !== undefined) expectReadable(text, gives, data);
  const outcome = [response.status, error?.type, error?.scope].filter((part) => part !== undefined).join(' ');
  return { outcome, data, headers: response.headers, text };
}

/** The client of Trunkline reads an answer without complaint, and reads nothing else than what stands there. */
function expectReadable(text: string, read: NonNullable<Operation['gives']>, data: Anything): void {
  const differences: string[] = [];
  const found = readAnswer(text, read, (what, _, key) => differences.push(`${what} ${key}`));
  if (isSandbox) expect(differences).toEqual([]);
  if (data !== undefined) expect({ data }).toMatchObject({ data: typed(found) });
}

/** The data of an answer that must succeed. */
export async function told(id: OperationId, request?: Request, credential?: string): Promise<Anything> {
  const { outcome, data } = await ask(id, request, credential);
  expect(`${id} ${outcome}`).toBe(`${id} ${operationOf(id).succeeds[0]}`);
  return data;
}

/** Asks a control route of the sandbox: what an owner or an operator would do. */
export async function control(method: string, path: string, body?: unknown): Promise<Anything> {
  const response = await fetch(`${sandbox.url}/_sandbox${path}`, {
    method,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} /_sandbox${path} answered ${response.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text).data;
}

export const scopes = [...new Set(operationIds.map((id) => operationOf(id).scope))].sort();

/** Makes an API key with these scopes. */
export const newKey = (granted: readonly string[]): Promise<{ key: string; name: string }> =>
  control('POST', '/keys', { name: randomUUID(), scopes: granted });

/** Makes an access token that acts for a user; without one named, for the user behind `userId`. */
export async function token(granted = scopes, user?: number, expiresInSeconds = 3_600): Promise<string> {
  const asked = { userId: user ?? (await userId()), scopes: granted, expiresInSeconds };
  return (await control('POST', '/tokens', asked)).access_token;
}

/** Changes what the role of a user grants. */
export async function changeRole(user: number, changes: Record<string, unknown>): Promise<void> {
  const path = `/users/${user}/role`;
  await control('PUT', path, { ...(await control('GET', path)), ...changes });
}

export const everyRight = { users: 'all', phoneNumbers: true, callReports: true, allowRecordings: true };

/** A user of this title, or the first one. */
export async function userWith(title: string): Promise<number> {
  const users = await told('listUsers');
  return (users.find((user: Anything) => user.title === title) ?? users[0]).id;
}

/** A user whose role allows everything. */
export async function userId(): Promise<number> {
  const id = await userWith('Service manager');
  await changeRole(id, everyRight);
  return id;
}

/** The service under a fault of the sandbox, for as long as the work takes. */
export async function under<T>(fault: Parameters<typeof sandbox.faults>[0], work: () => Promise<T>): Promise<T> {
  sandbox.faults(fault);
  try {
    return await work();
  } finally {
    sandbox.faults();
  }
}

/** The account with another setting, for as long as the work takes. */
export async function withSetting(setting: string, work: () => Promise<void>): Promise<void> {
  await control('PATCH', '/account', { [setting]: true });
  try {
    await work();
  } finally {
    await control('PATCH', '/account', { [setting]: false });
  }
}

let openLine: Promise<string> | undefined;

/** The number of a line that everyone may use. */
export function line(): Promise<string> {
  openLine ??= told('listLines').then(
    (lines) => (lines.find(({ userIds }: Anything) => userIds.length === 0) ?? lines[0]).number,
  );
  return openLine;
}

let given = 0;

/** A number that nobody has (555-01xx) and no other case uses. */
export function freshNumber(): string {
  given += 1;
  return `1${212 + Math.floor(given / 100)}55501${String(given % 100).padStart(2, '0')}`;
}

/** A line and a fresh number: a conversation without history. */
export const freshPair = async () => ({ line: await line(), number: freshNumber() });

/** `(212) 555-0142` for the digits of a number of ours. */
export const formatted = (number: string) => `(${number.slice(1, 4)}) ${number.slice(4, 7)}-${number.slice(7)}`;

/** A request in a fresh conversation; a request on the open line; a send from it to fresh numbers, with changes. */
export const inPair = (body?: unknown, query?: Request['query']) => async () => ({
  path: await freshPair(),
  body,
  query,
});
export const onLine = (body?: unknown) => async () => ({ path: { line: await line() }, body });
export const send =
  (changes: Record<string, unknown> = {}, recipients = 1) =>
  async () => {
    const to = Array.from({ length: recipients }, freshNumber);
    return { body: { from: await line(), to, message: 'hello', ...changes } };
  };

/** A window that holds everything up to a minute from now. */
export function everything(): { start: number; end: number } {
  const now = Math.floor(Date.now() / 1000);
  return { start: now - 30 * 86_400, end: now + 60 };
}

/** Looks again until an expectation holds: receipts and artefacts come by themselves some seconds later. */
export async function eventually<T>(look: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + 60_000; ; await wait(100)) {
    try {
      return await look();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

export const rfc3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
export const filled = expect.stringMatching(/./);
