import type { Message } from '../account.ts';
import { type Bill, priceOf } from '../billing/bill.ts';
import { type Skipped, sortRecipients } from '../billing/recipients.ts';
import type { Context } from '../context.ts';
import type { Charge } from '../entities/texting.ts';
import type { Credential } from '../http/credentials.ts';
import { type Attachment, contentTypeOf, extensionOf } from './attachments.ts';
import { type CarrierWorld, sendOut } from './carrier.ts';
import { hasOptedOut } from './opt-outs.ts';
import type { SendOrder } from './request.ts';

export type SendOutcome =
  | (Extract<Bill, { outcome: 'charged' }> & {
      reached: string[];
      skipped: Skipped[];
      message: Message;
      charge: Charge;
      /** Whether the gateway returned the message's id (2.3). */
      hasId: boolean;
    })
  | (Extract<Bill, { outcome: 'nothing' }> & { skipped: Skipped[] })
  | Extract<Bill, { outcome: 'unrated' }>;

/** Prices a send, and unless there is nothing to send or no rate for it, dispatches one message and charges it once. */
export function send(world: CarrierWorld & Pick<Context, 'faults'>, order: SendOrder, sender: Credential): SendOutcome {
  const { store, now, faults } = world;
  const { from: line, to, message: text, attachments } = order;
  const recipients = sortRecipients(to, (number) => hasOptedOut(store, { line, number }));
  const rates = store.settings.get('account')?.rates ?? [];
  const bill = priceOf({ recipients, text, attachmentCount: attachments.length, rates });
  if (bill.outcome === 'unrated') return bill;
  if (bill.outcome === 'nothing') return { ...bill, skipped: recipients.skipped };

  const message = sendOut(world, composed(world, order, recipients.reached, sender));
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
  const isNameless = faults.random.chance(faults.current().noMessageId);
  const hasId = !isNameless && recipients.reached.every((number) => store.habits.get(number)?.returnsId !== false);
  return { ...bill, ...recipients, message, charge, hasId };
}

/** Two or more reached recipients share one thread, which all of them see and reply into (2.4). */
function composed(
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
    media: attachments.map((attachment, index) => host(store, attachment, `${id}-${index + 1}`)),
    sentAt: now().getTime(),
    readBy: sender.kind === 'user' ? [sender.user.id] : [],
    readByAccount: false,
    ...(sender.kind === 'user' ? { sentBy: sender.user.id } : {}),
  };
}

/** Keeps a file where its link leads, and returns the name that the link is made of. */
function host({ files }: Pick<Context['store'], 'files'>, { filename, content }: Attachment, name: string): string {
  const file = `${name}.${extensionOf(filename)}`;
  return files.put({ file, contentType: contentTypeOf(filename), content }).file;
}
