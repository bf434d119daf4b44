import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';

/** The pages of the daemon: status, its JSON, metrics and the queue board. */
export function registerPages(app: FastifyInstance, context: Context): void {
  app.get('/metrics', async (_request, reply) => {
    const { registry } = context.metrics;
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}
