import { once } from 'node:events';
import { maxHeaderSize, type Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { inboxConnections } from '../db/limits.ts';
import { createInbox } from '../inbox/deliveries.ts';
import { createErasedNumbers } from '../inbox/redact-erased.ts';
import { createBurstCounter } from '../shared/bounded.ts';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import { startLoop } from '../shared/loop.ts';
import { ourLines } from '../warehouse/lines.ts';
import { guardPages } from './admin.ts';
import { createBodyBudget } from './body.ts';
import { connectionLimit, createGuardedServer } from './connections.ts';
import { registerHealth } from './health.ts';
import { largestBody, registerHooks, routingBelow } from './hooks.ts';
import { registerOAuthCallback } from './oauth-callback.ts';

export interface Receiver {
  /** Where it listens. */
  readonly url: string;
  readonly port: number;
  /** Refuses new connections. Resolves when the requests in progress are answered. */
  close(): Promise<void>;
}

/** HOST cannot be bound: its name does not resolve. */
class UnknownHost extends UserError {
  constructor(host: string, cause: Error) {
    super(
      `HOST=${host} names no address of this machine (${cause.message}): set HOST to one, such as 127.0.0.1, or 0.0.0.0 for all of them.`,
      { cause },
    );
  }
}

/** Milliseconds after which a stop aborts requests that have not arrived completely; their senders repeat them. */
const closeMs = 2_000;

/** Memory for bodies of deliveries. The copies of a body on its way to Postgres take about four times its size. */
const maxBodyBytes = 32 * largestBody;

/**
 * Listens for deliveries and serves the pages of the daemon; `pages` adds routes that `ADMIN_TOKEN` protects. Requests are
 * counted, not logged: no token, body or URL reaches the log. Rejects when HOST or PORT cannot be bound.
 */
export async function createReceiver(
  context: Context,
  pages: (app: FastifyInstance) => void | Promise<void> = () => undefined,
): Promise<Receiver> {
  const { settings, database, notifier, log, metrics, pauses } = context;
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
  const inbox = createInbox(stored, pauses, notifier.notify, erased);
  opened.defer(inbox.idle);
  const lines = createOurLines(database.db, log);
  opened.defer(lines.stop);
  // Without Postgres the receiver starts too, and answers 503.
  await Promise.all([lines.refresh(), erased.refresh().catch(() => undefined)]);

  const routed = routingBelow(publicUrl);
  const maxConnections = connectionLimit();
  const evictions = createBurstCounter({ quietMs: 60_000, maxKeys: 1 });
  const failures = createBurstCounter({ quietMs: 60_000, maxKeys: 100 });
  const onEvicted = () => {
    metrics.requestRefused('connection_limit');
    if (evictions.count('') > 1) return;
    log.warn({ maxConnections }, 'All connections are in use: each new one closes the one that has been idle longest');
  };
  const app = fastify({
    logger: false,
    serverFactory: (handle) => createGuardedServer(handle, { maxConnections, onEvicted }),
    forceCloseConnections: 'idle',
    // The inbox is closed after the server, so requests on open connections are still accepted during the close.
    return503OnClosing: false,
    // The router's error would repeat a secret or type that is too long.
    routerOptions: { maxParamLength: maxHeaderSize },
    rewriteUrl: ({ url = '/' }) => routed(url),
  });
  // Only the hooks read bodies, by themselves. Fastify would read a body even for a route that does not exist.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not found' }));
  app.setErrorHandler<Error & { statusCode?: number }>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    // Log each failure of a route once: anybody can repeat a failing request.
    if (status >= 500 && failures.count(`${request.routeOptions.url} ${error.message}`) === 1) {
      log.error({ err: error, method: request.method }, 'A request could not be answered');
    }
    return reply.code(status).send({ error: status >= 500 ? 'internal error' : error.message });
  });
  await app.register(async (scope) => {
    registerHooks(scope, {
      inbox,
      isOurLine: lines.has,
      bodies: createBodyBudget(maxBodyBytes),
      tokens: [secret, previousSecret].filter((token) => token !== undefined),
      metrics,
      log,
    });
  });
  registerHealth(app, { queues: context.queues, stored });
  registerOAuthCallback(app, context);
  await app.register(async (scope) => {
    guardPages(scope, { adminToken, metrics, log });
    await pages(scope);
  });
  await app.listen({ host, port }).catch((cause: NodeJS.ErrnoException) => {
    throw cause.syscall === 'getaddrinfo' ? new UnknownHost(host, cause) : cause;
  });
  const bound = app.server.address() as AddressInfo;
  const twin = host === 'localhost' ? await listenAtTwin(app.server, bound) : undefined;
  const resources = opened.move();
  return {
    url: `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`,
    port: bound.port,
    async close() {
      twin?.close();
      const cut = setTimeout(() => app.server.closeAllConnections(), closeMs);
      await app.close();
      clearTimeout(cut);
      await resources.disposeAsync();
    },
  };
}

/** Listens at the other address of `localhost` (IPv4 or IPv6) too, if there is one: clients try either. */
async function listenAtTwin(server: Server, { family, port }: AddressInfo): Promise<{ close(): void } | undefined> {
  const twin = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket));
  twin.listen(port, family === 'IPv6' ? '127.0.0.1' : '::1');
  try {
    await once(twin, 'listening');
  } catch {
    return undefined;
  }
  return twin;
}

const linesRefreshMs = 2_000;

/**
 * Keeps the account's own lines, as mirrored, to tell the two parties of a text apart. While they are unknown, a reference
 * points at both threads that it may mean.
 */
function createOurLines(db: Database, log: Log) {
  let lines: ReadonlySet<string> = new Set();
  const loop = startLoop({
    name: "Refreshing the account's lines",
    everyMs: linesRefreshMs,
    log,
    job: async () => {
      lines = new Set(await ourLines(db));
    },
  });
  return { has: (number: string) => lines.has(number), refresh: loop.kick, stop: loop.stop };
}
