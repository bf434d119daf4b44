import { z } from 'zod';
import type { Context } from '../context.ts';
import { faultList } from '../faults/spec.ts';
import { sendRecords } from '../history.ts';
import { type Api, countField } from '../http/api.ts';
import {
  callEvent,
  simulateCall,
  simulateSms,
  simulateTranscript,
  smsEvent,
  transcriptEvent,
} from '../traffic/events.ts';

/** POST /_sandbox/events/{sms,call,transcript}: makes an event happen now and answers with the ids it created. */
export function eventRoutes(api: Api, context: Context): void {
  api.post('/events/sms', { schema: { body: smsEvent } }, ({ body }, reply) => {
    reply.code(201);
    return { data: simulateSms(context, body) };
  });
  api.post('/events/call', { schema: { body: callEvent } }, ({ body }, reply) => {
    reply.code(201);
    return { data: simulateCall(context, body) };
  });
  api.post('/events/transcript', {
    schema: { body: transcriptEvent },
    handler: ({ body }, reply) => {
      reply.code(201);
      return { data: simulateTranscript(context, body) };
    },
  });
}

/** GET and POST /_sandbox/faults: what is posted replaces all faults, `[]` ends them. */
export function faultRoutes(api: Api, { faults }: Pick<Context, 'faults'>): void {
  api.get('/faults', () => ({ data: faults.current() }));
  api.post('/faults', {
    schema: { body: faultList },
    handler: ({ body }) => {
      faults.set(body);
      return { data: body };
    },
  });
}

const querystring = z.object({ limit: countField.default(100) });

/** GET /_sandbox/{requests,sends,deliveries,state}: what the sandbox received, did and holds; POST /_sandbox/reset. */
export function historyRoutes(api: Api, context: Context): void {
  const { history, store, faults } = context;
  api.get('/requests', {
    schema: { querystring },
    handler: ({ query: { limit } }) => ({ data: history.requests.list(limit) }),
  });
  api.get('/sends', {
    schema: { querystring },
    handler: ({ query: { limit } }) => ({ data: sendRecords(store, history, limit) }),
  });
  api.get('/deliveries', { schema: { querystring } }, ({ query: { limit } }) => ({
    data: history.deliveries.list(limit),
  }));

  api.get('/state', () => ({
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

  api.post('/reset', async (_request, reply) => {
    await context.reset();
    return reply.code(204).send();
  });
}
