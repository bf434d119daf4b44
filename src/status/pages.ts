import { createHash } from 'node:crypto';
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context } from '../context.ts';
import { registerBoard } from './board.ts';
import { statusOf } from './concerns.ts';
import { createGauges } from './gauges.ts';
import { script } from './page/script.ts';
import { style } from './page/style.ts';
import { renderOutage, renderPage } from './page.ts';
import { recent } from './recent.ts';
import { registerReports } from './reports/routes.ts';
import { DatabaseUnavailable, takeSnapshot } from './snapshot.ts';

/** However many watch, the database is asked at most so often, in milliseconds. */
const sharedMs = 1_000;

/** The pages of the daemon: status, its JSON, reports, metrics and the queue board. */
export function registerPages(app: FastifyInstance, context: Context): void {
  const { metrics, settings, queues } = context;
  const snapshot = recent(() => takeSnapshot(context), sharedMs);
  const gauges = createGauges(metrics.registry, snapshot);

  registerBoard(app, queues);
  registerReports(app, context);
  app.register(async (scope) => {
    await scope.register(helmet, { strictTransportSecurity: false, contentSecurityPolicy: pagePolicy() });

    scope.get('/', async (_request, reply) => {
      reply.type('text/html; charset=utf-8').header('cache-control', 'no-store');
      return answering(reply, renderOutage, async () => renderPage(await snapshot(), settings));
    });

    scope.get('/api/status', async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      return answering(
        reply,
        (error) => ({ error }),
        async () => statusOf(await snapshot()),
      );
    });

    scope.get('/metrics', async (_request, reply) => {
      await gauges.refresh();
      return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics());
    });
  });
}

async function answering<T>(reply: FastifyReply, outage: (sentence: string) => T, answer: () => Promise<T>) {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    reply.code(503);
    return outage(error.message);
  }
}

/** Only the page's own style and script may run, known by their hashes. */
function pagePolicy() {
  const own = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  return {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      styleSrc: [own(style)],
      scriptSrc: [own(script)],
      connectSrc: ["'self'"],
      imgSrc: ['data:'],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  };
}
