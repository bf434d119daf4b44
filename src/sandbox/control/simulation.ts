import { z } from 'zod';
import type { Context } from '../context.ts';
import { faultList } from '../faults/spec.ts';
import { sendRecords } from '../history.ts';
import { type Api, countField, dataOf } from '../http/api.ts';
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
  api.post('/events/sms', { schema: { summary: 'Let a text arrive or go out', body: smsEvent } }, ({ body }, reply) => {
    reply.code(201);
    return { data: simulateSms(context, body) };
  });
  api.post('/events/call', { schema: { summary: 'Let a call end', body: callEvent } }, ({ body }, reply) => {
    reply.code(201);
    return { data: simulateCall(context, body) };
  });
  api.post('/events/transcript', {
    schema: { summary: 'Let a transcript be finished', body: transcriptEvent },
    handler: ({ body }, reply) => {
      reply.code(201);
      return { data: simulateTranscript(context, body) };
    },
  });
}

/** GET and POST /_sandbox/faults. */
export function faultRoutes(api: Api, { faults }: Pick<Context, 'faults'>): void {
  const response = { 200: dataOf(faultList) };
  api.get('/faults', { schema: { summary: 'The faults in force', response } }, () => ({ data: faults.current() }));
  api.post('/faults', {
    schema: {
      summary: 'Replace all faults; `[]` ends them',
      description: 'The same faults with the same seed give the same failures.',
      body: faultList,
      response,
    },
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
    schema: { summary: 'Requests that were answered, oldest first', querystring },
    handler: ({ query: { limit } }) => ({ data: history.requests.list(limit) }),
  });
  api.get('/sends', {
    schema: { summary: 'Sends that were answered, and what each was charged', querystring },
    handler: ({ query: { limit } }) => ({ data: sendRecords(store, history, limit) }),
  });
  api.get('/deliveries', { schema: { summary: 'Deliveries to webhooks', querystring } }, ({ query: { limit } }) => ({
    data: history.deliveries.list(limit),
  }));

  api.get('/state', { schema: { summary: 'How much there is of everything' } }, () => ({
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

  api.post('/reset', { schema: { summary: 'Back to the seeded state' } }, async (_request, reply) => {
    await context.reset();
    return reply.code(204).send();
  });
}
