import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach, onTestFinished } from 'vitest';
import { createService } from '../../../src/api-client/client.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { migratedDatabase } from '../../world/database.ts';
import { captureLog } from '../../world/log.ts';

/** An account without history, as it was before each test, and a database for a whole file of tests. */
export async function openAccount() {
  const database = await migratedDatabase();
  const sandbox = await createSandbox({ calls: 0, threads: 0 });
  const { log, text: logged } = captureLog();
  const client = (baseUrl: string, told = log) => createService({ baseUrl, apiKey: sandbox.apiKey, log: told });
  const service = client(sandbox.url);
  afterAll(async () => {
    await service.close();
    await sandbox.close();
    await database[Symbol.asyncDispose]();
  });
  beforeEach(() => sandbox.reset());

  /** The account behind a proxy that changes what is asked or answered. */
  async function behind(change: Change, told = log) {
    const proxy = await openAlteringProxy(sandbox.url, change);
    const asked = client(proxy.url, told);
    onTestFinished(async () => {
      await asked.close();
      await proxy.close();
    });
    return asked;
  }
  return { database, sandbox, service, log, logged, behind };
}

const api = '/api/public/v1';

interface Asked {
  readonly method: string;
  /** Below the prefix of the API, without the query. */
  readonly path: string;
  /** What was sent along. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Change {
  /** A bare status for what does not pass. */
  readonly refuses?: (asked: Asked) => number | undefined;
  /** What is sent on in place of the body. */
  readonly passes?: (asked: Asked) => Readonly<Record<string, unknown>>;
  readonly answers?: (asked: Asked, answer: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
}

/** Passes requests on to a service, and changes what it answers. */
async function openAlteringProxy(
  target: string,
  { refuses, passes, answers }: Change,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const sent = await text(request);
    const passed = { authorization: headers.authorization ?? '', 'content-type': 'application/json' };
    const path = url.replace(api, '').split('?', 1)[0] ?? '';
    const asked = { method, path, body: sent === '' ? {} : (JSON.parse(sent) as Record<string, unknown>) };
    const refusal = refuses?.(asked);
    if (refusal !== undefined) return response.writeHead(refusal).end();
    const body = passes && sent !== '' ? JSON.stringify(passes(asked)) : sent;
    const answered = await fetch(target + url, { method, headers: passed, ...(body !== '' && { body }) });
    if (answered.status === 204) return response.writeHead(204).end();
    const answer = (await answered.json()) as Record<string, unknown>;
    const changed = answered.ok && answers ? answers(asked, answer) : answer;
    response.writeHead(answered.status, { 'content-type': 'application/json' }).end(JSON.stringify(changed));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
