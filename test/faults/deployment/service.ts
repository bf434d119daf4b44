import type { FaultInput } from '../../../src/sandbox/faults/spec.ts';
import type { DeliveryRecord, RequestRecord, SendRecord } from '../../../src/sandbox/history.ts';
import type { CallEvent, CallMade, SmsEvent, SmsMade } from '../../../src/sandbox/traffic/events.ts';

export type { CallEvent, CallMade, DeliveryRecord, RequestRecord, SmsEvent, SmsMade };

/** Any object of the API, as it came. */
export type Resource = Readonly<Record<string, unknown>>;

/** The sandbox of a deployment, seen from outside: what happens in it, what it tells, and what it answers. */
export interface FaultyService {
  readonly url: string;
  sms(event: SmsEvent): Promise<SmsMade>;
  call(event: CallEvent): Promise<CallMade>;
  /** Replaces all faults: without an argument, none is left. */
  faults(...faults: FaultInput[]): Promise<void>;
  /** Registers a webhook of somebody else's. */
  subscribe(subscription: Resource): Promise<void>;
  /** Changes a subscription with a credential of our own. */
  changeSubscription(id: unknown, changes: Resource): Promise<void>;
  deleteSubscription(id: unknown): Promise<void>;
  /** Gives the daemon's API key other scopes. */
  grant(scopes: readonly string[]): Promise<void>;
  deliveries(): Promise<DeliveryRecord[]>;
  /** Every POST of a send that was answered, and every charge. */
  sends(): Promise<SendRecord[]>;
  /** Requests that the daemon made; those of `read` are not counted. */
  requests(): Promise<RequestRecord[]>;
  /** The ids of all calls that began in a span of time. */
  callsBetween(from: Date, to: Date): Promise<string[]>;
  /** Reads the API with a credential of our own. */
  read<T = Resource[]>(path: string): Promise<T>;
}

const observer = { name: 'observer', key: 'observer-key' };
const everything = 100_000;
const webhooks = '/api/public/v1/webhooks';

/** Opens the running sandbox at `url`, once in its life. */
export async function openService(url: string): Promise<FaultyService> {
  async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${observer.key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
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
    subscribe: async (subscription) => void (await ask('POST', webhooks, subscription)),
    changeSubscription: async (id, changes) => void (await ask('PATCH', `${webhooks}/${id}`, changes)),
    deleteSubscription: async (id) => void (await ask('DELETE', `${webhooks}/${id}`)),
    grant: async (scopes) => void (await ask('PATCH', '/_sandbox/keys/default', { scopes })),
    sends: () => ask('GET', `/_sandbox/sends?limit=${everything}`),
    deliveries: () => ask('GET', `/_sandbox/deliveries?limit=${everything}`),
    async requests() {
      const all = await ask<RequestRecord[]>('GET', `/_sandbox/requests?limit=${everything}`);
      return all.filter(({ key }) => key !== observer.name);
    },
    async callsBetween(from, to) {
      const window = { start: Math.floor(from.getTime() / 1_000), end: Math.floor(to.getTime() / 1_000) - 1 };
      const ids: string[] = [];
      for (;;) {
        const page = await ask<{ total: number; calls: { id: string }[] }>('POST', '/api/public/v1/calls/search', {
          ...window,
          limit: 100,
          offset: ids.length,
        });
        ids.push(...page.calls.map(({ id }) => id));
        if (page.calls.length === 0 || ids.length >= page.total) return ids;
      }
    },
    read: (path) => ask('GET', `/api/public/v1${path}`),
  };
}
