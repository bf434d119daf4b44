import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { inboxConnections } from '../db/limits.ts';
import { createInbox } from '../inbox/deliveries.ts';
import { addPartitions } from '../inbox/partitions.ts';
import { createErasedNumbers } from '../inbox/redact-erased.ts';
import type { Log } from '../shared/log.ts';
import { startLoop } from '../shared/loop.ts';
import { secretHash } from '../sync/subscriptions/matching.ts';
import { receiverSecrets, receiversRefreshMs } from '../sync/subscriptions/store.ts';
import { ourLines } from '../warehouse/lines.ts';
import { createGuard } from './admin.ts';
import { registerHealth } from './health.ts';
import { largestBody, registerHooks, routingBelow } from './hooks.ts';
import { type Listening, listen } from './listen.ts';
import { createBodyBudget } from './read-body.ts';

export type Receiver = Listening;

const partitionsEveryMs = 3_600_000;

/** Memory for bodies of deliveries. The copies of a body on its way to Postgres take about four times its size. */
const maxBodyBytes = 32 * largestBody;

/**
 * Listens for deliveries and serves the daemon's pages. `pages` adds routes that need the admin token. Rejects if HOST
 * or PORT can't be bound.
 */
export async function createReceiver(
  context: Context,
  pages: (app: FastifyInstance) => void | Promise<void> = () => undefined,
): Promise<Receiver> {
  const { settings, database, notifier, accepted, log, metrics, pauses } = context;
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
  const erased = createErasedNumbers(database.db, log);
  opened.defer(erased.stop);
  const inbox = createInbox(stored, pauses, notifier.notify, { erased, accepted });
  opened.defer(inbox.idle);
  const known = keepKnown(database.db, log);
  opened.defer(known.stop);
  const partitions = startLoop({
    name: 'Adding partitions of the inbox',
    everyMs: partitionsEveryMs,
    log,
    job: () => addPartitions(database.db, settings.eventRetentionDays),
  });
  opened.defer(partitions.stop);
  // The receiver also starts without Postgres, and answers 503.
  await Promise.all([known.refresh(), erased.refresh().catch(() => undefined), partitions.kick()]);

  const listening = await listen(
    { host, port, log, metrics },
    async (app) => {
      await app.register(async (scope) => {
        registerHooks(scope, {
          inbox,
          isOurLine: known.isOurLine,
          isTokenOfOther: known.isTokenOfOther,
          bodies: createBodyBudget(maxBodyBytes),
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

/** Seconds for which the token of a stopped receiver is accepted: webhooks use its address for a moment longer. */
const tokenKeptSeconds = 300;

/**
 * Caches what the receiver needs to know. The account's lines, as mirrored, tell the two parties of a text apart; while
 * they are unknown, a reference points at both possible threads. The secrets of the other receivers: during a rolling
 * deploy with a new WEBHOOK_SECRET, deliveries to either address can reach either process.
 */
function keepKnown(db: Database, log: Log) {
  let lines: ReadonlySet<string> = new Set();
  const seenAt = new Map<string, number>();
  const loop = startLoop({
    name: "Refreshing the account's lines and the secrets of the other receivers",
    everyMs: receiversRefreshMs,
    log,
    job: async () => {
      const [numbers, secrets] = await Promise.all([ourLines(db), receiverSecrets(db)]);
      lines = new Set(numbers);
      for (const secret of secrets) seenAt.set(secret, performance.now());
    },
  });
  return {
    isOurLine: (number: string) => lines.has(number),
    isTokenOfOther(token: string): boolean {
      const at = seenAt.get(secretHash(token));
      return at !== undefined && performance.now() - at < tokenKeptSeconds * 1_000;
    },
    refresh: loop.kick,
    stop: loop.stop,
  };
}
