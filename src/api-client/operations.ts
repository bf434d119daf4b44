import { normalizeNumber } from '../shared/numbers.ts';
import { type Answer, nothing, type Read } from './answers/envelope.ts';
import { listOf, one } from './answers/fields.ts';
import { subscription, typeName, user } from './entities/account-schemas.ts';
import { call, callPage, recording, transcript } from './entities/call-schemas.ts';
import {
  blockedSender,
  conversationState,
  draft,
  sent,
  line as smsLine,
  template,
  threadRead,
  unreadCounts,
} from './entities/text-schemas.ts';
import {
  type CallSearch,
  idInJson,
  type NewSubscription,
  type Pair,
  type ReadMarks,
  type Resolution,
  type SendRequest,
  type SubscriptionChanges,
  sendBody,
  type ThreadAddress,
  type ThreadPage,
} from './requests.ts';
import { type CallOptions, fillPath, type ObjectId, type Operation, type Query } from './transport/operation.ts';
import type { Transport } from './transport/transport.ts';

/** Scopes of section 5.1. `messages:*` stand in section 4 only. */
export type Scope =
  | `${'webhooks' | 'sms' | 'messages'}:${'read' | 'write'}`
  | `${'reports' | 'users' | 'recordings'}:read`
  | 'sms:send';

type Route = `${Operation<unknown>['method']} /${string}`;

type ParametersOf<R extends string> = R extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParametersOf<Rest>
  : never;

/** What one call of an operation sends. */
type Sent<R extends Route> = {
  readonly query?: Query | undefined;
  readonly body?: unknown;
  /** Whether this call must not be repeated although others may. */
  readonly isOnce?: boolean;
} & ([ParametersOf<R>] extends [never] ? object : { readonly path: Readonly<Record<ParametersOf<R>, ObjectId>> });

interface Row<R extends Route, T, A extends unknown[]> {
  /** Method, and path below `/api/public/v1`. */
  readonly route: R;
  readonly scope: Scope;
  /** Not idempotent: one request is sent at most, and errors say whether it may have been carried out. */
  readonly isOnce?: true;
  /** Costs money. Section 7 promises that an error with the envelope had no effect. */
  readonly isBilled?: true;
  /** What a call sends. Has no default parameters: the number of parameters is the position of the call's options. */
  readonly takes?: (...given: A) => Sent<R>;
  readonly gives: Read<T>;
}

function operation<const R extends Route, T, A extends unknown[] = []>(
  route: R,
  scope: Scope,
  row: Omit<Row<R, T, A>, 'route' | 'scope'>,
): Row<R, T, A> {
  return { route, scope, ...row };
}

const at = ({ line, number }: { line: string; number: string }) => ({
  line: normalizeNumber(line),
  number: normalizeNumber(number),
});

const ofId = (id: ObjectId) => ({ path: { id } });
const ofCall = (callid: string) => ({ path: { callid } });
const readState = one('conversation', conversationState);
const readSubscription = one('webhook', subscription);

/**
 * Every operation of the service (sections 4.1 to 4.7): its row is a method of the client, a line of
 * docs/api-coverage.md, and the scope that `doctor` asks for. Numbers may be formatted. Every method rejects with
 * `ServiceError` and nothing else.
 */
