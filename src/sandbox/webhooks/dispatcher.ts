import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { EventType, Subscription } from '../account.ts';
import type { Context } from '../context.ts';
import { namesOf } from '../faults/lots.ts';
import type { DeliveryRecord } from '../history.ts';
import { type Departure, departureOf, outgoingBody } from './departure.ts';
import { hideFor } from './early.ts';
import { encodeBody } from './encoding.ts';
import type { Payload } from './payloads.ts';

/** Delivers an event to every enabled subscription of its type, some time from now. */
export type Announce = (type: EventType, payload: Payload) => void;

export interface Dispatcher {
  announce: Announce;
  pending(): number;
  /** Cuts what is under way and forgets what waits. */
  cut(): Promise<void>;
  /** Cuts, and closes the connections; nothing is delivered afterwards. */
  close(): Promise<void>;
}

interface DeliveryTiming {
  timeoutMs: number;
  /** Waiting time before each further try. */
  retriesMs: readonly number[];
}

type DispatcherParts = Pick<Context, 'store' | 'faults' | 'history' | 'timers' | 'now'> & { timing: DeliveryTiming };

const batchWindowMs = 200;
/** A body that comes by the byte has more time, so that it is the receiver who gives up. */
const trickledTimeoutMs = 60_000;

/**
 * A delivery's life: pending → delivered (2xx) | failed (no try left, or the subscription is gone) | dropped (a fault) |
 * cut (the sandbox closed or was reset). Nothing of it survives a restart.
 */
export function createDispatcher({ store, faults, history, timers, now, timing }: DispatcherParts): Dispatcher {
  const agent = new Agent({ connections: 64, headersTimeout: timing.timeoutMs, bodyTimeout: timing.timeoutMs });
  const batches = new Map<number, Payload[]>();
  let round = new AbortController();
  const running = new Set<Promise<void>>();
  let nextId = 1;

  function announce(type: EventType, payload: Payload): void {
    const hiddenMs = faults.strikeEvent(type);
    if (hiddenMs > 0) hideFor(hiddenMs, type, payload, { store, timers });
    for (const subscription of store.subscriptions.values()) {
      if (!subscription.enabled || subscription.type !== type) continue;
      const echoed = { ...payload, ...Object.fromEntries(new URL(subscription.url).searchParams) };
      if (faults.current().batch > 1) collect(subscription, echoed);
      else ship(subscription, [echoed]);
    }
  }

  function collect(subscription: Subscription, payload: Payload): void {
    const batch = batches.get(subscription.id);
    if (batch === undefined) {
      batches.set(subscription.id, [payload]);
      const flush = async () => {
        await sleep(batchWindowMs, undefined, { signal: round.signal });
        const collected = batches.get(subscription.id) ?? [];
        batches.delete(subscription.id);
        if (collected.length > 0) ship(subscription, collected);
      };
      track(flush());
      return;
    }
    batch.push(payload);
    if (batch.length < faults.current().batch) return;
    batches.set(subscription.id, []);
    ship(subscription, batch);
  }

  function ship(subscription: Subscription, payloads: readonly Payload[]): void {
    const { id, type } = subscription;
    const struck = faults.strikeDelivery(type);
    const departure = departureOf(type, payloads, struck);
    const encoded = encodeBody(
      payloads,
      struck.map(({ fault }) => fault),
    );
    const fault = namesOf(struck);
    const isDropped = departure.waitsMs.length === 0;
    for (const waitMs of isDropped ? [0] : departure.waitsMs) {
      const delivery: DeliveryRecord = {
        id: nextId++,
        at: now().toISOString(),
        subscriptionId: id,
        type,
        method: departure.method,
        ...encoded,
        outcome: isDropped ? 'dropped' : 'pending',
        attempts: [],
        ...(fault !== undefined && { fault }),
      };
      history.deliveries.add(delivery);
      if (!isDropped) track(deliver(delivery, departure, waitMs, round.signal));
    }
  }

  /** Tries until it is settled; rejects only when the round is cut. */
  async function deliver(
    delivery: DeliveryRecord,
    departure: Departure,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      for (const delayMs of [waitMs, ...timing.retriesMs]) {
        if (delayMs > 0) await sleep(delayMs, undefined, { signal });
        const subscription = store.subscriptions.get(delivery.subscriptionId);
        if (!subscription?.enabled) break;
        if (await attempt(delivery, departure, subscription.url, signal)) {
          delivery.outcome = 'delivered';
          return;
        }
      }
      delivery.outcome = 'failed';
    } finally {
      if (signal.aborted && delivery.outcome === 'pending') delivery.outcome = 'cut';
    }
  }

  async function attempt(
    delivery: DeliveryRecord,
    departure: Departure,
    url: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const at = now().toISOString();
    const isTrickled = departure.trickleMs !== null;
    const timeout = AbortSignal.timeout(isTrickled ? trickledTimeoutMs : timing.timeoutMs);
    const limit = AbortSignal.any([signal, timeout]);
    try {
      const { body: content, length } = outgoingBody(delivery.body, departure, limit);
      const { statusCode, body } = await request(departure.addressOf(url), {
        method: delivery.method,
        headers: content === null ? {} : { 'content-type': delivery.contentType, 'content-length': String(length) },
        body: content,
        dispatcher: agent,
        signal: limit,
      });
      delivery.attempts.push({ at, status: statusCode });
      await body.dump();
      return statusCode >= 200 && statusCode < 300;
    } catch (error) {
      signal.throwIfAborted();
      delivery.attempts.push({ at, status: null, error: error instanceof Error ? error.message : String(error) });
      return false;
    }
  }

  function track(work: Promise<void>): void {
    const settled = work.catch((error: unknown) => {
      if (!isAbort(error)) throw error;
    });
    const tracked: Promise<void> = settled.finally(() => running.delete(tracked));
    running.add(tracked);
  }

  async function cut(): Promise<void> {
    const ended = [...running];
    round.abort();
    await Promise.all(ended);
    batches.clear();
    round = new AbortController();
  }

  return {
    announce,
    pending: () => running.size,
    cut,
    async close() {
      await cut();
      await agent.destroy();
    },
  };
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
