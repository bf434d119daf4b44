import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import type { ConversationState, Note } from '../../entities/texting.ts';
import { requireLine } from '../../http/access.ts';
import type { Api } from '../../http/api.ts';
import { type Credential, credentialOf } from '../../http/credentials.ts';
import { invalidRequest } from '../../http/errors.ts';
import { dataOf, pairPath } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';
import { rfc3339 } from '../../resources/moments.ts';
import { pairKey } from '../../store/store.ts';

/** Section 2.5. Whom a thread is assigned to is another matter, and not part of it. */
const stateSchema = z
  .object({
    line: z.string(),
    number: z.string(),
    resolved: z.boolean().describe('After the call.'),
    resolvedBy: z.int().optional().describe('Absent when an integration resolved it and named nobody.'),
    resolvedAt: z.string().optional().describe('Absent when not resolved.'),
  })
  .meta({ id: 'ConversationState' });

const comment = z.string().refine((text) => text.trim() !== '', 'must not be empty');
const resolveBody = z.strictObject({
  resolvedBy: z.int().optional().describe('The user to credit. For API keys only: a token credits its owner.'),
  comment: comment.optional().describe('An internal note.'),
});
const assignBody = z.strictObject({
  userId: z.int().nullable().default(null).describe('Without one, the thread returns to the unassigned queue.'),
});
const commentBody = z.strictObject({ comment });

const config = { scope: 'sms:write', permission: 'phoneNumbers' } as const;
const described = { tags: tag('4.2'), params: pairPath };
const answered = dataOf(stateSchema);

type Pair = z.output<typeof pairPath>;

/**
 * The state of conversations (3, 4.2). Each is between a line and one number; what was never touched is open:
 *
 *     open ──resolve──▶ resolved      resolve again: stays as it is
 *     open ◀──reopen─── resolved      reopen again: stays open
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

  /** A token credits its owner and nobody else; a key whom it names, or nobody (4.2). */
  function creditedTo(credential: Credential, named: number | undefined): { by?: number } {
    if (credential.kind === 'key') return named === undefined ? {} : { by: requireAccountUser(named, 'resolvedBy') };
    if (named === undefined) return { by: credential.user.id };
    throw invalidRequest('resolvedBy is for API keys only: a token credits its owner');
  }

  function noted(state: ConversationState, text: string, credit: Pick<Note, 'by'>): ConversationState {
    return { ...state, notes: [...state.notes, { ...credit, text, at: now().getTime() }] };
  }

  api.post(
    '/sms/conversations/:line/:number/resolve',
    {
      config,
      schema: {
        operationId: 'resolveConversation',
        summary: 'Resolve a conversation',
        description: 'One that is resolved keeps its resolver and time.',
        ...described,
        body: resolveBody,
        response: { 200: answered },
      },
    },
    (request) => {
      const { resolvedBy, comment: note } = request.body;
      const before = stateOf(request);
      const credit = creditedTo(credentialOf(request), resolvedBy);
      const after = before.resolved ? before : resolved(before, credit, now().getTime());
      const told = note === undefined ? after : noted(after, note, credit);
      return { data: stateResource(told === before ? before : conversations.put(told)) };
    },
  );

  api.post(
    '/sms/conversations/:line/:number/reopen',
    {
      config,
      schema: {
        operationId: 'reopenConversation',
        summary: 'Reopen a conversation',
        description: 'Succeeds also when it is open, or was never resolved.',
        ...described,
        response: { 200: answered },
      },
    },
    (request) => {
      const before = stateOf(request);
      return { data: stateResource(before.resolved ? conversations.put(reopened(before)) : before) };
    },
  );

  api.post(
    '/sms/conversations/:line/:number/assign',
    {
      config,
      schema: {
        operationId: 'assignConversation',
        summary: 'Assign a conversation to a user, or to nobody',
        description: 'Neither resolves nor reopens it.',
        ...described,
        body: assignBody,
        response: { 200: answered },
      },
    },
    (request) => {
      const { assignedTo: _, ...unassigned } = stateOf(request);
      const { userId } = request.body;
      const after = userId === null ? unassigned : { ...unassigned, assignedTo: requireAccountUser(userId, 'userId') };
      return { data: stateResource(conversations.put(after)) };
    },
  );

  api.post(
    '/sms/conversations/:line/:number/comments',
    {
      config,
      schema: {
        operationId: 'commentOnConversation',
        summary: 'Add an internal note',
        description: 'Nothing can deliver it to the other party.',
        ...described,
        body: commentBody,
        response: { 201: answered },
      },
    },
    (request, reply) => {
      const state = stateOf(request);
      const credential = credentialOf(request);
      const author = credential.kind === 'user' ? { by: credential.user.id } : {};
      reply.code(201);
      return { data: stateResource(conversations.put(noted(state, request.body.comment, author))) };
    },
  );
}

function resolved(state: ConversationState, { by }: Pick<Note, 'by'>, at: number): ConversationState {
  return { ...state, resolved: true, ...(by === undefined ? {} : { resolvedBy: by }), resolvedAt: at };
}

function reopened({ resolvedBy: _by, resolvedAt: _at, ...state }: ConversationState): ConversationState {
  return { ...state, resolved: false };
}

function stateResource({ line, number, resolved, resolvedBy, resolvedAt }: ConversationState) {
  return { line, number, resolved, resolvedBy, resolvedAt: resolvedAt === undefined ? undefined : rfc3339(resolvedAt) };
}