export const operations = {
  lines: {
    /** Every number that `messages.send` takes as `from`. */
    list: operation('GET /sms/lines', 'sms:read', { gives: listOf('lines', smsLine) }),
    /** Idempotent; no operation undoes it. The blocked party never sees the `reason`. */
    block: operation('POST /sms/lines/{line}/blocked', 'sms:write', {
      takes: (line: string, { number, reason }: { number: string; reason?: string | undefined }) => ({
        path: { line: normalizeNumber(line) },
        body: { number: normalizeNumber(number), reason },
      }),
      gives: one('blocked', blockedSender),
    }),
    /** `not_found` when the number isn't blocked. */
    blocked: operation('GET /sms/lines/{line}/blocked/{number}', 'sms:read', {
      takes: (line: string, number: string) => ({ path: at({ line, number }) }),
      gives: one('blocked', blockedSender),
    }),
    /**
     * Marks messages of the line read for the calling user: all, or those after `since` (RFC 3339). Refuses an API key.
     */
    markRead: operation('POST /sms/lines/{line}/read', 'messages:write', {
      takes: (line: string, body?: { since?: string | undefined }) => ({
        path: { line: normalizeNumber(line) },
        body: body ?? {},
      }),
      gives: nothing,
    }),
  },

  messages: {
    /**
     * Bills the account: status 201 is sent and charged; 200 means every recipient was skipped, at no charge.
     *
     * At most one request leaves, whatever comes back. A `ServiceError` with effect `none` proves that nothing was sent or
     * charged. With effect `unknown` and the advice `reconcile` (a timeout, a broken connection, an answer that isn't the
     * service's own) the message may have been sent: read the thread to find out, and never send it again for that reason.
     *
     * The service refuses a `from` that isn't yours or has no SMS with `permission_denied`, and a destination without a
     * rate or a request over a limit of section 8 with `invalid_request`. `skipped[].to` holds a recipient as given
     * here; the service skips one that isn't a phone number as `invalid`.
     */
    send: operation('POST /sms/messages', 'sms:send', {
      isOnce: true,
      isBilled: true,
      takes: (request: SendRequest) => ({ body: sendBody(request) }),
      gives: one('sent', sent),
    }),
  },

  conversations: {
    read: operation('GET /sms/conversations/{line}/{number}', 'messages:read', {
      takes: (thread: ThreadAddress, page?: ThreadPage) => ({
        path: at(thread),
        query: {
          groupParticipants: thread.groupParticipants?.join(','),
          limit: page?.limit,
          offset: page?.offset,
          markRead: page?.markRead,
        },
      }),
      gives: threadRead,
    }),
    /**
     * Idempotent without a `comment`. With one it's never repeated, because each request adds the note: when in doubt,
     * resolve again without it.
     */
    resolve: operation('POST /sms/conversations/{line}/{number}/resolve', 'sms:write', {
      takes: (pair: Pair, resolution?: Resolution) => {
        const { resolvedBy, comment } = resolution ?? {};
        const isEmpty = resolvedBy === undefined && comment === undefined;
        return { path: at(pair), isOnce: comment !== undefined, ...(!isEmpty && { body: { resolvedBy, comment } }) };
      },
      gives: readState,
    }),
    /** Adds an internal note and changes nothing else. */
    comment: operation('POST /sms/conversations/{line}/{number}/comments', 'sms:write', {
      isOnce: true,
      takes: (pair: Pair, comment: string) => ({ path: at(pair), body: { comment } }),
      gives: readState,
    }),
    /** To a user, or with null to nobody. Doesn't change whether it is resolved. */
    assign: operation('POST /sms/conversations/{line}/{number}/assign', 'sms:write', {
      takes: (pair: Pair, userId: ObjectId | null) => ({
        path: at(pair),
        body: { userId: userId === null ? null : idInJson(userId) },
      }),
      gives: readState,
    }),
    /** Also succeeds when it was never resolved. */
    reopen: operation('POST /sms/conversations/{line}/{number}/reopen', 'sms:write', {
      takes: (pair: Pair) => ({ path: at(pair) }),
      gives: readState,
    }),
    /** For the calling user only. */
    markMessages: operation('POST /sms/conversations/{line}/{number}/read', 'messages:write', {
      takes: (pair: Pair, { messageIds, read }: ReadMarks) => ({
        path: at(pair),
        body: { messageIds: messageIds.map(idInJson), read },
      }),
      gives: nothing,
    }),
    /** Can't be undone. `permission_denied` also where the account restricts deleting. */
    deleteMessage: operation('DELETE /sms/conversations/{line}/{number}/messages/{id}', 'messages:write', {
      takes: (pair: Pair, id: ObjectId) => ({ path: { ...at(pair), id } }),
      gives: nothing,
    }),
    /** Destroys every message of the thread. Refused like `deleteMessage`. */
    delete: operation('DELETE /sms/conversations/{line}/{number}', 'messages:write', {
      takes: (pair: Pair) => ({ path: at(pair) }),
      gives: nothing,
    }),
  },

  unread: {
    /** Of all lines, or of `lines`; `since` (RFC 3339) counts later messages only. */
    counts: operation('GET /sms/unread', 'messages:read', {
      takes: (filter?: { lines?: readonly string[] | undefined; since?: string | undefined }) => ({
        query: { lines: filter?.lines?.map(normalizeNumber).join(','), since: filter?.since },
      }),
      gives: one('unread', unreadCounts),
    }),
  },

  /** Unfinished texts, each under a key of 1 to 128 characters that the writer chooses. */
  drafts: {
    /** Creates or overwrites; an empty message is allowed. */
    put: operation('PUT /sms/drafts/{draftId}', 'sms:write', {
      takes: (draftId: string, message: string) => ({ path: { draftId }, body: { message } }),
      gives: one('draft', draft),
    }),
    /** Also succeeds when there is no such draft. */
    delete: operation('DELETE /sms/drafts/{draftId}', 'sms:write', {
      takes: (draftId: string) => ({ path: { draftId } }),
      gives: nothing,
    }),
  },

  /** Saved replies. The service refuses an API key here (section 5.3). */
  templates: {
    create: operation('POST /sms/templates', 'sms:write', {
      isOnce: true,
      takes: (body: { title: string; body: string }) => ({ body }),
      gives: one('template', template),
    }),
    /** One of the calling user's own. */
    delete: operation('DELETE /sms/templates/{id}', 'sms:write', { takes: ofId, gives: nothing }),
  },

  users: {
    /** Sorted by lastName, firstName and id. */
    list: operation('GET /users', 'users:read', { gives: listOf('users', user) }),
  },

  /** Call ids are text (section 2.9). */
  calls: {
    /** Creates nothing. */
    search: operation('POST /calls/search', 'reports:read', {
      takes: (body: CallSearch) => ({ body }),
      gives: callPage,
    }),
    /** `not_found` when it isn't the account's. */
    get: operation('GET /calls/{callid}', 'reports:read', { takes: ofCall, gives: one('call', call) }),
    /**
     * An empty list is normal. `not_found` if the call isn't the account's. Everyone is refused if the account asks for
     * another verification before sensitive content.
     */
    recordings: operation('GET /calls/{callid}/recordings', 'recordings:read', {
      takes: ofCall,
      gives: listOf('recordings', recording),
    }),
    /** An empty list is normal. */
    transcripts: operation('GET /calls/{callid}/transcripts', 'recordings:read', {
      takes: ofCall,
      gives: listOf('transcripts', transcript),
    }),
  },

  /** The specification doesn't show `get`, `create` and `remove`: they follow its conventions. */
  webhooks: {
    /** The service filters by `enabled: true` only. */
    list: operation('GET /webhooks', 'webhooks:read', {
      takes: (query?: { type?: NewSubscription['type']; enabled?: true }) => ({ query }),
      gives: listOf('webhooks', subscription),
    }),
    /** The live list of event types. The answer's shape isn't specified. */
    types: operation('GET /webhooks/types', 'webhooks:read', { gives: listOf('types', typeName) }),
    get: operation('GET /webhooks/{id}', 'webhooks:read', { takes: ofId, gives: readSubscription }),
    create: operation('POST /webhooks', 'webhooks:write', {
      isOnce: true,
      takes: (body: NewSubscription) => ({ body }),
      gives: readSubscription,
    }),
    /** Merges, and answers what is stored. PATCH does the same, but its details aren't shown. */
    update: operation('PUT /webhooks/{id}', 'webhooks:write', {
      takes: (id: ObjectId, body: SubscriptionChanges) => ({ path: { id }, body }),
      gives: readSubscription,
    }),
    /** `not_found` when it isn't the account's. */
    disable: operation('POST /webhooks/{id}/disable', 'webhooks:write', { takes: ofId, gives: readSubscription }),
    remove: operation('DELETE /webhooks/{id}', 'webhooks:write', { takes: ofId, gives: nothing }),
  },
};

