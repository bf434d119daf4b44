import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

const api = '/api/public/v1';

interface Asked {
  readonly method: string;
  /** Below the prefix of the API, without the query. */
  readonly path: string;
}

export interface Change {
  /** A bare status for what does not pass. */
  readonly refuses?: (asked: Asked) => number | undefined;
  readonly answers?: (asked: Asked, answer: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
}

/** Passes requests on to a service, and changes what it answers. */
export async function openDoor(
  target: string,
  { refuses, answers }: Change,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const sent = await text(request);
    const passed = { authorization: headers.authorization ?? '', 'content-type': 'application/json' };
    const path = url.replace(api, '').split('?', 1)[0] ?? '';
    const refusal = refuses?.({ method, path });
    if (refusal !== undefined) return response.writeHead(refusal).end();
    const answered = await fetch(target + url, { method, headers: passed, ...(sent !== '' && { body: sent }) });
    const answer = (await answered.json()) as Record<string, unknown>;
    const changed = answered.ok && answers ? answers({ method, path }, answer) : answer;
    response.writeHead(answered.status, { 'content-type': 'application/json' }).end(JSON.stringify(changed));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
