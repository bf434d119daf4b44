import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { blockedSenderSchema, type ConversationState, conversationStateSchema, type Note } from '../account.ts';
import type { Context } from '../context.ts';
import { type Api, dataOf, linePath, pairPath, phoneNumber } from '../http/api.ts';
import { type Credential, credentialOf, requireLine } from '../http/auth.ts';
import { invalidRequest, notFound } from '../http/errors.ts';
import { pairKey } from '../store/store.ts';
import { rfc3339 } from '../time.ts';

const comment = z.string().refine((text) => text.trim() !== '', 'must not be empty');
const resolveBody = z.strictObject({
  resolvedBy: z.int().optional().describe('The resolving user. API keys only: for a token it is its owner.'),
  comment: comment.optional().describe('An internal note.'),
});
const assignBody = z.strictObject({
  userId: z.int().nullable().default(null).describe('Without one, the thread returns to the unassigned queue.'),
});
const commentBody = z.strictObject({ comment });

const config = { scope: 'sms:write', permission: 'phoneNumbers' } as const;
const answered = dataOf(conversationStateSchema);

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
    schema: {
      operationId: 'resolveConversation',
      summary: 'Resolve a conversation',
      description: 'A resolved conversation keeps its resolver and time.',
      params: pairPath,
      body: resolveBody,
      response: { 200: answered },
    },
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
    schema: {
      operationId: 'reopenConversation',
      summary: 'Reopen a conversation',
      description: 'Succeeds also when it is open.',
      params: pairPath,
      response: { 200: answered },
    },
    handler: (request) => {
      const before = stateOf(request);
      return shown(before.resolved ? conversations.put(reopened(before)) : before);
    },
  });

  api.post('/sms/conversations/:line/:number/assign', {
    config,
    schema: {
      operationId: 'assignConversation',
      summary: 'Assign a conversation to a user, or to nobody',
      description: 'Neither resolves nor reopens it.',
      params: pairPath,
      body: assignBody,
      response: { 200: answered },
    },
    handler: (request) => {
      const { assignedTo: _, ...unassigned } = stateOf(request);
      const { userId } = request.body;
      const after = userId === null ? unassigned : { ...unassigned, assignedTo: requireAccountUser(userId, 'userId') };
      return shown(conversations.put(after));
    },
  });

  api.post('/sms/conversations/:line/:number/comments', {
    config,
    schema: {
      operationId: 'commentOnConversation',
      summary: 'Add an internal note',
      description: 'It is never sent to the other party.',
      params: pairPath,
      body: commentBody,
      response: { 201: answered },
    },
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
function shown(state: ConversationState): z.output<typeof answered> {
  return { data: conversationStateSchema.parse(state) };
}

const blockBody = z.strictObject({ number: phoneNumber, reason: z.string().default('') });

/** Blocked senders of a line (4.3). The specification shows no way to unblock. */
export function blockingRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  const { blocked } = store;

  api.post('/sms/lines/:line/blocked', {
    config: { scope: 'sms:write', permission: 'phoneNumbers' },
    schema: {
      operationId: 'blockSender',
      summary: 'Block a number on a line',
      description: 'A blocked number keeps its first reason and time.',
      params: linePath,
      body: blockBody,
      response: { 201: dataOf(blockedSenderSchema) },
    },
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
    schema: {
      operationId: 'getBlockedSender',
      summary: 'Whether a number is blocked on a line',
      params: pairPath,
      response: { 200: dataOf(blockedSenderSchema) },
    },
    handler: (request) => {
      const { line, number } = request.params;
      requireLine(store, request, line);
      const block = blocked.get(pairKey({ line, number }));
      if (block === undefined) throw notFound(`a block of ${number} on ${line}`);
      return { data: block };
    },
  });
}
