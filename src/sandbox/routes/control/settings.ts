import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';

/** POST /_sandbox/reset. */
export function settingRoutes(app: FastifyInstance, { reset }: Pick<Context, 'reset'>): void {
  app.post('/reset', async (_request, reply) => {
    await reset();
    return reply.code(204).send();
  });
}
