import { once } from 'node:events';
import { listen } from '../../api-client/endpoint.ts';

interface Received {
  method: string;
  path: string;
  contentType: string;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  json: any;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** Statuses of the next answers; 200 once they are used up. */
  answers: number[];
  /** Waits until so many deliveries fit, and returns them. */
  until(count: number, fits?: (received: Received) => boolean): Promise<Received[]>;
}

/** Keeps what is delivered to it, until the test ends. */
export async function createReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const answers: number[] = [];
  const arrivals = new EventTarget();
  const { url } = await listen((response, { method, url: path, headers, body: text }) => {
    const contentType = headers['content-type'] ?? '';
    received.push({ method, path, contentType, text, json: contentType === 'application/json' && parsed(text) });
    response.writeHead(answers.shift() ?? 200).end();
    arrivals.dispatchEvent(new Event('arrival'));
  });
  return {
    ...{ url, received, answers },
    async until(count, fits = () => true) {
      for (;;) {
        const fitting = received.filter(fits);
        if (fitting.length >= count) return fitting;
        await once(arrivals, 'arrival', { signal: AbortSignal.timeout(10_000) });
      }
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
