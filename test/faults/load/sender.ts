import { vi } from 'vitest';
import type { Random } from '../random.ts';
import type { DeliveredType } from './keys.ts';

/** One delivery of our own, and how it was answered. */
export interface Sent {
  readonly type: DeliveredType;
  readonly body: string;
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly retryAfter: string | null;
  /** Milliseconds on the clock of `performance.now`. */
  readonly began: number;
  readonly ended: number;
}

/** Delivers as the service would, and remembers every answer. */
export interface Sender {
  readonly sent: readonly Sent[];
  send(type: DeliveredType, body: string): Promise<Sent>;
  /** Sends until it is answered 2xx. */
  insist(type: DeliveredType, body: string): Promise<void>;
}

const patience = 10_000;
const insistence = { timeout: 30_000, interval: 250 };

/** `hooks` names the addresses of a type, of which each delivery takes one. */
export function createSender(hooks: (type: DeliveredType) => readonly string[], random: Random): Sender {
  const sent: Sent[] = [];

  async function send(type: DeliveredType, body: string): Promise<Sent> {
    const began = performance.now();
    const answer = await fetch(random.pick(hooks(type)), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(patience),
    })
      .then(async (response) => {
        await response.text();
        return { status: response.status, retryAfter: response.headers.get('retry-after') };
      })
      .catch(() => ({ status: undefined, retryAfter: null }));
    const outcome = { type, body, ...answer, began, ended: performance.now() };
    sent.push(outcome);
    return outcome;
  }

  return {
    sent,
    send,
    insist: (type, body) =>
      vi.waitUntil(async () => isAccepted(await send(type, body)), insistence).then(() => undefined),
  };
}

export function isAccepted({ status }: Pick<Sent, 'status'>): boolean {
  return status !== undefined && status >= 200 && status < 300;
}
