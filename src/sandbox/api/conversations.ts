import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ConversationState, Note } from '../account.ts';
import type { Context } from '../context.ts';
import { type Api, linePath, pairPath, phoneNumber } from '../http/api.ts';
import { type Credential, credentialOf, requireLine } from '../http/auth.ts';
import { invalidRequest, notFound } from '../http/errors.ts';
import { pairKey } from '../store/store.ts';
import { rfc3339 } from '../time.ts';

const comment = z.string().refine((text) => text.trim() !== '', 'must not be empty');
const resolveBody = z.strictObject({
  resolvedBy: z.int().optional(),
  comment: comment.optional(),
});
const assignBody = z.strictObject({
  userId: z.int().nullable().default(null),
});
const commentBody = z.strictObject({ comment });

const config = { scope: 'sms:write', permission: 'phoneNumbers' } as const;

type Pair = z.output<typeof pairPath>;

/**
 * The state of conversations (3, 4.2), each between a line and one number. A conversation without a state is open:
 *
 *     open ──resolve──▶ resolved      resolve again: unchanged
 *     open ◀──reopen─── resolved      reopen again: unchanged
 */
export function conversationRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  const { conversations, users } = store;

  function stateOf(request: FastifyRequest & { params: Pair }): ConversationState {
    const { line, number } = request.params;
    requireLine(store, request, line);
    return conversations.get(pairKey({ line, number })) ?? { line, number, resolved: false, notes: [] };
  }

  function requireAccountUser(id: number, field: string): number {
    if (users.get(id) === undefined) throw invalidRequest(`${field} must be a user on the account, got ${id}`);
    return id;
  }

  /** A token acts for its owner only; an API key for the named user, or for nobody (4.2). */
  function resolverOf(credential: Credential, named: number | undefined): { by?: number } {
    if (credential.kind === 'key') return named === undefined ? {} : { by: requireAccountUser(named, 'resolvedBy') };
    if (named === undefined) return { by: credential.user.id };
    throw invalidRequest('resolvedBy is for API keys only: a token resolves for its owner');
  }

  function withNote(state: ConversationState, text: string, author: Pick<Note, 'by'>): ConversationState {
    return { ...state, notes: [...state.notes, { ...author, text, at: rfc3339(now().getTime()) }] };
  }

  api.post('/sms/conversations/:line/:number/resolve', {
    config,
    schema: { operationId: 'resolveConversation', params: pairPath, body: resolveBody },
    handler: (request) => {
      const { resolvedBy, comment: note } = request.body;
      const before = stateOf(request);
      const resolver = resolverOf(credentialOf(request), resolvedBy);
      const after = before.resolved ? before : resolved(before, resolver, rfc3339(now().getTime()));
      const noted = note === undefined ? after : withNote(after, note, resolver);
      return shown(noted === before ? before : conversations.put(noted));
    },
  });

  api.post('/sms/conversations/:line/:number/reopen', {
    config,
    schema: { operationId: 'reopenConversation', params: pairPath },
    handler: (request) => {
      const before = stateOf(request);
      return shown(before.resolved ? conversations.put(reopened(before)) : before);
    },
  });

  api.post('/sms/conversations/:line/:number/assign', {
    config,
    schema: { operationId: 'assignConversation', params: pairPath, body: assignBody },
    handler: (request) => {
      const { assignedTo: _, ...unassigned } = stateOf(request);
      const { userId } = request.body;
      const after = userId === null ? unassigned : { ...unassigned, assignedTo: requireAccountUser(userId, 'userId') };
      return shown(conversations.put(after));
    },
  });

  api.post('/sms/conversations/:line/:number/comments', {
    config,
    schema: { operationId: 'commentOnConversation', params: pairPath, body: commentBody },
    handler: (request, reply) => {
      const state = stateOf(request);
      const credential = credentialOf(request);
      const author = credential.kind === 'user' ? { by: credential.user.id } : {};
      reply.code(201);
      return shown(conversations.put(withNote(state, request.body.comment, author)));
    },
  });
}

function resolved(state: ConversationState, { by }: Pick<Note, 'by'>, at: string): ConversationState {
  return { ...state, resolved: true, ...(by === undefined ? {} : { resolvedBy: by }), resolvedAt: at };
}

function reopened({ resolvedBy: _by, resolvedAt: _at, ...state }: ConversationState): ConversationState {
  return { ...state, resolved: false };
}

/** The answer, without the assignee and the notes. */
function shown({ assignedTo: _assignee, notes: _notes, ...state }: ConversationState) {
  return { data: state };
}

const blockBody = z.strictObject({ number: phoneNumber, reason: z.string().default('') });

/** Blocked senders of a line (4.3). The specification shows no way to unblock. */
export function blockingRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  const { blocked } = store;

  api.post('/sms/lines/:line/blocked', {
    config: { scope: 'sms:write', permission: 'phoneNumbers' },
    schema: { operationId: 'blockSender', params: linePath, body: blockBody },
    handler: (request, reply) => {
      const pair = { line: request.params.line, number: request.body.number };
      requireLine(store, request, pair.line);
      const block =
        blocked.get(pairKey(pair)) ??
        blocked.put({ ...pair, reason: request.body.reason, blockedAt: rfc3339(now().getTime()) });
      reply.code(201);
      return { data: block };
    },
  });

  api.get('/sms/lines/:line/blocked/:number', {
    config: { scope: 'sms:read', permission: 'phoneNumbers' },
    schema: { operationId: 'getBlockedSender', params: pairPath },
    handler: (request) => {
      const { line, number } = request.params;
      requireLine(store, request, line);
      const block = blocked.get(pairKey({ line, number }));
      if (block === undefined) throw notFound(`a block of ${number} on ${line}`);
      return { data: block };
    },
  });
}
