import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { statusJson } from '../ops/health-checks.ts';
import type { Queues } from '../queues/queues.ts';
import { maskTree } from '../shared/masking.ts';
import { answering, pageHeaders, servePage } from './answering.ts';
import { liveScript, style } from './html.ts';
import { registerMetrics, sharedSnapshot } from './metrics.ts';
import { registerRecords } from './records/routes.ts';
import { registerReports } from './reports/routes.ts';
import { renderOutage, renderPage } from './status-page.ts';

/** The pages of the daemon: status, its JSON, reports, metrics and the queue board. */
export function registerPages(app: FastifyInstance, context: Context): void {
  const { settings, queues } = context;
  const snapshot = sharedSnapshot(context);

  registerBoard(app, queues);
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

/** The path of the queue board. */
export const boardPath = '/queues';

/**
 * Serves the queue board, read-only: any method but GET gets a 405. Phone numbers are masked in every answer, since the
 * board's own formatters do not reach deduplication ids.
 */
export function registerBoard(app: FastifyInstance, queues: Pick<Queues, 'bull'>): void {
  const adapter = new FastifyAdapter();
  const board = createBullBoard({
    queues: [],
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'Trunkline queues', miscLinks: [{ text: 'Status', url: '/' }] } },
  });
  adapter.setBasePath(boardPath);
  let listed: Queues['bull'] = [];
  // The queues open late if Postgres was unreachable at the start.
  const showQueues = () => {
    const { bull } = queues;
    if (bull.length === listed.length) return;
    listed = bull;
    board.setQueues(bull.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })));
  };
  app.register(async (scope) => {
    // The board needs inline styles. It also requests an external font, which stays blocked.
    await scope.register(helmet, {
      strictTransportSecurity: false,
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'self'"],
          styleSrc: ["'self'", "'unsafe-inline'"],
          imgSrc: ["'self'", 'data:'],
          baseUri: ["'self'"],
          objectSrc: ["'none'"],
          frameAncestors: ["'none'"],
        },
      },
    });
    scope.addHook('onRequest', async (request, reply) => {
      showQueues();
      if (request.method !== 'GET') return reply.code(405).send({ error: 'the queue board is read-only' });
    });
    scope.addHook('preSerialization', async (_request, _reply, payload) => maskTree(payload));
    await scope.register(adapter.registerPlugin(), { prefix: boardPath });
  });
}
