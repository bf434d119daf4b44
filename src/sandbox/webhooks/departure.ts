import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventType } from '../account.ts';
import type { DeliveryFault } from '../faults/deliveries.ts';
import type { Struck } from '../faults/lots.ts';
import { formFields } from './encoding.ts';
import type { Payload } from './payloads.ts';

/** How the copies of a delivery leave: in the usual case one at once, by POST to the address as it was registered. */
export interface Departure {
  method: 'POST' | 'PUT' | 'GET';
  /** Milliseconds until each copy leaves; none for a delivery that never does. */
  waitsMs: number[];
  /** Bytes that blanks fill the body up to. */
  fillTo: number;
  /** Milliseconds before each byte of the body; null when it leaves as a whole. */
  trickleMs: number | null;
  addressOf(url: string): string;
}

/** Long enough that the events of the next second or two overtake. */
const overtakenMs = { min: 300, max: 1_500 };

export function departureOf(
  type: EventType,
  payloads: readonly Payload[],
  struck: readonly Struck<DeliveryFault>[],
): Departure {
  const isGet = struck.some(({ fault }) => fault.kind === 'get');
  const isSuffixed = struck.some(({ fault }) => fault.kind === 'suffixed');
  const departure: Departure = {
    method: isGet ? 'GET' : 'POST',
    waitsMs: [],
    fillTo: 0,
    trickleMs: null,
    addressOf: (url) => {
      const suffixed = isSuffixed ? withSuffix(url, type) : url;
      return isGet ? withQuery(suffixed, payloads) : suffixed;
    },
  };
  let [waitMs, copies, isDropped] = [0, 1, false];
  const laterMs: number[] = [];
  for (const { fault, random } of struck) {
    if (fault.kind === 'dropped') isDropped = true;
    if (fault.kind === 'delayed') waitMs += fault.ms;
    if (fault.kind === 'heldBack') waitMs += random.int(overtakenMs.min, overtakenMs.max);
    if (fault.kind === 'repeated') copies = Math.max(copies, fault.copies);
    if (fault.kind === 'redelivered') laterMs.push(fault.afterMs);
    if (fault.kind === 'put') departure.method = 'PUT';
    if (fault.kind === 'oversized') departure.fillTo = fault.bytes;
    if (fault.kind === 'trickled') departure.trickleMs = fault.everyMs;
  }
  if (!isDropped)
    departure.waitsMs = [...Array<number>(copies).fill(waitMs), ...laterMs.map((later) => waitMs + later)];
  return departure;
}

/** The body as it leaves, with its length said beforehand. */
export function outgoingBody(
  body: string,
  { method, fillTo, trickleMs }: Departure,
  signal: AbortSignal,
): { body: Buffer | Readable | null; length: number } {
  if (method === 'GET') return { body: null, length: 0 };
  const bytes = Buffer.from(body);
  const filled = Buffer.concat([bytes, Buffer.alloc(Math.max(0, fillTo - bytes.length), ' ')]);
  if (trickleMs === null) return { body: filled, length: filled.length };
  return { body: Readable.from(trickle(filled, trickleMs, signal)), length: filled.length };
}

async function* trickle(bytes: Buffer, everyMs: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at++) {
    await sleep(everyMs, undefined, { signal });
    yield bytes.subarray(at, at + 1);
  }
}

/** Captured senders appended the trigger's name with hyphens: `Account-SMS`. */
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
