import { z } from 'zod';
import type { Message } from '../../account.ts';
import { assumptions } from '../../assumptions.ts';
import type { Context } from '../../context.ts';
import { requireLine } from '../../http/access.ts';
import type { Api } from '../../http/api.ts';
import { type Credential, credentialOf } from '../../http/credentials.ts';
import { countField, dataOf, pairPath } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';
import { requireNumber } from '../../phone-number.ts';
import { isReadBy, messageResource, messageSchema } from '../../resources/messages.ts';
import type { Store } from '../../store/store.ts';

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

/** GET /sms/conversations/{line}/{number} (4.2). */
export function threadRoutes(api: Api, { store, links, now }: Pick<Context, 'store' | 'links' | 'now'>): void {
  api.get(
    '/sms/conversations/:line/:number',
    {
      config: { scope: 'messages:read' },
      schema: {
        operationId: 'readThread',
        summary: 'Messages of a conversation',
        tags: tag('4.2'),
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

      const messages = store.messages.thread(line, [...parties]);
      const end = Math.max(0, messages.length - offset);
      const page = messages.slice(Math.max(0, end - limit), end).reverse();
      const viewer = credentialOf(request);
      const shown = markRead === 'true' ? page.map((message) => markAsRead(store, message, viewer)) : page;
      const at = now().getTime();
      return {
        data: {
          line,
          number,
          messages: shown.map((message) => messageResource(message, viewer, at, links)),
          markedRead: markRead === 'true',
        },
      };
    },
  );
}

function markAsRead(store: Pick<Store, 'messages'>, message: Message, viewer: Credential): Message {
  if (message.direction === 'out' || isReadBy(message, viewer)) return message;
  if (viewer.kind === 'key') return store.messages.put({ ...message, readByAccount: true });
  return store.messages.put({ ...message, readBy: [...message.readBy, viewer.user.id] });
}
