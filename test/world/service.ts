import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that came, without the prefix of the API. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
  /** The delivery that caused it. */
  readonly requestId: string | undefined;
}

/** `data` in its envelope, an `error` in its own, or a `body` as it is. */
export type Reply =
  | { readonly data: unknown; readonly beside?: Readonly<Record<string, unknown>> }
  | { readonly error: string; readonly status: number; readonly scope?: string }
  | { readonly body: string; readonly status?: number; readonly contentType?: string };

/** A real HTTP service that answers as one test wants, where the sandbox behaves otherwise. */
export interface OddService extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
  /** From now on, requests are answered so. */
  answer: (asked: Asked) => Reply | Promise<Reply>;
}

const prefix = '/api/public/v1';

export async function startOddService(): Promise<OddService> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://service');
    const path = decodeURIComponent(url.pathname.slice(prefix.length));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const requestId = request.headers['x-request-id']?.toString();
    const one = { method: request.method ?? '', path, query: url.searchParams, body, requestId };
    asked.push(one);
    const reply = written(await service.answer(one));
    response.writeHead(reply.status, { 'content-type': reply.contentType }).end(reply.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const service: OddService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer: () => notFound,
    [Symbol.asyncDispose]: () => closed(server),
  };
  return service;
}

export const notFound: Reply = { error: 'not_found', status: 404 };

function written(reply: Reply): { status: number; contentType: string; body: string } {
  const contentType = 'application/json';
  if ('data' in reply) {
    return { status: 200, contentType, body: JSON.stringify({ data: reply.data, ...reply.beside }) };
  }
  if ('error' in reply) {
    const { error: type, status, scope } = reply;
    return { status, contentType, body: JSON.stringify({ error: { type, message: 'as it says', scope } }) };
  }
  return { status: reply.status ?? 200, contentType: reply.contentType ?? contentType, body: reply.body };
}

async function closed(server: Server): Promise<void> {
  const end = once(server, 'close');
  server.closeAllConnections();
  server.close();
  await end;
}
