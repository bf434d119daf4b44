import { Agent, request } from 'undici';
import type { EventType, Subscription } from '../account.ts';
import { type Faults, faultNames } from '../faults/faults.ts';
import type { DeliveryFault } from '../faults/spec.ts';
import type { DeliveryRecord, History } from '../history.ts';
import type { Store } from '../store/store.ts';
import type { Table } from '../store/table.ts';
import type { Timers } from '../timers.ts';
import type { Payload } from './payloads.ts';

/** Queues deliveries of an event to every enabled subscription of its type. */
export type Announce = (type: EventType, payload: Payload) => void;

interface DispatcherDeps {
  store: Store;
  faults: Faults;
  history: History;
  timers: Timers;
  now: () => Date;
  /** Delay before each retry. */
  deliveryRetriesMs?: readonly number[] | undefined;
}

const timeoutMs = 5_000;

/**
 * States of a delivery: pending → delivered (2xx) | failed (no retry left, or the subscription is disabled or deleted)
 * | dropped (a fault) | cut (the sandbox was closed or reset). Deliveries don't survive a restart.
 */
export function createDispatcher(deps: DispatcherDeps) {
  const { store, faults, history, timers, now, deliveryRetriesMs = [1_000, 5_000, 30_000] } = deps;
  const agent = new Agent({ connections: 64, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  let round = new AbortController();
  const running = new Set<Promise<void>>();
  let nextId = 1;

  function announce(type: EventType, payload: Payload): void {
    const early = faults.drawEarly(type);
    if (early !== undefined) hideTemporarily(early.ms, type, payload, { store, timers });
    for (const subscription of store.subscriptions.values()) {
      if (subscription.enabled && subscription.type === type) ship(subscription, payload);
    }
  }

  function ship({ id, type, url }: Subscription, payload: Payload): void {
    const drawn = faults.drawDeliveryFaults(type);
    const body = JSON.stringify({ ...payload, ...Object.fromEntries(new URL(url).searchParams) });
    const fault = faultNames(drawn);
    const delaysMs = delaysOf(drawn);
    const isDropped = delaysMs.length === 0;
    for (const waitMs of isDropped ? [0] : delaysMs) {
      const delivery: DeliveryRecord = {
        id: nextId++,
        at: now().toISOString(),
        subscriptionId: id,
        type,
        body,
        outcome: isDropped ? 'dropped' : 'pending',
        attempts: [],
        ...(fault !== undefined && { fault }),
      };
      history.deliveries.add(delivery);
      if (!isDropped) track(deliver(delivery, waitMs, round.signal));
    }
  }

  /** Attempts until the delivery has an outcome. Rejects only when it is cut. */
  async function deliver(delivery: DeliveryRecord, waitMs: number, signal: AbortSignal): Promise<void> {
    try {
      for (const delayMs of [waitMs, ...deliveryRetriesMs]) {
        if (delayMs > 0) await waited(delayMs, signal, timers);
        const subscription = store.subscriptions.get(delivery.subscriptionId);
        if (!subscription?.enabled) break;
        if (await timers.busy(attempt(delivery, subscription.url, signal))) {
          delivery.outcome = 'delivered';
          return;
        }
      }
      delivery.outcome = 'failed';
    } finally {
      if (signal.aborted && delivery.outcome === 'pending') delivery.outcome = 'cut';
    }
  }

  async function attempt(delivery: DeliveryRecord, url: string, signal: AbortSignal): Promise<boolean> {
    const at = now().toISOString();
    try {
      const { statusCode, body } = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: delivery.body,
        dispatcher: agent,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
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

  /** Aborts running deliveries and discards waiting ones. */
  async function cut(): Promise<void> {
    const ended = [...running];
    round.abort();
    await Promise.all(ended);
    round = new AbortController();
  }

  return {
    announce,
    /** Number of deliveries that are waiting or being sent. */
    pending: () => running.size,
    cut,
    /** Aborts all deliveries and closes the connections. */
    async close(): Promise<void> {
      await cut();
      await agent.destroy();
    },
  };
}

/** Resolves after `ms` milliseconds. Rejects with the reason of the signal. */
function waited(ms: number, signal: AbortSignal, timers: Timers): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const cancel = timers.after(ms, () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
    const abort = () => {
      cancel();
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
  });
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** Hides the text or call of an event, as if the delivery were ahead of the API. The journal keeps it. */
function hideTemporarily(
  ms: number,
  type: EventType,
  payload: Payload,
  { store, timers }: Pick<DispatcherDeps, 'store' | 'timers'>,
): void {
  if (type === 'AccountSMS') hide(store.messages, Number(payload.id));
  else hide(store.calls, String(payload.callId));

  function hide<Key extends string | number, Entity extends object>(table: Table<Key, Entity>, key: Key): void {
    const entity = table.get(key);
    if (entity === undefined) return;
    table.unload(key);
    timers.after(ms, () => table.load(entity));
  }
}

/** The delay of each copy: without faults one, at once; none for a dropped delivery. */
function delaysOf(drawn: readonly DeliveryFault[]): number[] {
  if (drawn.some(({ kind }) => kind === 'dropped')) return [];
  const delayed = drawn.filter((fault) => fault.kind === 'delayed');
  const waitMs = delayed.reduce((sum, { ms }) => sum + ms, 0);
  const repeated = drawn.filter((fault) => fault.kind === 'repeated');
  const copies = repeated.flatMap(({ copies, afterMs }) => Array<number>(copies - 1).fill(afterMs));
  return [0, ...copies].map((afterMs) => waitMs + afterMs);
}
