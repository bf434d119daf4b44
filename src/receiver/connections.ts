import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';

export interface ConnectionLimits {
  /** Connections that are open at a time; one more closes the one that has waited longest for its client. */
  readonly maxConnections: number;
  /** Called for each connection that is closed to make room. */
  readonly onEvicted: () => void;
}

/** Times of a request, in milliseconds: a slow sender is cut, and a keep-alive connection outlives the usual proxy's. */
const requestMs = 10_000;
const keepAliveMs = 75_000;

/** A client that is still sending when it is refused needs a moment to read the answer; in milliseconds. */
const lingerMs = 2_000;

/** More connections than any proxy or service keeps open; each costs some 30 KiB, its headers included. */
const usualMaxConnections = 2_000;

/** How many connections this process may hold: three of four files that it may open, the rest is for the stores. */
export function connectionLimit(): number {
  const files = Number(/^Max open files +(\d+)/m.exec(limitsOfProcess())?.[1] ?? Number.POSITIVE_INFINITY);
  return Math.min(usualMaxConnections, Math.floor(files * 0.75));
}

function limitsOfProcess(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // Only Linux has it; elsewhere Node raises the limit to some thousands.
    return '';
  }
}

/**
 * An HTTP server that strangers cannot exhaust. No body is read unless the handler reads it; an answer that is sent before
 * the body has arrived closes the connection. At the limit, a new connection takes the place of the one that has waited
 * longest for its client, so that idle connections never keep anybody out.
 */
export function createGuardedServer(handle: RequestListener, { maxConnections, onEvicted }: ConnectionLimits): Server {
  /** Connections that wait for bytes of their client, in the order in which they began to wait. */
  const waiting = new Set<Socket>();
  const unread = new WeakMap<Socket, IncomingMessage>();
  let open = 0;

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    // It was refused, and what follows on the same connection is not read.
    if (socket.writableEnded) return void socket.destroy();
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
  // Whoever reads the body asks for it (`readBody`): a sender that is refused need not send it.
  server.on('checkContinue', onRequest);
  server.on('connection', (socket) => {
    open += 1;
    waiting.add(socket);
    socket.once('close', () => {
      open -= 1;
      waiting.delete(socket);
    });
    // Node calls this after the last answer of a connection. To close it while bytes arrive would reset it, and the
    // client might never see the answer.
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

/** Ends our side at once, and the other side soon: what still arrives meanwhile is thrown away. */
function linger(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}
