import { z } from 'zod';
import type { Message } from '../../account.ts';
import { assumptions } from '../../assumptions.ts';
import type { Context } from '../../context.ts';
import { marked, type Reader, readerOf } from '../../entities/reading.ts';
import { requireLine } from '../../http/access.ts';
import type { Api } from '../../http/api.ts';
import { credentialOf } from '../../http/credentials.ts';
import { notFound, permissionDenied } from '../../http/errors.ts';
import { countField, dataOf, idField, nothing, pairPath } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';
import { requireNumber } from '../../phone-number.ts';
import { isAmong, messageResource, messageSchema } from '../../resources/messages.ts';

const { min, max, default: usual } = assumptions.threadLimit;
const range = `must be from ${min} to ${max}`;

const threadQuery = z.object({
  markRead: z.enum(['true', 'false']).default('false').describe('Also marks the returned messages read.'),
  groupParticipants: z.string().optional().describe('Comma-separated; addresses a group thread.'),
  limit: countField.pipe(z.number().min(min, range).max(max, range)).default(usual),
  offset: countField.default(0),
});

const thread = z
  .object({
    line: z.string(),
    number: z.string(),
    messages: z.array(messageSchema),
    markedRead: z.boolean().describe('True only when the request passed markRead=true.'),
  })
  .meta({ id: 'Thread' });

/** Section 8. */
const mostMarks = 50;

const markBody = z.strictObject({
  messageIds: z
    .array(z.int())
    .min(1, 'must name at least one message')
    .max(mostMarks, `must name at most ${mostMarks} messages`),
  read: z.boolean().default(true).describe('False marks unread.'),
});

const messagePath = pairPath.extend({ id: idField });

const tags = tag('4.2');
const read = { scope: 'messages:read', permission: 'phoneNumbers' } as const;
const write = { scope: 'messages:write', permission: 'phoneNumbers' } as const;

/** The messages of a conversation: reading, marking and deleting them (4.2). */
export function threadRoutes(api: Api, { store, links, now }: Pick<Context, 'store' | 'links' | 'now'>): void {
  const { messages } = store;

  function mark(message: Message, reader: Reader, read: boolean): Message {
    const after = marked(message, reader, read);
    return after === message ? message : messages.put(after);
  }

  /** The account's setting stands above every scope and role (4.2, rule 1). */
  function requireDeleting(): void {
    if (store.settings.get('account')?.restrictDeletingSms) {
      throw permissionDenied('the account restricts the deleting of messages');
    }
  }

  api.get(
    '/sms/conversations/:line/:number',
    {
      config: read,
      schema: {
        operationId: 'readThread',
        summary: 'Messages of a conversation',
        tags,
        params: pairPath,
        querystring: threadQuery,
        response: { 200: dataOf(thread) },
      },
    },
    (request) => {
      const { line, number } = request.params;
      const { markRead, groupParticipants = '', limit, offset } = request.query;
      requireLine(store, request, line);
      const others = groupParticipants.split(',').filter((part) => part.trim() !== '');
      const parties = new Set([number, ...others.map((part) => requireNumber(part, 'groupParticipants'))]);
      parties.delete(line);

      const all = messages.thread(line, [...parties]);
      const end = Math.max(0, all.length - offset);
      const page = all.slice(Math.max(0, end - limit), end).reverse();
      const reader = readerOf(credentialOf(request));
      const markedRead = markRead === 'true';
      const shown = markedRead ? page.map((message) => mark(message, reader, true)) : page;
      const at = now().getTime();
      return {
        data: { line, number, messages: shown.map((one) => messageResource(one, reader, at, links)), markedRead },
      };
    },
  );

  api.post(
    '/sms/conversations/:line/:number/read',
    {
      config: write,
      schema: {
        operationId: 'markMessages',
        summary: 'Mark messages read or unread',
        description: 'Affects only the calling user; an API key marks for the account.',
        tags,
        params: pairPath,
        body: markBody,
        response: { 204: nothing },
      },
    },
    (request, reply) => {
      requireLine(store, request, request.params.line);
      const reader = readerOf(credentialOf(request));
      for (const id of request.body.messageIds) {
        const message = messages.get(id);
        if (message !== undefined && isAmong(message, request.params)) mark(message, reader, request.body.read);
      }
      reply.code(204).send();
    },
  );

  api.delete(
    '/sms/conversations/:line/:number/messages/:id',
    {
      config: write,
      schema: {
        operationId: 'deleteMessage',
        summary: 'Destroy one message',
        tags,
        params: messagePath,
        response: { 204: nothing },
      },
    },
    (request, reply) => {
      const { line, id } = request.params;
      requireLine(store, request, line);
      requireDeleting();
      const message = messages.get(id);
      if (message === undefined || !isAmong(message, request.params)) throw notFound(`the message ${id}`);
      messages.delete(id);
      reply.code(204).send();
    },
  );

  api.delete(
    '/sms/conversations/:line/:number',
    {
      config: write,
      schema: {
        operationId: 'deleteThread',
        summary: 'Destroy every message of a conversation',
        tags,
        params: pairPath,
        response: { 204: nothing },
      },
    },
    (request, reply) => {
      const { line, number } = request.params;
      requireLine(store, request, line);
      requireDeleting();
      for (const { id } of [...messages.thread(line, [number])]) messages.delete(id);
      reply.code(204).send();
    },
  );
}
