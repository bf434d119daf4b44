import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { marked, readerOf } from '../../entities/reading.ts';
import { requireLine, requireUser, usableLines } from '../../http/access.ts';
import type { Api } from '../../http/api.ts';
import { credentialOf } from '../../http/credentials.ts';
import { dataOf, instant, linePath, nothing } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';
import { requireNumber } from '../../phone-number.ts';

const since = instant
  .optional()
  .transform((text) => (text === undefined ? undefined : endOfShown(Date.parse(text))))
  .describe('RFC 3339; only messages after it. Without it, all.');

const unreadQuery = z.object({
  lines: z.string().optional().describe('Comma-separated numbers; omit for all.'),
  since,
});

/** Section 2.7. */
const unreadCounts = z
  .object({ total: z.int(), lines: z.array(z.object({ line: z.string(), count: z.int() })) })
  .meta({ id: 'UnreadCounts' });

const tags = tag('4.3');

/** Unread counts, and marking a line read (4.3). */
export function unreadRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  const { messages } = store;

  function namedLines(request: FastifyRequest, names: string | undefined): string[] {
    if (names === undefined) return usableLines(store, request).map((line) => line.number);
    const numbers = new Set(names.split(',').map((name) => requireNumber(name, 'lines')));
    return [...numbers].map((number) => requireLine(store, request, number).number);
  }

  api.get(
    '/sms/unread',
    {
      config: { scope: 'messages:read', permission: 'phoneNumbers' },
      schema: {
        operationId: 'countUnread',
        summary: 'How much is unread, by line',
        description: 'What the calling user has not read; for an API key, what nobody has.',
        tags,
        querystring: unreadQuery,
        response: { 200: dataOf(unreadCounts) },
      },
    },
    (request) => {
      const reader = readerOf(credentialOf(request));
      const lines = namedLines(request, request.query.lines).map((line) => ({
        line,
        count: messages.unread(line, reader, request.query.since),
      }));
      return { data: { total: lines.reduce((sum, { count }) => sum + count, 0), lines } };
    },
  );

  api.post(
    '/sms/lines/:line/read',
    {
      config: { scope: 'messages:write', permission: 'phoneNumbers', needsUser: true },
      schema: {
        operationId: 'markLineRead',
        summary: 'Mark a whole line read',
        description: 'For the calling user, in every conversation of the line.',
        tags,
        params: linePath,
        body: z.strictObject({ since }),
        response: { 204: nothing },
      },
    },
    (request, reply) => {
      const { number } = requireLine(store, request, request.params.line);
      const reader = requireUser(request).user.id;
      for (const message of messages.ofLine(number, request.body.since)) {
        const after = marked(message, reader, true);
        if (after !== message) messages.put(after);
      }
      reply.code(204).send();
    },
  );
}

/** Times are shown in whole seconds: what is shown with the same time as a moment of such a kind is not after it. */
function endOfShown(moment: number): number {
  return moment % 1000 === 0 ? moment + 999 : moment;
}
