import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { openDatabase } from '../world/database.ts';

/** Accounts and servers that are closed after each test. */
export function openAccounts(afterEach: (close: () => Promise<void>) => void) {
  const opened: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });
  return {
    opened,
    /** The account of a company whose calls differ from those of any other seed: so many that each day has some, weekends too. */
    async account(seed: number, calls = 1_000): Promise<Sandbox> {
      const sandbox = await createSandbox({ seed, calls, threads: 6 });
      opened.push(sandbox.close);
      return sandbox;
    },
    async serve(answer: RequestListener): Promise<string> {
      const server = createServer(answer);
      await once(server.listen(0, '127.0.0.1'), 'listening');
      opened.push(async () => server.close());
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    databaseAt(url: string) {
      const database = openDatabase(url);
      opened.push(async () => database[Symbol.asyncDispose]());
      return database;
    },
  };
}
