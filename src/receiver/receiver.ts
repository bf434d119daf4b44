import { once } from 'node:events';
import { maxHeaderSize, type Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { createSpells } from '../bounded.ts';
import type { Context } from '../context.ts';
import { createInbox } from '../inbox/deliveries.ts';
import { createErasedNumbers } from '../inbox/erased.ts';
import { inboxConnections } from '../postgres/limits.ts';
import { createDatabase } from '../warehouse/database.ts';
import { guardPages } from './admin.ts';
import { createBodyBudget } from './bodies.ts';
import { connectionLimit, createGuardedServer } from './connections.ts';
import { registerHealth } from './health.ts';
import { largestBody, registerHooks, routingBelow } from './hooks.ts';
import { registerOAuthCallback } from './oauth-callback.ts';
import { createOurLines } from './our-lines.ts';

export interface Receiver {
  /** Where it listens. */
  readonly url: string;
  readonly port: number;
  /** Takes no more connections, and resolves when the requests of those that are open are answered. */
  close(): Promise<void>;
}

/** HOST cannot be bound: nobody knows an address of that name. */
class UnknownHost extends Error {
  override readonly name = 'UnknownHost';
  readonly code = 'unknown_host';

  constructor(host: string, cause: Error) {
    super(
      `HOST=${host} names no address of this machine (${cause.message}): set HOST to one, such as 127.0.0.1, or 0.0.0.0 for all of them.`,
      { cause },
    );
  }
}

/** Of a stop, in milliseconds: whoever has not sent all of a request by then sends it again. */
const closeMs = 2_000;

/** Memory for bodies of deliveries. What is made of a body on its way to Postgres takes some four times of it. */
const maxBodyBytes = 32 * largestBody;

/**
 * Listens for deliveries and serves the pages of the daemon. `pages` adds routes that only `ADMIN_TOKEN` opens. No
 * token, body or address ever reaches the log: requests are counted, not logged. Rejects when HOST or PORT cannot be bound.
 */
export async function createReceiver(
  context: Context,
  pages: (app: FastifyInstance) => void | Promise<void> = () => undefined,
): Promise<Receiver> {
  const { settings, database, ringer, log, metrics, pauses } = context;
  const { host, port, publicUrl, secret, previousSecret, adminToken } = settings.receiver;
  const stored = createDatabase({
    url: settings.databaseUrl,
    log,
    maxConnections: inboxConnections,
    name: 'inbox',
    statementMs: 8_000,
  });
  const erased = createErasedNumbers(database.db, log);
  const inbox = createInbox(stored.pool, pauses, ringer.ring, erased);
  const lines = createOurLines(database.db, log);
  await Promise.all([lines.refresh(), erased.refresh()]);

  const routed = routingBelow(publicUrl);
  const maxConnections = connectionLimit();
  const evictions = createSpells({ quietMs: 60_000, maxKeys: 1 });
  const failures = createSpells({ quietMs: 60_000, maxKeys: 100 });
  const onEvicted = () => {
    metrics.requestRefused('connection_limit');
    if (evictions.hit('') > 1) return;
    log.warn({ maxConnections }, 'All connections are in use; each new one closes the one that has been idle longest');
  };
  const app = fastify({
    logger: false,
    serverFactory: (handle) => createGuardedServer(handle, { maxConnections, onEvicted }),
    forceCloseConnections: 'idle',
    // The inbox outlives the server: what an open connection still brings is taken, and that connection closed after it.
    return503OnClosing: false,
    // A secret or a type of any length is for its route to judge: the router would repeat it.
    routerOptions: { maxParamLength: maxHeaderSize },
    rewriteUrl: ({ url = '/' }) => routed(url),
  });
  // Only the hooks read bodies, and by themselves: Fastify would read one before it finds that there is no such route.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not found' }));
  app.setErrorHandler<Error & { statusCode?: number }>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    // Strangers can repeat what fails: the same failure of a route is logged once.
    if (status >= 500 && failures.hit(`${request.routeOptions.url} ${error.message}`) === 1) {
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
  return {
    url: `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`,
    port: bound.port,
    async close() {
      lines.stop();
      twin?.close();
      const cut = setTimeout(() => app.server.closeAllConnections(), closeMs);
      await app.close();
      clearTimeout(cut);
      await inbox.idle();
      erased.stop();
      await stored[Symbol.asyncDispose]();
    },
  };
}

/** `localhost` is an IPv4 and an IPv6 address, and clients try either: takes connections at the other one too, where there is one. */
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
