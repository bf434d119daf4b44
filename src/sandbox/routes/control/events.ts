import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import { validate } from '../../http/validation.ts';
import { callEvent, provokeCall } from '../../traffic/calls.ts';
import { provokeSms, smsEvent } from '../../traffic/texts.ts';
import { provokeTranscript, transcriptEvent } from '../../traffic/transcripts.ts';

/** POST /_sandbox/events/sms, call, transcript: make something happen now; the answer holds the ids made. */
export function eventRoutes(app: FastifyInstance, context: Context): void {
  app.post('/events/sms', ({ body }, reply) => {
    reply.code(201);
    return { data: provokeSms(context, validate(smsEvent, body ?? {})) };
  });
  app.post('/events/call', ({ body }, reply) => {
    reply.code(201);
    return { data: provokeCall(context, validate(callEvent, body ?? {})) };
  });
  app.post('/events/transcript', ({ body }, reply) => {
    reply.code(201);
    return { data: provokeTranscript(context, validate(transcriptEvent, body ?? {})) };
  });
}
