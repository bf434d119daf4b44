import { afterAll, beforeEach, onTestFinished } from 'vitest';
import { apiKey, createService } from '../../../src/api-client/client.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { migratedDatabase } from '../../world/database.ts';
import { captureLog } from '../../world/log.ts';
import { type Change, openAlteringProxy } from './altering-proxy.ts';

/** An account without history, as it was before each test, and a database for a whole file of tests. */
export async function openAccount() {
  const database = await migratedDatabase();
  const sandbox = await createSandbox({ calls: 0, threads: 0 });
  const { log, text: logged } = captureLog();
  const client = (baseUrl: string, told = log) =>
    createService({ baseUrl, credential: apiKey(sandbox.apiKey), log: told });
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
