import { connect } from 'node:net';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';

/** What arrived on a connection of its own, to the last byte. */
export interface Wire {
  head: string;
  body: Buffer;
  /** How the connection ended. */
  end: 'closed' | 'reset';
  /** In how many pieces it came. */
  pieces: number;
  firstByteMs: number;
  totalMs: number;
}

interface Request {
  method?: string;
  /** With the prefix. */
  path: string;
  body?: unknown;
  key?: string;
  contentType?: string;
}

/** Sends one HTTP request over bare TCP and listens until the connection ends. */
export function overTcp(sandbox: Pick<Sandbox, 'url' | 'apiKey'>, request: Request): Promise<Wire> {
  const { method = 'GET', path, body, key = sandbox.apiKey, contentType = 'application/json' } = request;
  const { hostname, port } = new URL(sandbox.url);
  const content = Buffer.from(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body));
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${hostname}`,
    `authorization: Bearer ${key}`,
    'connection: close',
    ...(body === undefined ? [] : [`content-type: ${contentType}`, `content-length: ${content.length}`]),
  ];
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const chunks: Buffer[] = [];
    let firstByteMs = 0;
    const finish = (end: Wire['end']) => {
      const bytes = Buffer.concat(chunks);
      const at = bytes.indexOf('\r\n\r\n');
      const head = at < 0 ? '' : bytes.subarray(0, at).toString().toLowerCase();
      const rest = at < 0 ? Buffer.alloc(0) : bytes.subarray(at + 4);
      resolve({ head, body: rest, end, pieces: chunks.length, firstByteMs, totalMs: performance.now() - began });
    };
    const socket = connect({ host: hostname, port: Number(port) });
    socket.setNoDelay();
    socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), content]));
    socket.on('data', (chunk) => {
      if (chunks.length === 0) firstByteMs = performance.now() - began;
      chunks.push(chunk);
    });
    socket.on('end', () => finish('closed'));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' ? finish('reset') : reject(error),
    );
  });
}

export function contentLength({ head }: Wire): number {
  return Number(/content-length: (\d+)/.exec(head)?.[1]);
}

export function statusOf({ head }: Wire): number {
  return Number(head.split(' ')[1]);
}
