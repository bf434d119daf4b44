import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Received {
  method: string;
  path: string;
  contentType: string;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  json: any;
}

export interface Receiver extends AsyncDisposable {
  url: string;
  received: Received[];
  /** Statuses of the next answers; 200 once they are used up. */
  answers: number[];
  /** Waits until so many deliveries fit, and returns them. */
  until(count: number, fits?: (received: Received) => boolean): Promise<Received[]>;
}

/** A real HTTP server that keeps what is delivered to it. */
export async function createReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const answers: number[] = [];
  const arrivals = new EventTarget();

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const contentType = request.headers['content-type'] ?? '';
      const json = contentType === 'application/json' ? parsed(text) : undefined;
      const { method = '', url: path = '' } = request;
      received.push({ method, path, contentType, text, json });
      response.writeHead(answers.shift() ?? 200).end();
      arrivals.dispatchEvent(new Event('arrival'));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answers,
    async until(count, fits = () => true) {
      for (;;) {
        const fitting = received.filter(fits);
        if (fitting.length >= count) return fitting;
        await once(arrivals, 'arrival', { signal: AbortSignal.timeout(10_000) });
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Undefined for what is no JSON: that is a fact about the delivery, to be looked at by the test. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
