import type { EventType } from '../../event-types.ts';
import { type Answer, nothing, type Read } from '../answers/envelope.ts';
import { requiredEntity, requiredRows } from '../answers/fields.ts';
import { type Field, name } from '../answers/values.ts';
import { type Subscription, subscription } from '../entities/subscription.ts';
import { ServiceError } from '../errors.ts';
import { idFault } from '../requests/identifiers.ts';
import { urlFault } from '../requests/texts.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Operation, Transport } from '../transport/transport.ts';

export interface SubscriptionFilter {
  type?: EventType | undefined;
  /** Only true is supported (section 4.7). */
  enabled?: true | undefined;
}

export interface SubscriptionChanges {
  name?: string | undefined;
  description?: string | undefined;
  /** http or https, at most 1,024 characters. */
  url?: string | undefined;
  type?: EventType | undefined;
  enabled?: boolean | undefined;
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
  /** `GET /webhooks/types`, scope webhooks:read: the live list of event types. The answer's shape is not specified. */
  types(call?: CallOptions): Promise<Answer<readonly string[]>>;
  /** `GET /webhooks/{id}`, scope webhooks:read: by convention, the specification does not show it. */
  get(id: number, call?: CallOptions): Promise<Answer<Subscription>>;
  /** `POST /webhooks`, scope webhooks:write: by convention, the specification does not show it. Never repeated. */
  create(subscription: NewSubscription, call?: CallOptions): Promise<Answer<Subscription>>;
  /**
   * `PUT /webhooks/{id}`, scope webhooks:write: merges, and answers what is stored. Where the service has no PUT it is
   * PATCH, which is identical.
   */
  update(id: number, changes: SubscriptionChanges, call?: CallOptions): Promise<Answer<Subscription>>;
  /**
   * The update that enables, scope webhooks:write; where the service has none, `POST /webhooks/{id}/enable`, which the
   * specification names without showing it.
   */
  enable(id: number, call?: CallOptions): Promise<Answer<Subscription>>;
  /** `POST /webhooks/{id}/disable`, scope webhooks:write. `not_found` when it is not the account's. */
  disable(id: number, call?: CallOptions): Promise<Answer<Subscription>>;
  /**
   * `DELETE /webhooks/{id}`, scope webhooks:write: by convention, the specification does not show it. `not_found` when
   * there is none, unless an earlier try of this call may have deleted it.
   */
  remove(id: number, call?: CallOptions): Promise<Answer<void>>;
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
    get: (id, call) => transport.repeatable(one('webhooks.get', 'GET', id, readOne), call),
    create: (created, call) =>
      transport.once(
        {
          name: 'webhooks.create',
          method: 'POST',
          path: path`/webhooks`,
          body: created,
          fault: urlFault(created.url),
          read: readOne,
        },
        call,
      ),
    update: (id, changes, call) =>
      firstOf(
        changing('webhooks.update', id, changes).map((operation) => () => transport.repeatable(operation, call)),
        isWithoutMethod,
      ),
    enable: (id, call) =>
      firstOf(
        [...changing('webhooks.enable', id, { enabled: true }), enabling(id)].map(
          (operation) => () => transport.repeatable(operation, call),
        ),
        (error) => isWithoutMethod(error) || error.status === 404,
      ),
    disable: (id, call) =>
      transport.repeatable(
        {
          name: 'webhooks.disable',
          method: 'POST',
          path: path`/webhooks/${id}/disable`,
          fault: idFault('id', id),
          read: readOne,
        },
        call,
      ),
    remove: (id, call) => transport.repeatable(one('webhooks.remove', 'DELETE', id, nothing), call),
  };
}

function changing(operation: string, id: number, changes: SubscriptionChanges): Operation<Subscription>[] {
  const fault = idFault('id', id) ?? urlFault(changes.url);
  return (['PUT', 'PATCH'] as const).map((method) => ({
    ...{ name: operation, method, path: path`/webhooks/${id}` },
    ...{ body: changes, fault, read: readOne },
  }));
}

function enabling(id: number): Operation<Subscription> {
  const fault = idFault('id', id);
  return { name: 'webhooks.enable', method: 'POST', path: path`/webhooks/${id}/enable`, fault, read: readOne };
}

/** Tries one after the other where the service lacks an operation. When it lacks all of them, the first refusal stands. */
async function firstOf<T>(
  tries: readonly (() => Promise<T>)[],
  isLacking: (error: ServiceError) => boolean,
): Promise<T> {
  let refusal: unknown;
  for (const attempt of tries) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ServiceError) || !isLacking(error)) throw error;
      refusal ??= error;
    }
  }
  throw refusal;
}

function isWithoutMethod({ status }: ServiceError): boolean {
  return status === 405 || status === 501;
}

function one<T>(operation: string, method: 'GET' | 'DELETE', id: number, read: Read<T>): Operation<T> {
  return { name: operation, method, path: path`/webhooks/${id}`, fault: idFault('id', id), read };
}

const readOne: Read<Subscription> = (data, reading) => requiredEntity(data, subscription, reading, 'webhook');

/** A type is its name, or an object that carries its name. */
const typeName: Field<string> = (value, reading, parent, key) => {
  if (typeof value !== 'object' || value === null) return name(value, reading, parent, key);
  const { type, name: called } = value as Record<string, unknown>;
  return name(type ?? called ?? value, reading, parent, key);
};
