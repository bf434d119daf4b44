import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Message } from '../account.ts';
import type { Context } from '../context.ts';
import { type Api, countField, idField, instant, linePath, pairPath, phoneNumber } from '../http/api.ts';
import { credentialOf, requireLine, requireUser, usableLines } from '../http/auth.ts';
import { notFound, permissionDenied } from '../http/errors.ts';
import {
  isInConversation,
  isReadBy,
  type MessageTable,
  type Reader,
  readerOf,
  recipientsOf,
  withReadMark,
} from '../store/message-table.ts';
import { settingsOf } from '../store/store.ts';
import { rfc3339 } from '../time.ts';
import type { Links } from './files.ts';

/** A message in a thread read (2.6), with the read state of the reader. */
function messageResource(message: Message, reader: Reader, now: number, links: Links) {
  const isScheduled = message.scheduledAt !== undefined && message.scheduledAt > now;
  const { delivery, participants } = message;
  return {
    id: message.id,
    direction: message.direction,
    from: message.from,
    to: recipientsOf(message).join(','),
    text: message.text,
    media: message.media.map((file) => links.media(file)),
    sentAt: rfc3339(!isScheduled && message.scheduledAt !== undefined ? message.scheduledAt : message.sentAt),
    read: isReadBy(message, reader),
    readBy: message.readBy,
    sentBy: message.sentBy,
    delivery: delivery && { status: delivery.status, error: delivery.error, at: rfc3339(delivery.at) },
    groupParticipants: participants.length > 0 ? participants : undefined,
    scheduled: isScheduled,
    scheduledAt: message.scheduledAt === undefined ? undefined : rfc3339(message.scheduledAt),
    blocked: message.blockReason !== undefined,
    blockReason: message.blockReason,
  };
}

const maxLimit = 200;
const range = `must be from 1 to ${maxLimit}`;

const groupNumbers = z
  .string()
  .transform((text) => text.split(',').filter((part) => part.trim() !== ''))
  .pipe(z.array(phoneNumber));

const threadQuery = z.object({
  markRead: z.enum(['true', 'false']).default('false'),
  groupParticipants: groupNumbers.optional(),
  limit: countField.pipe(z.number().min(1, range).max(maxLimit, range)).default(50),
  offset: countField.default(0),
});

/** Section 8. */
const maxMarks = 50;

const markBody = z.strictObject({
  messageIds: z
    .array(z.int())
    .min(1, 'must name at least one message')
    .max(maxMarks, `must name at most ${maxMarks} messages`),
  read: z.boolean().default(true),
});

const messagePath = pairPath.extend({ id: idField });

const read = { scope: 'messages:read', permission: 'phoneNumbers' } as const;
const write = { scope: 'messages:write', permission: 'phoneNumbers' } as const;

/** Reading, marking and deleting the messages of a conversation (4.2). */
export function threadRoutes(api: Api, { store, links, now }: Pick<Context, 'store' | 'links' | 'now'>): void {
  const { messages } = store;

  /** The account setting overrides every scope and role (4.2, rule 1). */
  function requireDeleting(): void {
    if (settingsOf(store).restrictDeletingSms) {
      throw permissionDenied('the account does not allow deleting messages');
    }
  }

  api.get('/sms/conversations/:line/:number', {
    config: read,
    schema: { operationId: 'readThread', params: pairPath, querystring: threadQuery },
    handler: (request) => {
      const { line, number } = request.params;
      const { markRead, groupParticipants, limit, offset } = request.query;
      requireLine(store, request, line);
      const all = messages.thread(line, threadParties(request.params, groupParticipants));
      const end = Math.max(0, all.length - offset);
      const page = all.slice(Math.max(0, end - limit), end).reverse();
      const reader = readerOf(credentialOf(request));
      const markedRead = markRead === 'true';
      const returned = markedRead ? page.map((message) => mark(messages, message, reader, true)) : page;
      const at = now().getTime();
      return {
        data: { line, number, messages: returned.map((one) => messageResource(one, reader, at, links)), markedRead },
      };
    },
  });

  api.post('/sms/conversations/:line/:number/read', {
    config: write,
    schema: { operationId: 'markMessages', params: pairPath, body: markBody },
    handler: (request, reply) => {
      requireLine(store, request, request.params.line);
      const reader = readerOf(credentialOf(request));
      for (const id of request.body.messageIds) {
        const message = messages.get(id);
        if (message !== undefined && isInConversation(message, request.params))
          mark(messages, message, reader, request.body.read);
      }
      reply.code(204).send();
    },
  });

  api.delete('/sms/conversations/:line/:number/messages/:id', {
    config: write,
    schema: { operationId: 'deleteMessage', params: messagePath },
    handler: (request, reply) => {
      const { line, id } = request.params;
      requireLine(store, request, line);
      requireDeleting();
      const message = messages.get(id);
      if (message === undefined || !isInConversation(message, request.params)) throw notFound(`the message ${id}`);
      messages.delete(id);
      reply.code(204).send();
    },
  });

  api.delete('/sms/conversations/:line/:number', {
    config: write,
    schema: { operationId: 'deleteThread', params: pairPath },
    handler: (request, reply) => {
      const { line, number } = request.params;
      requireLine(store, request, line);
      requireDeleting();
      for (const { id } of [...messages.thread(line, [number])]) messages.delete(id);
      reply.code(204).send();
    },
  });
}

const since = instant.optional().transform((text) => (text === undefined ? undefined : endOfSecond(Date.parse(text))));

const lineNumbers = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(phoneNumber));

const unreadQuery = z.object({
  lines: lineNumbers.optional(),
  since,
});

/** Unread counts, and marking a line read (4.3). */
export function unreadRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  const { messages } = store;

  function namedLines(request: FastifyRequest, numbers: string[] | undefined): string[] {
    if (numbers === undefined) return usableLines(store, request).map((line) => line.number);
    return [...new Set(numbers)].map((number) => requireLine(store, request, number).number);
  }

  api.get('/sms/unread', {
    config: { scope: 'messages:read', permission: 'phoneNumbers' },
    schema: { operationId: 'countUnread', querystring: unreadQuery },
    handler: (request) => {
      const reader = readerOf(credentialOf(request));
      const lines = namedLines(request, request.query.lines).map((line) => ({
        line,
        count: messages.unread(line, reader, request.query.since),
      }));
      return { data: { total: lines.reduce((sum, { count }) => sum + count, 0), lines } };
    },
  });

  api.post('/sms/lines/:line/read', {
    config: { scope: 'messages:write', permission: 'phoneNumbers', needsUser: true },
    schema: {
      operationId: 'markLineRead',
      params: linePath,
      body: z.strictObject({ since }),
    },
    handler: (request, reply) => {
      const { number } = requireLine(store, request, request.params.line);
      const reader = requireUser(request).user.id;
      for (const message of messages.ofLine(number, request.body.since)) {
        mark(messages, message, reader, true);
      }
      reply.code(204).send();
    },
  });
}

function mark(messages: MessageTable, message: Message, reader: Reader, read: boolean): Message {
  const after = withReadMark(message, reader, read);
  return after === message ? message : messages.put(after);
}

/** Answers have times in whole seconds: a message in the same second as a whole-second `since` isn't after it. */
function endOfSecond(moment: number): number {
  return moment % 1000 === 0 ? moment + 999 : moment;
}

/** The parties of a thread except the line. */
export function threadParties({ line, number }: z.output<typeof pairPath>, groupParticipants: string[] = []): string[] {
  const parties = new Set([number, ...groupParticipants]);
  parties.delete(line);
  return [...parties];
}
