import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { EventType, Subscription } from '../account.ts';
import { type Faults, faultNames, type InjectedFault } from '../faults/faults.ts';
import type { DeliveryFault } from '../faults/spec.ts';
import type { DeliveryRecord, History } from '../history.ts';
import type { Store } from '../store/store.ts';
import type { Table } from '../store/table.ts';
import type { Timers } from '../timers.ts';
import { encodeBody, formFields, type Payload } from './payloads.ts';

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
const batchWindowMs = 200;
/** Long enough for the receiver of a trickled body to give up first. */
const trickledTimeoutMs = 60_000;

/**
 * States of a delivery: pending → delivered (2xx) | failed (no retry left, or the subscription is disabled or deleted) |
 * dropped (a fault) | cut (the sandbox was closed or reset). Deliveries do not survive a restart.
 */
export function createDispatcher(deps: DispatcherDeps) {
  const { store, faults, history, timers, now, deliveryRetriesMs = [1_000, 5_000, 30_000] } = deps;
  const agent = new Agent({ connections: 64, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  const batches = new Map<number, Payload[]>();
  let round = new AbortController();
  const running = new Set<Promise<void>>();
  let nextId = 1;

  function announce(type: EventType, payload: Payload): void {
    const [early] = faults.drawEventFaults('early', type);
    if (early !== undefined) hideTemporarily(early.ms, type, payload, { store, timers });
    const [batched] = faults.drawEventFaults('batched', type);
    for (const subscription of store.subscriptions.values()) {
      if (!subscription.enabled || subscription.type !== type) continue;
      const withQueryValues = { ...payload, ...Object.fromEntries(new URL(subscription.url).searchParams) };
      if (batched !== undefined) collect(subscription, withQueryValues, batched.events);
      else ship(subscription, [withQueryValues]);
    }
  }

  /** Ships the payloads of a subscription together: when the batch is full, or after a short time. */
  function collect(subscription: Subscription, payload: Payload, most: number): void {
    const batch = batches.get(subscription.id) ?? [];
    if (batch.length === 0) timers.after(batchWindowMs, () => shipBatch(subscription));
    batches.set(subscription.id, [...batch, payload]);
    if (batch.length + 1 >= most) shipBatch(subscription);
  }

  function shipBatch(subscription: Subscription): void {
    const batch = batches.get(subscription.id);
    batches.delete(subscription.id);
    if (batch !== undefined) ship(subscription, batch);
  }

  function ship(subscription: Subscription, payloads: readonly Payload[]): void {
    const { id, type } = subscription;
    const drawn = faults.drawDeliveryFaults(type);
    const plan = planDelivery(type, payloads, drawn);
    const encoded = encodeBody(payloads, drawn);
    const fault = faultNames(drawn);
    const isDropped = plan.delaysMs.length === 0;
    for (const waitMs of isDropped ? [0] : plan.delaysMs) {
      const delivery: DeliveryRecord = {
        id: nextId++,
        at: now().toISOString(),
        subscriptionId: id,
        type,
        method: plan.method,
        ...encoded,
        outcome: isDropped ? 'dropped' : 'pending',
        attempts: [],
        ...(fault !== undefined && { fault }),
      };
      history.deliveries.add(delivery);
      if (!isDropped) track(deliver(delivery, plan, waitMs, round.signal));
    }
  }

  /** Attempts until the delivery has an outcome. Rejects only when it is cut. */
  async function deliver(
    delivery: DeliveryRecord,
    plan: DeliveryPlan,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      for (const delayMs of [waitMs, ...deliveryRetriesMs]) {
        if (delayMs > 0) await sleep(delayMs, undefined, { signal });
        const subscription = store.subscriptions.get(delivery.subscriptionId);
        if (!subscription?.enabled) break;
        if (await attempt(delivery, plan, subscription.url, signal)) {
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
    plan: DeliveryPlan,
    url: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const at = now().toISOString();
    const { minBytes, trickleMs } = plan;
    const timeout = AbortSignal.timeout(trickleMs === null ? timeoutMs : trickledTimeoutMs);
    const limit = AbortSignal.any([signal, timeout]);
    const bytes = padded(delivery.body, minBytes);
    try {
      const { statusCode, body } = await request(plan.addressOf(url), {
        method: delivery.method,
        ...(delivery.method !== 'GET' && {
          headers: { 'content-type': delivery.contentType, 'content-length': String(bytes.length) },
          body: trickleMs === null ? bytes : Readable.from(trickle(bytes, trickleMs, limit)),
        }),
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

  /** Aborts running deliveries and discards waiting ones. */
  async function cut(): Promise<void> {
    const ended = [...running];
    round.abort();
    await Promise.all(ended);
    batches.clear();
    round = new AbortController();
  }

  return {
    announce,
    /** Number of deliveries that are waiting or being sent. */
    pending: () => running.size + batches.size,
    cut,
    /** Aborts all deliveries and closes the connections. */
    async close(): Promise<void> {
      await cut();
      await agent.destroy();
    },
  };
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

/** How a delivery is sent: without faults once, immediately, by POST to the subscription's URL. */
interface DeliveryPlan {
  method: 'POST' | 'PUT' | 'GET';
  /** The delay of each copy; empty for a dropped delivery. */
  delaysMs: number[];
  /** Minimum body size in bytes, reached with spaces. */
  minBytes: number;
  /** Milliseconds before each byte of the body; null to send it at once. */
  trickleMs: number | null;
  addressOf(url: string): string;
}

/** Long enough for the next deliveries to overtake. */
const reorderedMs = { min: 300, max: 1_500 };

function planDelivery(
  type: EventType,
  payloads: readonly Payload[],
  drawn: readonly InjectedFault<DeliveryFault>[],
): DeliveryPlan {
  const addressed = new Set(drawn.map((fault) => (fault.kind === 'addressed' ? fault.as : undefined)));
  const plan: DeliveryPlan = {
    method: addressed.has('get') ? 'GET' : addressed.has('put') ? 'PUT' : 'POST',
    delaysMs: [],
    minBytes: 0,
    trickleMs: null,
    addressOf: (url) => {
      const suffixed = addressed.has('suffixed') ? withSuffix(url, type) : url;
      return addressed.has('get') ? withQuery(suffixed, payloads) : suffixed;
    },
  };
  let waitMs = 0;
  const copiesMs: number[] = [];
  for (const fault of drawn) {
    if (fault.kind === 'dropped') return plan;
    if (fault.kind === 'delayed') waitMs += fault.ms;
    if (fault.kind === 'reordered') waitMs += fault.random.between(reorderedMs);
    if (fault.kind === 'repeated') copiesMs.push(...Array<number>(fault.copies - 1).fill(fault.afterMs));
    if (fault.kind === 'oversized') plan.minBytes = fault.bytes;
    if (fault.kind === 'trickled') plan.trickleMs = fault.everyMs;
  }
  plan.delaysMs = [0, ...copiesMs].map((afterMs) => waitMs + afterMs);
  return plan;
}

function padded(body: string, minBytes: number): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([bytes, Buffer.alloc(Math.max(0, minBytes - bytes.length), ' ')]);
}

async function* trickle(bytes: Buffer, everyMs: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at++) {
    await sleep(everyMs, undefined, { signal });
    yield bytes.subarray(at, at + 1);
  }
}

/** As in captured deliveries: the event type with hyphens, `Account-SMS`. */
function withSuffix(url: string, type: EventType): string {
  const address = new URL(url);
  const words = type.match(/[A-Z]+(?![a-z])|[A-Z][a-z]+/g) ?? [type];
  address.pathname = `${address.pathname.replace(/\/$/, '')}/${words.join('-')}`;
  return address.href;
}

function withQuery(url: string, payloads: readonly Payload[]): string {
  const address = new URL(url);
  for (const [name, value] of formFields(payloads.length === 1 ? payloads[0] : payloads)) {
    address.searchParams.set(name, value);
  }
  return address.href;
}
