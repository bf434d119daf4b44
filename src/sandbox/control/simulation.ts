import { z } from 'zod';
import { subscriptionResource, subscriptionSchema } from '../api/webhooks.ts';
import type { Context } from '../context.ts';
import { injectSubscriptionFault } from '../faults/faults.ts';
import { runningScenario, scenarioNames, scenarios } from '../faults/scenarios.ts';
import { faultSpec, subscriptionFault } from '../faults/spec.ts';
import { sendRecords } from '../history.ts';
import { type Api, countField, dataOf, idPath, noContent } from '../http/api.ts';
import { invalidRequest } from '../http/errors.ts';
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

const scriptBody = z.strictObject({
  name: z.enum(scenarioNames).optional(),
  seconds: z.number().min(0.1).max(86_400).optional().describe('Duration of the whole scenario.'),
});
const scriptList = z.object({
  running: runningScenario.nullable(),
  scripts: z.array(
    z.object({
      name: z.enum(scenarioNames),
      about: z.string(),
      seconds: z.number(),
      steps: z.array(z.object({ fromSeconds: z.number(), about: z.string() })),
    }),
  ),
});

const catalogue = scenarioNames.map((name) => {
  const { about, seconds, steps } = scenarios[name];
  return {
    name,
    about,
    seconds,
    steps: steps.map((step) => ({ fromSeconds: step.from * seconds, about: step.about })),
  };
});

/** Fault injection: /_sandbox/faults, /_sandbox/scripts (fault scenarios) and POST /_sandbox/subscriptions/{id}. */
export function faultRoutes(api: Api, context: Pick<Context, 'faults' | 'scenarios' | 'store' | 'now'>): void {
  const { faults, scenarios: scripts } = context;

  api.get('/faults', { schema: { summary: 'The faults in force', response: { 200: dataOf(faultSpec) } } }, () => ({
    data: faults.current(),
  }));
  api.post('/faults', {
    schema: {
      summary: 'Replace all faults; `{}` removes them and ends a running scenario',
      description:
        'Faults of `answers` and `deliveries` take `rate` and `times`, and can be narrowed to `operations` or `types`. The same faults with the same seed give the same failures.',
      body: faultSpec,
      response: { 200: dataOf(faultSpec) },
    },
    handler: ({ body }) => ({ data: faults.set(body) }),
  });

  api.get('/scripts', {
    schema: { summary: 'The fault scenarios, and the running one', response: { 200: dataOf(scriptList) } },
    handler: () => ({ data: { running: scripts.running(), scripts: catalogue } }),
  });
  api.post('/scripts', {
    schema: {
      summary: 'Start a fault scenario, replacing all faults; it ends by itself, or with `{}`',
      body: scriptBody,
      response: { 200: dataOf(runningScenario.nullable()) },
    },
    handler: ({ body: { name, seconds } }) => {
      if (name !== undefined) return { data: scripts.start(name, seconds) };
      if (seconds !== undefined) throw invalidRequest(`name is required: one of ${scenarioNames.join(', ')}`);
      scripts.stop();
      return { data: null };
    },
  });
  api.delete('/scripts', {
    schema: { summary: 'End the running scenario and its faults', response: { 204: noContent } },
    handler: (_request, reply) => {
      scripts.stop();
      reply.code(204).send();
    },
  });

  api.post('/subscriptions/:id', {
    schema: {
      summary: 'Disable, delete, retype, redirect or duplicate a subscription, as the service might',
      description: 'Answers with the changed subscription or the duplicate; null when it was deleted.',
      params: idPath,
      body: subscriptionFault,
      response: { 200: dataOf(subscriptionSchema.nullable()) },
    },
    handler: ({ params, body }) => {
      const changed = injectSubscriptionFault(context, params.id, body);
      return { data: changed && subscriptionResource(changed) };
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
