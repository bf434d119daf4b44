import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { namesOf } from '../faults/lots.ts';

/**
 * Writes each request of the routes registered after it to the history, those whose answer a fault lost included: their
 * status is the one that would have arrived. The query is left out where it holds secrets.
 */
export function recordRequests(
  app: FastifyInstance,
  { history, now }: Pick<Context, 'history' | 'now'>,
  { query = true } = {},
): void {
  app.addHook('onRequest', async (request, reply) => {
    const began = performance.now();
    // Unlike the end of an answer, the end of a response comes even when the connection is cut.
    reply.raw.once('close', () => {
      const fault = namesOf(request.struck ?? []);
      history.requests.add({
        at: now().toISOString(),
        method: request.method,
        path: query ? request.url : (request.url.split('?')[0] ?? ''),
        status: reply.statusCode,
        key: request.credential?.name ?? null,
        durationMs: Math.round((performance.now() - began) * 1000) / 1000,
        ...(fault !== undefined && { fault }),
      });
    });
  });
}