type Table = typeof operations;

type MethodOf<O> =
  O extends Row<infer _, infer T, infer A> ? (...given: [...A, call?: CallOptions]) => Promise<Answer<T>> : never;

/** The methods of the client: those of a resource, such as `lines.list`. */
export type Resources = { readonly [R in keyof Table]: { readonly [V in keyof Table[R]]: MethodOf<Table[R][V]> } };

export type Messages = Resources['messages'];

/** A row whose types don't matter. */
type AnyRow = Omit<Row<Route, unknown, never>, 'takes'> & { readonly takes?: (...given: never[]) => object };

/** Makes a method of every operation. */
export function createResources(transport: Transport): Resources {
  const resources = Object.entries(operations).map(([resource, rows]) => [
    resource,
    Object.fromEntries(
      Object.entries<AnyRow>(rows).map(([verb, row]) => [verb, methodOf(`${resource}.${verb}`, row, transport)]),
    ),
  ]);
  return Object.fromEntries(resources);
}

function methodOf(name: string, row: AnyRow, { once, repeatable }: Transport) {
  const [method, template] = row.route.split(' ') as [Operation<unknown>['method'], string];
  const { isBilled = false, gives: read } = row;
  const takes = row.takes as ((...given: unknown[]) => Sent<Route> & { path?: Record<string, ObjectId> }) | undefined;
  return (...given: unknown[]) => {
    const { path: parameters = {}, query, body, isOnce = row.isOnce } = takes?.(...given) ?? {};
    const path = fillPath(template, parameters);
    const asked = {
      ...{ name, method, query, body, isBilled, read },
      path: path ?? template,
      problem: path === undefined ? 'a parameter of the path is empty or only dots' : undefined,
    };
    return (isOnce ? once : repeatable)(given[takes?.length ?? 0] as CallOptions | undefined, asked);
  };
}
