import { maxHeaderSize } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { createInbox } from '../inbox/deliveries.ts';
import { createErasedNumbers } from '../inbox/erased.ts';
import { createDatabase } from '../warehouse/database.ts';
import { guardPages } from './admin.ts';
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

/** Times of a request, in milliseconds: a slow sender is cut, and a keep-alive connection outlives the usual proxy's. */
const requestMs = 10_000;
const keepAliveMs = 75_000;

/** The inbox has connections of its own: pages and scrapes never stand before a delivery. */
const inboxConnections = 3;

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
  const app = fastify({
    logger: false,
    bodyLimit: largestBody,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    http: { headersTimeout: requestMs, connectionsCheckingInterval: 1_000 },
    forceCloseConnections: 'idle',
    // The inbox outlives the server: what an open connection still brings is taken, and that connection closed after it.
    return503OnClosing: false,
    // A secret or a type of any length is for its route to judge: the router would repeat it.
    routerOptions: { maxParamLength: maxHeaderSize },
    rewriteUrl: ({ url = '/' }) => routed(url),
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not found' }));
  app.setErrorHandler<Error & { statusCode?: number }>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status === 413) metrics.deliveryRefused('too_large');
    if (status >= 500) log.error({ err: error, method: request.method }, 'A request could not be answered');
    return reply.code(status).send({ error: status >= 500 ? 'internal error' : error.message });
  });
  await app.register(async (scope) => {
    registerHooks(scope, {
      inbox,
      isOurLine: lines.has,
      tokens: [secret, previousSecret].filter((token) => token !== undefined),
      metrics,
      log,
    });
  });
  registerHealth(app, { queues: context.queues, stored });
  registerOAuthCallback(app, context);
  await app.register(async (scope) => {
    guardPages(scope, adminToken);
    await pages(scope);
  });
  await app.listen({ host, port }).catch((cause: NodeJS.ErrnoException) => {
    throw cause.syscall === 'getaddrinfo' ? new UnknownHost(host, cause) : cause;
  });
  const bound = app.server.address() as AddressInfo;
  return {
    url: `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`,
    port: bound.port,
    async close() {
      lines.stop();
      await app.close();
      await inbox.idle();
      erased.stop();
      await stored[Symbol.asyncDispose]();
    },
  };
}
