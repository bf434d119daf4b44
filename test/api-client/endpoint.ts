import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { createService, type Service, ServiceError, type ServiceOptions } from '../../src/api-client/client.ts';
import { type Clock, systemClock } from '../../src/api-client/transport/clock.ts';

/** A request that arrived, with its whole body. */
export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface Endpoint {
  url: string;
  seen: Seen[];
}

/** A real HTTP server for one test; `answer` is given the number of the request, from 1. */
export async function listen(
  answer: (response: ServerResponse, request: Seen, number: number) => void,
): Promise<Endpoint> {
  const seen: Seen[] = [];
  const onRequest: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const one = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    answer(response, one, seen.push(one));
  };
  const server = createServer(onRequest);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: await addressOf(server), seen };
}

/**
 * What a service answers: a status alone; with a word, which is the type of the error envelope; with JSON, which is the data; or with
 * another body as it is. `reset` breaks the connection. `429 rate_limited`, `200 []`, `502 <html>`; headers may follow.
 */
export type Scripted = string | [answer: string, headers: Record<string, string>];

/** A real HTTP server for one test, which gives these answers in turn, the last one again and again. */
export function serve(...script: Scripted[]): Promise<Endpoint> {
  return listen((response, _, number) => {
    const [answer, headers = {}] = [script[Math.min(number, script.length) - 1] ?? '404'].flat() as [string, object?];
    const [, status = '', body = ''] = /^(\S+) ?(.*)$/s.exec(answer) ?? [];
    if (status === 'reset') response.destroy();
    else if (/^\w+$/.test(body)) refuse(response, Number(status), body, {}, { ...headers });
    else if (/^[[{]/.test(body)) json(response, Number(status), { data: JSON.parse(body) }, { ...headers });
    else response.writeHead(Number(status), { ...headers }).end(body);
  });
}

/** A raw TCP server for one test, for what HTTP servers do not do. */
export async function listenTcp(onSocket: (socket: Socket) => void): Promise<Endpoint> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    onSocket(socket);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: await addressOf(server), seen: [] };
}

async function addressOf(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A client of the endpoint that does not wait between tries, unless told otherwise. */
export function open(baseUrl: string, options: Partial<ServiceOptions> = {}): Service {
  const service = createService({ baseUrl, apiKey: 'key-7f3a', clock: unhurried().clock, ...options });
  onTestFinished(() => service.close());
  return service;
}

/** A clock whose sleeps are recorded and pass at once; chance always gives `luck`. */
export function unhurried(luck = 0.5): { clock: Clock; slept: number[]; pass(milliseconds: number): void } {
  const slept: number[] = [];
  let now = Date.parse('2026-04-21T12:00:00Z');
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  const sleep: Clock['sleep'] = async (milliseconds, signal) => {
    signal?.throwIfAborted();
    slept.push(milliseconds);
    pass(milliseconds);
  };
  return { clock: { ...systemClock, now: () => now, sleep, random: () => luck }, slept, pass };
}

/** What a call was refused with; fails when it was not. */
export async function refusalOf(call: Promise<unknown>): Promise<ServiceError> {
  const outcome = await call.then(
    () => 'it succeeded',
    (error: unknown) => error,
  );
  if (outcome instanceof ServiceError) return outcome;
  throw new Error(`Expected a ServiceError, got ${String(outcome)}`);
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** The error envelope of section 7. */
export function refuse(
  response: ServerResponse,
  status: number,
  type: string,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): void {
  json(response, status, { error: { type, message: 'as the service says', ...more } }, headers);
}
