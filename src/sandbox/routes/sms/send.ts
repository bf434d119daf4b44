import type { FastifyRequest } from 'fastify';
import type { Context } from '../../context.ts';
import type { Charge } from '../../entities/texting.ts';
import { requireLine } from '../../http/access.ts';
import type { Api } from '../../http/api.ts';
import { credentialOf } from '../../http/credentials.ts';
import { ApiError } from '../../http/errors.ts';
import { dataOf } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';
import { sendResource, sendSchema } from '../../resources/sends.ts';
import { sendBody } from '../../sending/request.ts';
import { send } from '../../sending/send.ts';

/** POST /sms/messages (4.1): the one operation that is billed. Nothing is charged unless the answer is 201. */
export function sendRoutes(api: Api, context: Context): void {
  const { store, links, history, now } = context;
  const charges = new WeakMap<FastifyRequest, Charge>();

  api.post(
    '/sms/messages',
    {
      config: { scope: 'sms:send' },
      schema: {
        operationId: 'sendMessage',
        summary: 'Send an SMS or MMS; this costs money',
        tags: tag('4.1'),
        body: sendBody,
        response: { 200: dataOf(sendSchema), 201: dataOf(sendSchema) },
      },
      onSend: async (request, { statusCode: status }) => {
        const chargeId = charges.get(request)?.id ?? null;
        history.sends.add({ at: now().toISOString(), key: request.credential?.name ?? null, status, chargeId });
      },
    },
    (request, reply) => {
      const { from } = request.body;
      requireLine(store, request, from);
      const sent = send(context, request.body, credentialOf(request));
      if (sent.outcome === 'unrated') {
        throw new ApiError(422, 'invalid_request', `no active rate applies to ${sent.numbers.join(', ')}`);
      }
      if (sent.outcome === 'charged') {
        charges.set(request, sent.charge);
        reply.code(201);
      }
      return { data: sendResource(from, sent, links) };
    },
  );
}
