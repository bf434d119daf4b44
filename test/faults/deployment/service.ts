import type { FaultInput } from '../../../src/sandbox/faults/spec.ts';
import type { DeliveryRecord, RequestRecord, SendRecord } from '../../../src/sandbox/history.ts';
import type { CallEvent, CallMade, SmsEvent, SmsMade } from '../../../src/sandbox/traffic/events.ts';
import type { OnOpen } from '../nemesis/proxy.ts';
import { seed } from '../random.ts';
import { createPart } from './part.ts';
import { freePort } from './ports.ts';

/** Any object of the API, as it came. */
export type Resource = Readonly<Record<string, unknown>>;

/** The sandbox of a deployment, seen from outside: what happens in it, what it tells, and what it answers. */
export interface FaultyService {
  readonly url: string;
  sms(event: SmsEvent): Promise<SmsMade>;
  call(event: CallEvent): Promise<CallMade>;
  /** Replaces all faults: without an argument, none is left. */
  faults(...faults: FaultInput[]): Promise<void>;
  deliveries(): Promise<DeliveryRecord[]>;
  /** Every POST of a send that was answered, and every charge. */
  sends(): Promise<SendRecord[]>;
  /** Requests that the daemon made; those of `read` are not counted. */
  requests(): Promise<RequestRecord[]>;
  /** Reads the API with a credential of our own. */
  read<T = Resource[]>(path: string): Promise<T>;
}

const observer = { name: 'observer', key: 'observer-key' };
const everything = 100_000;

/** Starts a sandbox in a process of its own, in which nothing happens that a test does not want. */
export async function openSandbox(onOpen: OnOpen): Promise<FaultyService> {
  const port = await freePort();
  const args = ['sandbox', '--port', port, '--seed', seed, '--calls', 20, '--threads', 10].map(String);
  const shape = { name: 'sandbox', args: [...args, '--no-traffic', '--json'], env: {}, readyWords: '"apiKey"' };
  await createPart(shape, onOpen).start();
  const url = `http://127.0.0.1:${port}`;

  async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const authorization = `Bearer ${observer.key}`;
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const response = await fetch(`${url}${path}`, { method, headers, ...sent });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${answer}`);
    return (answer === '' ? undefined : (JSON.parse(answer) as { data: T }).data) as T;
  }
  await ask('POST', '/_sandbox/keys', observer);
  return {
    url,
    sms: (event) => ask('POST', '/_sandbox/events/sms', event),
    call: (event) => ask('POST', '/_sandbox/events/call', event),
    faults: async (...faults) => void (await ask('POST', '/_sandbox/faults', faults)),
    sends: () => ask('GET', `/_sandbox/sends?limit=${everything}`),
    deliveries: () => ask('GET', `/_sandbox/deliveries?limit=${everything}`),
    async requests() {
      const all = await ask<RequestRecord[]>('GET', `/_sandbox/requests?limit=${everything}`);
      return all.filter(({ key }) => key !== observer.name);
    },
    read: (path) => ask('GET', `/api/public/v1${path}`),
  };
}
