import type { FastifyRequest } from 'fastify';
import type { Charge, Message } from '../account.ts';
import type { Context } from '../context.ts';
import type { Api } from '../http/api.ts';
import { type Credential, credentialOf, requireLine, usableLines } from '../http/auth.ts';
import { ApiError } from '../http/errors.ts';
import { priceSend, selectRecipients } from '../sending/billing.ts';
import { hasOptedOut, sendText } from '../sending/carrier.ts';
import { contentTypeOf, extensionOf, type SendOrder, sendBody } from '../sending/request.ts';
import { type Store, settingsOf } from '../store/store.ts';

/** GET /sms/lines (4.1). */
export function lineRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  api.get('/sms/lines', {
    config: { scope: 'sms:read' },
    schema: { operationId: 'listLines' },
    handler: (request) => ({ data: usableLines(store, request) }),
  });
}

/** POST /sms/messages (4.1), the only billed operation. Only a send that is answered with 201 is charged. */
export function sendRoutes(api: Api, context: Context): void {
  const { store, links, history, now } = context;
  const charges = new WeakMap<FastifyRequest, Charge>();

  api.post('/sms/messages', {
    config: { scope: 'sms:send' },
    schema: { operationId: 'sendMessage', body: sendBody },
    onSend: async (request, { statusCode: status }) => {
      const charge = charges.get(request) ?? null;
      // A reset may have forgotten a send while a fault held its answer back.
      if (charge !== null && store.charges.get(charge.id) !== charge) return;
      history.sends.add({ at: now().toISOString(), key: request.credential?.name ?? null, status, charge });
    },
    handler: (request, reply) => {
      const { from, to, message: text, attachments } = request.body;
      requireLine(store, request, from);
      const { reached, skipped } = selectRecipients(to, (number) => hasOptedOut(store, { line: from, number }));
      const { rates } = settingsOf(store);
      const bill = priceSend({ recipients: { reached, skipped }, text, attachmentCount: attachments.length, rates });
      if (bill.outcome === 'unrated') {
        throw new ApiError(422, 'invalid_request', `no active rate applies to ${bill.numbers.join(', ')}`);
      }
      const { billing } = bill;
      if (bill.outcome === 'nothing') return { data: { from, billing, messages: [], skipped } };

      const credential = credentialOf(request);
      const message = sendText(context, outboundText(store, request.body, reached, credential, now().getTime()));
      const charge = store.charges.put({
        id: store.charges.highestKey() + 1,
        at: now().toISOString(),
        key: credential.name,
        from,
        to: reached,
        type: billing.type,
        units: billing.units,
        totalMicros: bill.totalMicros,
        messageIds: [message.id],
      });
      charges.set(request, charge);
      reply.code(201);
      const media = message.media.map((file) => links.media(file));
      const dispatched = {
        id: message.id,
        to: reached,
        type: billing.type,
        status: 'sent',
        ...(media.length > 0 && { media }),
        units: billing.units,
        unitPrice: bill.unitPrice,
        price: billing.totalPrice,
      };
      return { data: { from, billing, messages: [dispatched], skipped } };
    },
  });
}

/** The text that a send orders. Two or more recipients share one group thread (2.4). */
function outboundText(
  { messages, files }: Pick<Store, 'messages' | 'files'>,
  { from: line, message: text, attachments }: SendOrder,
  reached: readonly string[],
  sender: Credential,
  now: number,
): Message {
  const id = messages.nextId();
  const parties = [...reached].sort();
  const media = attachments.map(({ filename, content }, index) => {
    const file = `${id}-${index + 1}.${extensionOf(filename)}`;
    return files.put({ file, contentType: contentTypeOf(filename), content }).file;
  });
  return {
    id,
    line,
    number: parties[0] ?? '',
    participants: parties.length > 1 ? parties : [],
    direction: 'out',
    from: line,
    text,
    media,
    sentAt: now,
    readBy: sender.kind === 'user' ? [sender.user.id] : [],
    readByAccount: false,
    ...(sender.kind === 'user' && { sentBy: sender.user.id }),
  };
}
