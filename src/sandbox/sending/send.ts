import type { Charge, Message } from '../account.ts';
import type { Context } from '../context.ts';
import type { Credential } from '../http/auth.ts';
import { ApiError } from '../http/errors.ts';
import { settingsOf } from '../store/store.ts';
import { type Bill, priceSend, type Skipped, selectRecipients } from './billing.ts';
import { type CarrierDeps, hasOptedOut, sendText } from './carrier.ts';
import { type Attachment, contentTypeOf, extensionOf, type SendOrder } from './request.ts';

export type SendOutcome =
  | (Extract<Bill, { outcome: 'charged' }> & {
      reached: string[];
      skipped: Skipped[];
      message: Message;
      charge: Charge;
    })
  | (Extract<Bill, { outcome: 'nothing' }> & { skipped: Skipped[] });

/** Prices a send. Sends one message and charges it once, unless all are skipped. Throws a 422 when one has no rate. */
export function send(deps: CarrierDeps, order: SendOrder, sender: Credential): SendOutcome {
  const { store, now } = deps;
  const { from: line, to, message: text, attachments } = order;
  const recipients = selectRecipients(to, (number) => hasOptedOut(store, { line, number }));
  const { rates } = settingsOf(store);
  const bill = priceSend({ recipients, text, attachmentCount: attachments.length, rates });
  if (bill.outcome === 'unrated') {
    throw new ApiError(422, 'invalid_request', `no active rate applies to ${bill.numbers.join(', ')}`);
  }
  if (bill.outcome === 'nothing') return { ...bill, skipped: recipients.skipped };

  const message = sendText(deps, buildMessage(deps, order, recipients.reached, sender));
  const charge = store.charges.put({
    id: store.charges.highestKey() + 1,
    at: now().toISOString(),
    key: sender.name,
    from: line,
    to: recipients.reached,
    type: bill.billing.type,
    units: bill.billing.units,
    totalMicros: bill.totalMicros,
    messageIds: [message.id],
  });
  return { ...bill, ...recipients, message, charge };
}

/** Two or more recipients share one group thread (2.4). */
function buildMessage(
  { store, now }: Pick<Context, 'store' | 'now'>,
  { from: line, message: text, attachments }: SendOrder,
  reached: readonly string[],
  sender: Credential,
): Message {
  const id = store.messages.nextId();
  const parties = [...reached].sort();
  return {
    id,
    line,
    number: parties[0] ?? '',
    participants: parties.length > 1 ? parties : [],
    direction: 'out',
    from: line,
    text,
    media: attachments.map((attachment, index) => storeFile(store, attachment, `${id}-${index + 1}`)),
    sentAt: now().getTime(),
    readBy: sender.kind === 'user' ? [sender.user.id] : [],
    readByAccount: false,
    ...(sender.kind === 'user' ? { sentBy: sender.user.id } : {}),
  };
}

/** Stores an attachment and returns its file name. */
function storeFile(
  { files }: Pick<Context['store'], 'files'>,
  { filename, content }: Attachment,
  name: string,
): string {
  const file = `${name}.${extensionOf(filename)}`;
  return files.put({ file, contentType: contentTypeOf(filename), content }).file;
}
