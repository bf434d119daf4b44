import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { statusJson } from '../ops/health-checks.ts';
import { answering, pageHeaders, servePage } from './answering.ts';
import { registerMetrics, sharedSnapshot } from './health.ts';
import { liveScript } from './html.ts';
import { registerRecords } from './records/routes.ts';
import { registerReports } from './reports/routes.ts';
import { renderOutage, renderPage, style } from './status-page.ts';

/** The pages of the daemon: status, its JSON, reports and metrics. */
export function registerPages(app: FastifyInstance, context: Context): void {
  const { settings } = context;
  const snapshot = sharedSnapshot(context);

  registerReports(app, context);
  registerRecords(app, context);
  app.register(async (scope) => {
    await scope.register(helmet, pageHeaders(style, { inline: liveScript }));

    servePage(scope, '/', renderOutage, async () => renderPage(await snapshot(), settings));

    scope.get('/api/status', async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      return answering(
        reply,
        (error) => ({ error }),
        async () => statusJson(await snapshot()),
      );
    });

    registerMetrics(scope, context, snapshot);
  });
}
