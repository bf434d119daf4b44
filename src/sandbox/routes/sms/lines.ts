import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';

/** GET /sms/lines (4.1). */
export function lineRoutes(app: FastifyInstance, { store }: Pick<Context, 'store'>): void {
  app.get('/sms/lines', { config: { scope: 'sms:read' } }, () => ({ data: store.lines.values() }));
}
