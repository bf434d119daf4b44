import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import type { Metrics } from '../shared/metrics.ts';
import { createBurstCounter } from './bursts.ts';
import { createErrorHandler, sendSentence } from './errors.ts';
import { serveAssets } from './page.ts';

export interface Listening {
  /** The address it listens on. */
  readonly url: string;
  readonly port: number;
  /** Refuses new connections. Resolves when the requests in progress have been answered. */
  close(): Promise<void>;
}

/** One MiB, of a body as sent and as decoded. */
export const maxBodyBytes = 1_048_576;

/** Cookies of single sign-on can take more than the 16 KiB that Node allows. */
const maxHeaderBytes = 65_536;

/** Milliseconds in which a request has to arrive. */
const requestMs = 10_000;

/** More connections than any proxy or service keeps open. */
const maxConnections = 2_000;

/** When stopping, requests that are unanswered after so many milliseconds are cut. Their senders repeat them. */
const closeMs = 2_000;

const limits = {
  bodyLimit: maxBodyBytes,
  requestTimeout: requestMs,
  /** Milliseconds: idle connections outlast those of Heroku's router (90 s) and Caddy (120 s). */
  keepAliveTimeout: 150_000,
  // Node takes the longer of both timeouts for the whole request.
  http: { headersTimeout: requestMs, maxHeaderSize: maxHeaderBytes, connectionsCheckingInterval: 1_000 },
  routerOptions: { maxParamLength: maxHeaderBytes },
};

/**
 * Serves the routes that `register` adds, at the path that `routed` makes of an address. A route that needs a body
 * registers its own parser, so an unknown address is answered before a body is read. Requests are counted, not logged,
 * so no token, body or URL reaches the log. Rejects if HOST or the port can't be bound.
 */
export async function listen(
  {
    host,
    port,
    log,
    metrics,
  }: { readonly host: string; readonly port: number; readonly log: Log; readonly metrics: Metrics },
  register: (app: FastifyInstance) => Promise<void>,
  routed: (url: string) => string = (url) => url,
): Promise<Listening> {
  const events = createBurstCounter();
  const app = fastify({
    ...limits,
    logger: false,
    // The inbox is closed after the server, so open connections can still deliver during the close.
    return503OnClosing: false,
    rewriteUrl: ({ url = '/' }) => routed(url),
    // The address can't be decoded. The router's own answer would repeat it.
    frameworkErrors: (_error, request, reply) => void answerNotFound(request as FastifyRequest, reply as FastifyReply),
  });
  app.server.maxConnections = maxConnections;
  app.server.on('drop', () => {
    metrics.requestRefused('connection_limit');
    if (events('drop') === 1) log.warn({ maxConnections }, 'All connections are in use: new ones are refused');
  });
  app.server.on('clientError', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'HPE_HEADER_OVERFLOW' && events(code) === 1)
      log.warn({ maxHeaderBytes }, 'A request was refused (431): its headers, such as cookies, are too large');
  });
  app.removeAllContentTypeParsers();
  app.setNotFoundHandler(answerNotFound);
  app.setErrorHandler(createErrorHandler(log));
  serveAssets(app);
  await register(app);
  await app.listen({ host, port }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.syscall !== 'getaddrinfo') throw cause;
    throw new UserError(
      `HOST=${host} names no address of this machine (${cause.message}): set HOST to one, such as 127.0.0.1, or 0.0.0.0 for all of them.`,
      { cause },
    );
  });
  const bound = app.server.address() as AddressInfo;
  return {
    url: `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`,
    port: bound.port,
    async close() {
      const cut = setTimeout(() => app.server.closeAllConnections(), closeMs);
      await app.close();
      clearTimeout(cut);
    },
  };
}

function answerNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendSentence(request, reply.code(404), 'There is no page at this address.', 'not found');
}
