import { afterAll, beforeEach } from 'vitest';
import { createService, type Service } from '../../src/api-client/client.ts';
import { type OpenCredential, openCredential, serviceName } from '../../src/credentials/credentials.ts';
import { createSealer } from '../../src/credentials/sealer.ts';
import { storeLogin } from '../../src/credentials/tokens.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { migratedDatabase, type TestDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';

export const encryptionKey = 'a key of the tests, thirty-two letters or more';
/** May do everything in the portal. */
const manager = 4156;
const tokenPath = '/api/v1/oauth/token';

/** What the sandbox gave out without the ceremony. */
export interface Given {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly client_id: string;
}

/** One process's way to the API with whoever is logged in. */
export interface Opened extends AsyncDisposable {
  readonly service: Service;
  readonly open: OpenCredential;
}

/** A sandbox and a migrated database in which somebody can be logged in. Call at the top level of a test file. */
export interface LoginWorld {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  /** All that every opened client has logged. */
  readonly logged: () => string;
  give(how?: { expiresInSeconds?: number; scopes?: readonly string[] }): Promise<Given>;
  /** Stores what the sandbox gave, as a log in would. */
  logIn(how?: { expiresInSeconds?: number; scopes?: readonly string[]; service?: string }): Promise<Given>;
  open(how?: { baseUrl?: string; encryptionKey?: string; databaseUrl?: string }): Opened;
  /** Makes every access token fail. */
  expire(): Promise<void>;
  /** Requests to the token endpoint, by their status. */
  refreshes(): number[];
  row(): Promise<{ state: string; version: string; last_error: string | null; failures: number }>;
}

export async function createLoginWorld(): Promise<LoginWorld> {
  const database = await migratedDatabase();
  const sandbox = await createSandbox({ calls: 5, threads: 2, plainLoopbackRedirects: true });
  const { log, text } = captureLog();
  afterAll(async () => {
    await sandbox.close();
    await database[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await sandbox.reset();
    await database.query('delete from secrets.oauth_tokens');
  });

  async function control(method: string, path: string, body?: unknown): Promise<Response> {
    const answer = await fetch(`${sandbox.url}/_sandbox${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`);
    return answer;
  }

  const give: LoginWorld['give'] = async (how = {}) => {
    const { data } = (await (await control('POST', '/tokens', { userId: manager, ...how })).json()) as { data: Given };
    return data;
  };

  return {
    sandbox,
    database,
    logged: text,
    give,
    async logIn({ service = sandbox.url, ...how } = {}) {
      const given = await give(how);
      await storeLogin(database.db, createSealer(encryptionKey), {
        service: serviceName(service),
        clientId: given.client_id,
        tokens: {
          accessToken: given.access_token,
          refreshToken: given.refresh_token,
          expiresAt: Date.now() + given.expires_in * 1_000,
          scopes: given.scope.split(' '),
        },
      });
      return given;
    },
    open({ baseUrl = sandbox.url, encryptionKey: key = encryptionKey, databaseUrl = database.url } = {}) {
      const open = openCredential({ api: { baseUrl, key: undefined }, encryptionKey: key, databaseUrl }, log);
      if (open === undefined) throw new Error('these settings name no credential');
      const service = createService({ baseUrl, credential: open.credential, log, retry: { tries: 1 } });
      return {
        open,
        service,
        async [Symbol.asyncDispose]() {
          await service.close();
          await open.close();
        },
      };
    },
    expire: async () => void (await control('DELETE', '/tokens')),
    refreshes: () =>
      sandbox
        .requests(100_000)
        .filter(({ path }) => path === tokenPath)
        .map(({ status }) => status),
    async row() {
      const [row] = await database.query<Awaited<ReturnType<LoginWorld['row']>>>(
        'select state, version, last_error, failures from secrets.oauth_tokens',
      );
      if (row === undefined) throw new Error('nobody is logged in');
      return row;
    },
  };
}

/** Waits a moment beyond the time for which a failure to get a token is remembered. */
export const afterFailure = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_100));
