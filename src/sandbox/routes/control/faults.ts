import { z } from 'zod';
import type { Context } from '../../context.ts';
import { courses, scriptNames } from '../../faults/courses.ts';
import { faultSpec } from '../../faults/spec.ts';
import { strikeSubscription, subscriptionFault } from '../../faults/subscriptions.ts';
import type { Api } from '../../http/api.ts';
import { invalidRequest } from '../../http/errors.ts';
import { dataOf, idPath, nothing } from '../../http/fields.ts';
import { subscriptionResource, subscriptionSchema } from '../../resources/subscriptions.ts';

const faultAnswer = { 200: dataOf(faultSpec) };

const scriptBody = z.strictObject({
  name: z.enum(scriptNames).optional(),
  seconds: z.number().min(0.1).max(86_400).optional().describe('How long the whole takes.'),
});
const runningScript = z.object({
  name: z.enum(scriptNames),
  startedAt: z.string(),
  endsAt: z.string(),
  step: z.string().describe('What is in force at present.'),
});
const scriptList = z.object({
  running: runningScript.nullable(),
  scripts: z.array(
    z.object({
      name: z.enum(scriptNames),
      about: z.string(),
      seconds: z.number(),
      steps: z.array(z.object({ fromSeconds: z.number(), about: z.string() })),
    }),
  ),
});

const catalogue = scriptNames.map((name) => {
  const { about, seconds, steps } = courses[name];
  return {
    name,
    about,
    seconds,
    steps: steps.map((step) => ({ fromSeconds: step.from * seconds, about: step.about })),
  };
});

/** What goes wrong: GET and POST /_sandbox/faults; GET, POST and DELETE /_sandbox/scripts; POST …/subscriptions/{id}. */
export function faultRoutes(api: Api, context: Pick<Context, 'faults' | 'scripts' | 'store' | 'now'>): void {
  const { faults, scripts } = context;

  api.get('/faults', { schema: { summary: 'Faults that strike at present', response: faultAnswer } }, () => ({
    data: faults.current(),
  }));
  api.post(
    '/faults',
    {
      schema: {
        summary: 'Replace all faults; `{}` ends them, and a script that runs',
        description:
          'The faults of `answers` and `deliveries` take `rate` and `times`, and can be narrowed to `operations` or `types`. The same faults with the same seed strike the same way.',
        body: faultSpec,
        response: faultAnswer,
      },
    },
    ({ body }) => ({ data: faults.set(body) }),
  );

  api.get(
    '/scripts',
    {
      schema: { summary: 'Courses of faults over time, and the one that runs', response: { 200: dataOf(scriptList) } },
    },
    () => ({ data: { running: scripts.running(), scripts: catalogue } }),
  );
  api.post(
    '/scripts',
    {
      schema: {
        summary: 'Begin a course of faults in the place of all others; it ends by itself, or with `{}`',
        body: scriptBody,
        response: { 200: dataOf(runningScript.nullable()) },
      },
    },
    ({ body: { name, seconds } }) => {
      if (name !== undefined) return { data: scripts.start(name, seconds) };
      if (seconds !== undefined) throw invalidRequest(`name is required: one of ${scriptNames.join(', ')}`);
      scripts.stop();
      return { data: null };
    },
  );
  api.delete(
    '/scripts',
    { schema: { summary: 'End the script that runs, and its faults', response: { 204: nothing } } },
    (_request, reply) => {
      scripts.stop();
      reply.code(204).send();
    },
  );

  api.post(
    '/subscriptions/:id',
    {
      schema: {
        summary: 'Let the service disable, delete, retype, redirect or duplicate a subscription by itself',
        description: 'Answers with the subscription as it is now, or its copy; null when it is gone.',
        params: idPath,
        body: subscriptionFault,
        response: { 200: dataOf(subscriptionSchema.nullable()) },
      },
    },
    ({ params, body }) => {
      const struck = strikeSubscription(context, params.id, body);
      return { data: struck && subscriptionResource(struck) };
    },
  );
}
