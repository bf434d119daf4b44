import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';

export interface ConnectionLimits {
  /** Maximum open connections. One more closes the connection that has waited longest for its client. */
  readonly maxConnections: number;
  /** Called for each connection that is closed to make room. */
  readonly onEvicted: () => void;
}

/**
 * Milliseconds. Slow senders are disconnected. Idle connections outlast those of Heroku's router (90 s) and Caddy (120
 * s).
 */
const requestMs = 10_000;
const keepAliveMs = 150_000;

/** Milliseconds that a client that is still sending has to read its refusal. */
const lingerMs = 2_000;

/** Maximum pipelined requests of one connection. Proxies and browsers send one at a time. */
const maxPipelined = 8;

/** More connections than any proxy or service keeps open. Each costs about 30 KiB, including headers. */
const usualMaxConnections = 2_000;

/** Maximum connections: three quarters of the files that this process may open. The stores need the rest. */
export function connectionLimit(): number {
  const files = Number(/^Max open files +(\d+)/m.exec(limitsOfProcess())?.[1] ?? Number.POSITIVE_INFINITY);
  return Math.min(usualMaxConnections, Math.floor(files * 0.75));
}

function limitsOfProcess(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // Only Linux has this file. Elsewhere, Node raises the limit to some thousands.
    return '';
  }
}

/**
 * Creates an HTTP server that anonymous clients can't exhaust. It reads no body unless the handler does. It closes a
 * connection after an answer that precedes the complete body, and after many requests at once. At the limit, a new
 * connection replaces the one that has waited longest.
 */
export function createGuardedServer(handle: RequestListener, { maxConnections, onEvicted }: ConnectionLimits): Server {
  /** Connections that wait for data from their client, longest first. */
  const waiting = new Set<Socket>();
  const unread = new WeakMap<Socket, IncomingMessage>();
  const unanswered = new WeakMap<Socket, number>();
  let open = 0;

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const before = unanswered.get(socket) ?? 0;
    // After a refusal, later requests on the connection are ignored. One packet can contain a thousand.
    if (socket.writableEnded || socket.destroyed || before >= maxPipelined) return void socket.destroy();
    unanswered.set(socket, before + 1);
    waiting.delete(socket);
    if (hasBody(request)) {
      waiting.add(socket);
      unread.set(socket, request);
      const { shouldKeepAlive } = response;
      response.shouldKeepAlive = false;
      request.once('end', () => {
        waiting.delete(socket);
        response.shouldKeepAlive = shouldKeepAlive;
      });
    }
    response.once('close', () => {
      unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1);
      waiting.delete(socket);
      if (!socket.destroyed) waiting.add(socket);
    });
    handle(request, response);
  };

  const server = createServer(
    {
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: 1_000,
    },
    onRequest,
  );
  // `readBody` sends the 100 Continue, so a refused sender doesn't have to send the body.
  server.on('checkContinue', onRequest);
  server.on('connection', (socket) => {
    open += 1;
    waiting.add(socket);
    socket.once('close', () => {
      open -= 1;
      waiting.delete(socket);
    });
    // Node calls this after the last answer. Closing while data arrives would reset the connection, and the answer
    // could be lost.
    socket.destroySoon = () => {
      if (unread.get(socket)?.complete === false) linger(socket);
      else Socket.prototype.destroySoon.call(socket);
    };
    if (open <= maxConnections) return;
    const [longest = socket] = waiting;
    waiting.delete(longest);
    longest.destroy();
    onEvicted();
  });
  return server;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** Ends our side at once, and destroys the socket soon after. Data that arrives meanwhile is discarded. */
function linger(socket: Socket): void {
  socket.end();
  // A listener takes the socket away from Node's parser. Parsing many one-byte chunks would take seconds.
  socket.on('data', () => undefined).removeAllListeners('data');
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}
