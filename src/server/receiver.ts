import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { inboxConnections } from '../db/connection-limits.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { createInbox } from '../inbox/deliveries.ts';
import { createErasedNumbers } from '../inbox/redact-erased.ts';
import type { Log } from '../shared/log.ts';
import { startLoop } from '../shared/loop.ts';
import { ourLines } from '../warehouse/lines.ts';
import { type Listening, listen } from './app.ts';
import { createGuard } from './auth.ts';
import { registerHealth } from './health.ts';
import { registerHooks, routingBelow } from './hooks.ts';

export type Receiver = Listening;

/**
 * Listens for deliveries and serves the daemon's pages. `pages` adds routes that need the admin token. Rejects if HOST
 * or PORT can't be bound.
 */
export async function createReceiver(
  context: Context,
  pages: (app: FastifyInstance) => void | Promise<void> = () => undefined,
): Promise<Receiver> {
  const { settings, database, notifier, accepted, log, metrics } = context;
  const { host, port, publicUrl, secret, previousSecret, adminToken } = settings.receiver;
  await using opened = new AsyncDisposableStack();
  const stored = createDatabase({
    url: settings.databaseUrl,
    log,
    maxConnections: inboxConnections,
    name: 'inbox',
    statementMs: 8_000,
  });
  opened.use(stored);
  const erased = createErasedNumbers(database.db);
  const inbox = createInbox(stored, notifier.notify, { erased, accepted });
  opened.defer(inbox.idle);
  const lines = keepLines(database.db, log);
  opened.defer(lines.stop);
  // The receiver also starts without Postgres, and answers 503.
  await Promise.all([lines.refresh(), erased.refresh().catch(() => undefined)]);

  const listening = await listen(
    { host, port, log, metrics },
    async (app) => {
      await app.register(async (scope) => {
        registerHooks(scope, {
          inbox,
          isOurLine: lines.isOurLine,
          tokens: [secret, previousSecret].filter((token) => token !== undefined),
          metrics,
          log,
        });
      });
      registerHealth(app, { queues: context.queues, stored });
      const guard = createGuard({ adminToken, metrics, log });
      guard.serveSignIn(app, publicUrl);
      await app.register(async (scope) => {
        guard.protect(scope);
        await pages(scope);
      });
    },
    routingBelow(publicUrl),
  );
  const resources = opened.move();
  return {
    ...listening,
    async close() {
      await listening.close();
      await resources.disposeAsync();
    },
  };
}

const linesRefreshMs = 30_000;

/**
 * Caches the account's lines, as mirrored, which tell the two parties of a text apart. While they are unknown, a
 * reference points at both possible threads.
 */
function keepLines(db: Database, log: Log) {
  let lines: ReadonlySet<string> = new Set();
  const loop = startLoop({
    name: "Refreshing the account's lines",
    everyMs: linesRefreshMs,
    log,
    job: async () => {
      lines = new Set(await ourLines(db));
    },
  });
  return { isOurLine: (number: string) => lines.has(number), refresh: loop.kick, stop: loop.stop };
}
