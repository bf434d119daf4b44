import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import type { Request } from '../operation.ts';
import { type OperationId, operationOf, operations } from '../operations.ts';
import { askBare } from './bare.ts';
import { type Clients, createClients } from './client.ts';
import { type Control, createControl } from './control.ts';
import type { Reply } from './reply.ts';

export type Driver = 'bare' | 'client';

/** What a case may do: look, change, spend money, or reach behind the API as only a sandbox allows. */
export type Need = 'read' | 'write' | 'send' | 'control';

export const scopes = [...new Set(Object.values(operations).map(({ scope }) => scope))].sort();

/** The service under test, and what is known of it before the first case. */
export interface Suite extends AsyncDisposable {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly isSandbox: boolean;
  readonly allows: Readonly<Record<Need, boolean>>;
  /** What the sandbox says of its operations. */
  readonly document: OpenApi;
  readonly clients: Clients;
  readonly control: Control;
  /** Outcomes that came, such as `listUsers 403 insufficient_scope`. */
  readonly seen: Set<string>;
}

/** The OpenAPI document as far as it is held against the operations of the suite. */
export interface OpenApi {
  paths: Record<string, Record<string, { operationId?: string; security?: Record<string, string[]>[] }>>;
}

/** Opens what the environment names, or a sandbox. */
export async function openSuite(environment: NodeJS.ProcessEnv = process.env): Promise<Suite> {
  const { CONFORMANCE_BASE_URL, CONFORMANCE_API_KEY } = environment;
  const isSandbox = CONFORMANCE_BASE_URL === undefined || CONFORMANCE_BASE_URL === '';
  if (!isSandbox && !CONFORMANCE_API_KEY)
    throw new Error('CONFORMANCE_API_KEY should be a key for CONFORMANCE_BASE_URL');
  const sandbox = await createSandbox({ calls: 600, threads: 20, seed: 7 });
  const baseUrl = isSandbox ? sandbox.url : CONFORMANCE_BASE_URL.replace(/\/+$/, '');
  const clients = createClients(baseUrl);
  const document = (await (await fetch(`${sandbox.url}/openapi.json`)).json()) as OpenApi;
  return {
    baseUrl,
    apiKey: isSandbox ? sandbox.apiKey : (CONFORMANCE_API_KEY ?? ''),
    isSandbox,
    allows: {
      read: true,
      write: isSandbox || environment.CONFORMANCE_WRITE === '1',
      send: isSandbox || environment.CONFORMANCE_SEND === '1',
      control: isSandbox,
    },
    document,
    clients,
    control: createControl(sandbox.url),
    seen: new Set(),
    async [Symbol.asyncDispose]() {
      await clients.close();
      await sandbox.close();
    },
  };
}

/** What one case works with, through one driver. */
export interface CaseContext {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly driver: Driver;
  readonly control: Control;
  /** Asks through the driver of this run; without a credential named, with the API key. */
  ask(id: OperationId, request?: Request, credential?: string): Promise<Reply>;
  /** Asks over bare HTTP, whatever the driver is. */
  bare(id: OperationId, request?: Request, credential?: string | null): Promise<Reply>;
  /** The number of a line that everyone may use. */
  line(): Promise<string>;
  /** A number that nobody has (555-01xx) and no other case uses. */
  freshNumber(): string;
  /** A line and a fresh number: a conversation without history. */
  freshPair(): Promise<{ line: string; number: string }>;
  /** A token for the first user whose role allows everything, with all scopes or those named. */
  token(granted?: readonly string[]): Promise<string>;
  /** The user behind `token`. */
  userId(): Promise<number>;
}

export function createCaseContext(suite: Suite, driver: Driver): CaseContext {
  const { baseUrl, apiKey, clients, control, seen } = suite;

  function note(id: OperationId, reply: Reply): Reply {
    const { status, type, isLocal } = reply;
    if (!isLocal) seen.add(type === undefined ? `${id} ${status}` : `${id} ${status} ${type}`);
    return reply;
  }

  async function bare(id: OperationId, request: Request = {}, credential: string | null = apiKey): Promise<Reply> {
    return note(id, await askBare(baseUrl, id, request, credential));
  }

  async function userId(): Promise<number> {
    const { data } = await bare('listUsers');
    const manager = data.find((user: { title: string }) => user.title === 'Service manager') ?? data[0];
    await control.role(manager.id, { users: 'all', phoneNumbers: true, callReports: true, allowRecordings: true });
    return manager.id;
  }

  async function line(): Promise<string> {
    const { data } = await bare('listLines');
    const open = data.find((each: { userIds: number[] }) => each.userIds.length === 0) ?? data[0];
    return open.number;
  }

  return {
    baseUrl,
    apiKey,
    driver,
    control,
    bare,
    userId,
    line,
    freshNumber,
    async ask(id, request = {}, credential = apiKey) {
      if (driver === 'bare' || operationOf(id).call === undefined) return bare(id, request, credential);
      return note(id, await clients.ask(id, request, credential));
    },
    freshPair: async () => ({ line: await line(), number: freshNumber() }),
    token: async (granted = scopes.filter((scope) => scope !== null)) => control.token(await userId(), granted),
  };
}

let given = 0;

function freshNumber(): string {
  given += 1;
  const areaCode = 212 + Math.floor(given / 100);
  return `1${areaCode}55501${String(given % 100).padStart(2, '0')}`;
}
