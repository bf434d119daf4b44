import { readSettings } from '../../config/settings.ts';
import { type Context, createContext } from '../../src/context.ts';
import { registerPages } from '../../src/server/pages.ts';
import { createReceiver, type Receiver } from '../../src/server/receiver.ts';
import { startWorkers } from '../../workers/workers.ts';
import { captureLog } from '../world/log.ts';
import { encryptionKey, type LoginWorld } from './login-world.ts';

/** The daemon without an API key, in this process. */
export interface Daemon extends AsyncDisposable {
  readonly context: Context;
  readonly receiver: Receiver;
  /** What the command line needs to talk to it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logged: () => string;
  work(): Promise<void>;
}

export async function startDaemon(
  { sandbox, database }: LoginWorld,
  more: Readonly<Record<string, string>> = {},
): Promise<Daemon> {
  const { log, text } = captureLog();
  const environment = {
    API_BASE_URL: sandbox.url,
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: encryptionKey,
    WEBHOOK_SECRET: 'a-secret-of-the-daemon-without-a-key',
    ADMIN_TOKEN: 'an-admin-token-of-the-daemon',
    PORT: '0',
    BACKFILL_DAYS: '0',
    ...more,
  };
  const settings = { ...readSettings(environment), databaseUrl: database.url };
  const context = await createContext(settings, { log, name: 'daemon', maxConnections: 6 });
  const receiver = await createReceiver(context, (app) => registerPages(app, context));
  const opened = [() => context[Symbol.asyncDispose](), receiver.close];
  return {
    context,
    receiver,
    environment: { ...environment, PUBLIC_URL: receiver.url },
    logged: text,
    async work() {
      const workers = await startWorkers(context, { role: 'start' });
      opened.push(() => workers.close(2_000));
    },
    async [Symbol.asyncDispose]() {
      for (const close of opened.reverse()) await close();
    },
  };
}
