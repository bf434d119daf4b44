import type { EventType } from '../../event-types.ts';
import type { Answer } from '../answers/envelope.ts';
import { requiredEntity, requiredRows } from '../answers/fields.ts';
import type { Reading } from '../answers/reading.ts';
import { type Field, name } from '../answers/values.ts';
import { type Subscription, subscription } from '../entities/subscription.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Operation, Transport } from '../transport/transport.ts';

export interface SubscriptionFilter {
  type?: EventType;
  /** Only true is supported (section 4.7). */
  enabled?: true;
}

export interface SubscriptionChanges {
  name?: string;
  description?: string;
  /** http or https, at most 1,024 characters. */
  url?: string;
  type?: EventType;
  enabled?: boolean;
}

export interface NewSubscription extends SubscriptionChanges {
  name: string;
  url: string;
  type: EventType;
}

/** Section 4.7: webhook subscriptions. */
export interface Webhooks {
  /** `GET /webhooks`, scope webhooks:read. */
  list(filter?: SubscriptionFilter, call?: CallOptions): Promise<Answer<readonly Subscription[]>>;
  /** `GET /webhooks/types`, the live list of event types. The answer's shape is not specified. */
  types(call?: CallOptions): Promise<Answer<readonly string[]>>;
  /** `POST /webhooks`: by convention, the specification does not show it. Never repeated. */
  create(subscription: NewSubscription, call?: CallOptions): Promise<Answer<Subscription>>;
  /** `PUT /webhooks/{id}`, scope webhooks:write: merges, and answers what is stored. */
  update(id: number, changes: SubscriptionChanges, call?: CallOptions): Promise<Answer<Subscription>>;
  /** The update that enables: the operation of that name is not shown in the specification. */
  enable(id: number, call?: CallOptions): Promise<Answer<Subscription>>;
  /** `POST /webhooks/{id}/disable`, scope webhooks:write. */
  disable(id: number, call?: CallOptions): Promise<Answer<Subscription>>;
}

export function createWebhooks(transport: Transport): Webhooks {
  return {
    list: ({ type, enabled } = {}, call) =>
      transport.repeatable(
        {
          name: 'webhooks.list',
          method: 'GET',
          path: path`/webhooks`,
          query: { type, enabled },
          read: (data, reading) => requiredRows(data, subscription, reading, 'webhooks'),
        },
        call,
      ),
    types: (call) =>
      transport.repeatable(
        {
          name: 'webhooks.types',
          method: 'GET',
          path: path`/webhooks/types`,
          read: (data, reading) => requiredRows(data, typeName, reading, 'types'),
        },
        call,
      ),
    create: (created, call) =>
      transport.once(
        { name: 'webhooks.create', method: 'POST', path: path`/webhooks`, body: created, read: readOne },
        call,
      ),
    update: (id, changes, call) => transport.repeatable(put('webhooks.update', id, changes), call),
    enable: (id, call) => transport.repeatable(put('webhooks.enable', id, { enabled: true }), call),
    disable: (id, call) =>
      transport.repeatable(
        { name: 'webhooks.disable', method: 'POST', path: path`/webhooks/${id}/disable`, read: readOne },
        call,
      ),
  };
}

function put(operation: string, id: number, changes: SubscriptionChanges): Operation<Subscription> {
  return { name: operation, method: 'PUT', path: path`/webhooks/${id}`, body: changes, read: readOne };
}

function readOne(data: unknown, reading: Reading): Subscription {
  return requiredEntity(data, subscription, reading, 'webhook');
}

/** A type is its name, or an object that carries its name. */
const typeName: Field<string> = (value, reading, parent, key) => {
  if (typeof value !== 'object' || value === null) return name(value, reading, parent, key);
  const { type, name: called } = value as Record<string, unknown>;
  return name(type ?? called ?? value, reading, parent, key);
};
