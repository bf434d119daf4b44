import { once } from 'node:events';
import { maxHeaderSize, type Server, STATUS_CODES } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { createBurstCounter } from '../shared/bounded.ts';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import type { Metrics } from '../shared/metrics.ts';
import { faultSentence } from './answering.ts';
import { connectionLimit, createGuardedServer } from './connections.ts';
import { sendPlainPage, wantsPage } from './plain-page.ts';

export interface Listening {
  /** The address it listens on. */
  readonly url: string;
  readonly port: number;
  /** Refuses new connections. Resolves when the requests in progress have been answered. */
  close(): Promise<void>;
}

/**
 * When stopping, requests that haven't arrived completely after so many milliseconds are aborted. Their senders repeat
 * them.
 */
const closeMs = 2_000;

/**
 * Serves the routes that `register` adds. Bodies are only read by routes that do so themselves. Requests are counted,
 * not logged, so no token, body or URL reaches the log. Rejects if HOST or the port can't be bound.
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
    // The inbox is closed after the server, so open connections can still deliver during the close.
    return503OnClosing: false,
    // The router's own error would repeat a secret or type that is too long.
    routerOptions: { maxParamLength: maxHeaderSize },
    rewriteUrl: ({ url = '/' }) => routed(url),
    clientErrorHandler: refuseClient,
  });
  // Only the hooks read bodies, by themselves. Fastify would read a body even for a route that doesn't exist.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setNotFoundHandler((request, reply) => {
    reply.code(404);
    return wantsPage(request)
      ? sendPlainPage(reply, 'There is no page at this address.', true)
      : reply.send({ error: 'not found' });
  });
  app.setErrorHandler<Error & { statusCode?: number }>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    // Log each failure of a route only once, because anybody can repeat the request.
    const path = request.routeOptions.url;
    if (status >= 500 && failures.count(`${path} ${error.message}`) === 1) {
      log.error({ err: error, method: request.method, path }, 'A request could not be answered');
    }
    const message = status >= 500 ? faultSentence : error.message;
    reply.code(status);
    return wantsPage(request) ? sendPlainPage(reply, message) : reply.send({ error: message });
  });
  await register(app);
  await app.listen({ host, port }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.syscall !== 'getaddrinfo') throw cause;
    throw new UserError(
      `HOST=${host} names no address of this machine (${cause.message}): set HOST to one, such as 127.0.0.1, or 0.0.0.0 for all of them.`,
      { cause },
    );
  });
  const bound = app.server.address() as AddressInfo;
  const twin = host === 'localhost' ? await listenAtTwin(app.server, bound) : undefined;
  return {
    url: `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`,
    port: bound.port,
    async close() {
      twin?.close();
      const cut = setTimeout(() => app.server.closeAllConnections(), closeMs);
      await app.close();
      clearTimeout(cut);
    },
  };
}

/** Answers input that isn't HTTP or arrives too slowly. The answer announces that the connection is closed. */
function refuseClient({ code }: Error & { code?: string }, socket: Socket): void {
  if (code === 'ECONNRESET' || socket.destroyed) return;
  const status = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
  const body = JSON.stringify({ error: STATUS_CODES[status]?.toLowerCase() });
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, 'Content-Type: application/json', 'Connection: close'];
  if (socket.writable) socket.write(`${[...head, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}

/** Also listens on the other address of `localhost` (IPv4 or IPv6) if there is one, because clients try either. */
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
