import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Message } from '../../account.ts';
import { assumptions } from '../../assumptions.ts';
import type { Context } from '../../context.ts';
import { permissionDenied } from '../../http/errors.ts';
import { validate } from '../../http/validation.ts';
import { requireNumber } from '../../phone-number.ts';
import { messageResource } from '../../resources/messages.ts';
import type { Store } from '../../store/store.ts';

const { threadLimit } = assumptions;
const digits = z.string().regex(/^\d+$/, 'must be an integer, 0 or more').transform(Number);

const threadQuery = z.object({
  markRead: z.enum(['true', 'false']).default('false'),
  groupParticipants: z.string().optional(),
  limit: digits
    .pipe(
      z
        .number()
        .min(threadLimit.min, `must be from ${threadLimit.min} to ${threadLimit.max}`)
        .max(threadLimit.max, `must be from ${threadLimit.min} to ${threadLimit.max}`),
    )
    .default(threadLimit.default),
  offset: digits.default(0),
});

/** GET /sms/conversations/{line}/{number} (4.2). */
export function conversationRoutes(app: FastifyInstance, context: Pick<Context, 'store' | 'links' | 'now'>): void {
  const { store, links, now } = context;

  app.get<{ Params: { line: string; number: string } }>(
    '/sms/conversations/:line/:number',
    { config: { scope: 'messages:read' } },
    ({ params, query }) => {
      const line = requireLine(store, params.line);
      const number = requireNumber(params.number, 'number');
      const { markRead, groupParticipants, limit, offset } = validate(threadQuery, query, 'query');
      const others = (groupParticipants ?? '').split(',').filter((part) => part.trim() !== '');
      const parties = new Set([number, ...others.map((part) => requireNumber(part, 'groupParticipants'))]);

      const messages = store.messages.thread(line, [...parties]);
      const end = Math.max(0, messages.length - offset);
      const page = messages.slice(Math.max(0, end - limit), end).reverse();
      const shown = markRead === 'true' ? page.map((message) => markAsRead(store, message)) : page;
      const at = now().getTime();
      return {
        data: {
          line,
          number,
          messages: shown.map((message) => messageResource(message, at, links)),
          markedRead: markRead === 'true',
        },
      };
    },
  );
}

/** A line that the credential may use; an API key may use all of the account's (4.2 rule 3). */
function requireLine(store: Pick<Store, 'lines'>, segment: string): string {
  const line = requireNumber(segment, 'line');
  if (store.lines.get(line) === undefined) throw permissionDenied(`${line} is not an SMS line of this account`);
  return line;
}

function markAsRead(store: Store, message: Message): Message {
  if (message.readByAccount || message.direction === 'out') return message;
  return store.messages.put({ ...message, readByAccount: true }) as Message;
}
