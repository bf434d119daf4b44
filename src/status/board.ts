import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import { maskTree } from '../masking.ts';
import type { Queues } from '../queues/queues.ts';

/** Where the queue board stands. */
export const boardPath = '/queues';

/**
 * The queue board, to be looked at and no more: nothing but GET is answered, and phone numbers are masked in all that
 * it is told, the jobs' deduplication ids included, which its own formatters do not reach.
 */
export function registerBoard(app: FastifyInstance, queues: Pick<Queues, 'bull'>): void {
  const adapter = new FastifyAdapter();
  const board = createBullBoard({
    queues: [],
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'Trunkline queues', miscLinks: [{ text: 'Status', url: '/' }] } },
  });
  adapter.setBasePath(boardPath);
  let shown: Queues['bull'] = [];
  // Queues are opened late where Postgres was away at the start.
  const showQueues = () => {
    const { bull } = queues;
    if (bull.length === shown.length) return;
    shown = bull;
    board.setQueues(bull.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })));
  };
  app.register(async (scope) => {
    // The board writes style elements, and asks for a font elsewhere that it does without.
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
      if (request.method !== 'GET') return reply.code(405).send({ error: 'the queue board is for reading' });
    });
    scope.addHook('preSerialization', async (_request, _reply, payload) => maskTree(payload));
    await scope.register(adapter.registerPlugin(), { prefix: boardPath });
  });
}
