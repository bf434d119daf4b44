import type { EventType } from '../../shared/event-types.ts';
import { type Answer, nothing } from '../answers/envelope.ts';
import { listOf, one } from '../answers/fields.ts';
import { type Field, name } from '../answers/values.ts';
import { type Subscription, subscription, user } from '../entities/account.ts';
import { ServiceError } from '../errors.ts';
import { idProblem, type ObjectId, urlProblem } from '../requests/parameters.ts';
import { type CallOptions, del, get, type Operation, patch, post, put } from '../transport/operation.ts';
import type { Transport } from '../transport/transport.ts';

/** Section 4.5: the account's users. */
export function createUsers({ repeatable }: Transport) {
  return {
    /**
     * Scope users:read: sorted by lastName, firstName and id. An OAuth user needs the permission Users, and gets only
     * those they may see.
     */
    list: (call?: CallOptions) => repeatable(call, { name: 'users.list', ...get`/users`, read: listOf('users', user) }),
  };
}

export interface SubscriptionChanges {
  name?: string | undefined;
  description?: string | undefined;
  /** http or https, at most 1,024 characters. */
  url?: string | undefined;
  type?: EventType | undefined;
  enabled?: boolean | undefined;
}

interface NewSubscription extends SubscriptionChanges {
  name: string;
  url: string;
  type: EventType;
}

/**
 * Section 4.7: webhook subscriptions, scopes webhooks:read and webhooks:write. The specification does not show `get`,
 * `create` and `remove`: they follow its conventions.
 */
export function createWebhooks({ repeatable, once }: Transport) {
  /** Uses the first operation that the service has. When it has none of them, the first refusal is thrown. */
  async function firstSupported(
    call: CallOptions | undefined,
    operations: readonly Operation<Subscription>[],
    isMissing: (status: number | undefined) => boolean,
  ): Promise<Answer<Subscription>> {
    let refusal: unknown;
    for (const operation of operations) {
      try {
        return await repeatable(call, operation);
      } catch (error) {
        if (!(error instanceof ServiceError) || !isMissing(error.status)) throw error;
        refusal ??= error;
      }
    }
    throw refusal;
  }

  return {
    /** The service filters by `enabled: true` only. */
    list: (query: { type?: EventType; enabled?: true } = {}, call?: CallOptions) =>
      repeatable(call, { name: 'webhooks.list', ...get`/webhooks`, query, read: listOf('webhooks', subscription) }),
    /** The live list of event types. The answer's shape is not specified. */
    types: (call?: CallOptions) =>
      repeatable(call, { name: 'webhooks.types', ...get`/webhooks/types`, read: listOf('types', typeName) }),
    get: (id: ObjectId, call?: CallOptions) => repeatable(call, ofOne('webhooks.get', id, get`/webhooks/${id}`)),
    /** Never repeated: that would create a second one. */
    create: (body: NewSubscription, call?: CallOptions) =>
      once(call, { name: 'webhooks.create', ...post`/webhooks`, body, problem: urlProblem(body.url), read: readOne }),
    /** PUT, or the identical PATCH where the service has no PUT: merges, and answers what is stored. */
    update: (id: ObjectId, changes: SubscriptionChanges, call?: CallOptions) =>
      firstSupported(call, updates('webhooks.update', id, changes), isMethodMissing),
    /** The update that enables; where the service has none, `POST …/enable`, which the specification does not show. */
    enable: (id: ObjectId, call?: CallOptions) =>
      firstSupported(
        call,
        [
          ...updates('webhooks.enable', id, { enabled: true }),
          ofOne('webhooks.enable', id, post`/webhooks/${id}/enable`),
        ],
        (status) => isMethodMissing(status) || status === 404,
      ),
    /** `not_found` when it is not the account's. */
    disable: (id: ObjectId, call?: CallOptions) =>
      repeatable(call, ofOne('webhooks.disable', id, post`/webhooks/${id}/disable`)),
    /** `not_found` when there is none, unless an earlier try of this call may have deleted it. */
    remove: (id: ObjectId, call?: CallOptions) =>
      repeatable(call, { ...ofOne('webhooks.remove', id, del`/webhooks/${id}`), read: nothing }),
  };
}

/** The same update as PUT and as PATCH. */
function updates(name: string, id: ObjectId, changes: SubscriptionChanges): Operation<Subscription>[] {
  return [put`/webhooks/${id}`, patch`/webhooks/${id}`].map((request) => {
    const operation = ofOne(name, id, request);
    return { ...operation, body: changes, problem: operation.problem ?? urlProblem(changes.url) };
  });
}

function ofOne(
  name: string,
  id: ObjectId,
  request: Pick<Operation<unknown>, 'method' | 'path'>,
): Operation<Subscription> {
  return { name, ...request, problem: idProblem('id', id), read: readOne };
}

function isMethodMissing(status: number | undefined): boolean {
  return status === 405 || status === 501;
}

const readOne = one('webhook', subscription);

/** An event type is its name, or an object with the name in `type` or `name`. */
const typeName: Field<string> = (value, report, parent, key) => {
  if (typeof value !== 'object' || value === null) return name(value, report, parent, key);
  const { type, name: called } = value as Record<string, unknown>;
  return name(type ?? called ?? value, report, parent, key);
};
