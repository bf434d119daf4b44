import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { validate } from '../../http/validation.ts';
import { sendRecords } from '../../resources/sends.ts';

const historyQuery = z.object({
  limit: z.string().regex(/^\d+$/, 'must be an integer, 0 or more').transform(Number).default(100),
});

/** GET /_sandbox/requests, sends, deliveries, state: what the sandbox saw, did and holds. */
export function historyRoutes(app: FastifyInstance, context: Context): void {
  const { history, store, faults } = context;
  const limitOf = (query: unknown) => validate(historyQuery, query, 'query').limit;
  app.get('/requests', ({ query }) => ({ data: history.requests.list(limitOf(query)) }));
  app.get('/sends', ({ query }) => ({ data: sendRecords(store, history, limitOf(query)) }));
  app.get('/deliveries', ({ query }) => ({ data: history.deliveries.list(limitOf(query)) }));

  app.get('/state', () => ({
    data: {
      users: store.users.size(),
      lines: store.lines.size(),
      conversations: store.messages.threadCount(),
      messages: store.messages.size(),
      calls: store.calls.size(),
      subscriptions: store.subscriptions.size(),
      keys: store.keys.size(),
      pendingDeliveries: context.pendingDeliveries(),
      faults: faults.current(),
    },
  }));
}
