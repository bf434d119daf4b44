import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Charge, lineSchema } from '../account.ts';
import type { Context } from '../context.ts';
import { type Api, dataOf } from '../http/api.ts';
import { credentialOf, requireLine, usableLines } from '../http/auth.ts';
import { sendBody } from '../sending/request.ts';
import { type SendOutcome, send } from '../sending/send.ts';
import type { Links } from './files.ts';

/** GET /sms/lines (4.1). */
export function lineRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  api.get('/sms/lines', {
    config: { scope: 'sms:read' },
    schema: {
      operationId: 'listLines',
      summary: 'Numbers that can text',
      response: { 200: dataOf(z.array(lineSchema)) },
    },
    handler: (request) => ({ data: usableLines(store, request) }),
  });
}

const type = z.enum(['sms', 'mms']);

/** Section 2.3. */
const sendSchema = z
  .object({
    from: z.string(),
    billing: z.object({
      billed: z.literal(true).describe('Describes the endpoint, not the request.'),
      currency: z.literal('USD'),
      type,
      units: z.int().describe('Segments for sms, 1 for mms; 0 when all recipients were skipped.'),
      totalPrice: z.number().describe('0 when nothing was sent.'),
      recipientCount: z.int().describe('Recipients reached; it does not multiply the price.'),
      skippedCount: z.int(),
    }),
    messages: z.array(
      z.object({
        id: z.int().optional().describe('Absent when the gateway returned none.'),
        to: z.array(z.string()).describe('Normalized.'),
        type,
        status: z.string().describe('`sent`: accepted by the gateway, not received by a handset.'),
        media: z.array(z.string()).optional().describe('Publicly fetchable; treat as secrets.'),
        units: z.int(),
        unitPrice: z.number().describe('The highest rate of a group.'),
        price: z.number().describe('unitPrice × units.'),
      }),
    ),
    skipped: z.array(
      z.object({
        to: z.string().describe('As supplied.'),
        reason: z.enum(['opted_out', 'duplicate', 'invalid']),
      }),
    ),
  })
  .meta({ id: 'Send' });

/** The answer to a priced send: one message, or none when every recipient was skipped. */
function sendResource(from: string, sent: SendOutcome, links: Links): z.output<typeof sendSchema> {
  const { billing, skipped } = sent;
  if (sent.outcome === 'nothing') return { from, billing, messages: [], skipped };
  const { message, reached, unitPrice, price } = sent;
  const media = message.media.map((file) => links.media(file));
  const dispatched = {
    id: message.id,
    to: reached,
    type: billing.type,
    status: 'sent',
    ...(media.length > 0 ? { media } : {}),
    units: billing.units,
    unitPrice,
    price,
  };
  return { from, billing, messages: [dispatched], skipped };
}

/** POST /sms/messages (4.1), the only billed operation. Only a send that is answered with 201 is charged. */
export function sendRoutes(api: Api, context: Context): void {
  const { store, links, history, now } = context;
  const charges = new WeakMap<FastifyRequest, Charge>();

  api.post('/sms/messages', {
    config: { scope: 'sms:send' },
    schema: {
      operationId: 'sendMessage',
      summary: 'Send an SMS or MMS; this costs money',
      body: sendBody,
      response: { 200: dataOf(sendSchema), 201: dataOf(sendSchema) },
    },
    onSend: async (request, { statusCode: status }) => {
      const charge = charges.get(request) ?? null;
      // A reset may have forgotten a send while a fault held its answer back.
      if (charge !== null && store.charges.get(charge.id) !== charge) return;
      history.sends.add({ at: now().toISOString(), key: request.credential?.name ?? null, status, charge });
    },
    handler: (request, reply) => {
      const { from } = request.body;
      requireLine(store, request, from);
      const sent = send(context, request.body, credentialOf(request));
      if (sent.outcome === 'charged') {
        charges.set(request, sent.charge);
        reply.code(201);
      }
      return { data: sendResource(from, sent, links) };
    },
  });
}
