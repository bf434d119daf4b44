import type { Message } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import type { Context } from '../context.ts';
import { recipientsOf } from '../resources/messages.ts';
import { pairKey, type Store } from '../store/store.ts';
import { receiptPayload, smsPayload } from '../webhooks/payloads.ts';
import { heedOptOut } from './opt-outs.ts';

/**
 * The way of a text. Out: it enters the thread, the subscribers hear of it, and unless it is blocked the carrier's receipt
 * follows, and the answer of whoever answers by itself. In: it enters the thread, and STOP is heeded.
 */
export type CarrierWorld = Pick<Context, 'store' | 'random' | 'now' | 'announce' | 'timers' | 'links'>;

interface Manner {
  /** The carrier's word in the receipt; null when none ever comes. By default one that means delivered. */
  receipt?: string | null | undefined;
  /** False: no webhook tells of it. */
  announced?: boolean;
}

/** Lets a text of a line go out. Returns it as it stands in the thread. */
export function sendOut(world: CarrierWorld, draft: Message, { receipt, announced = true }: Manner = {}): Message {
  const blockReason = blockReasonOf(world.store, draft);
  const message = world.store.messages.put(blockReason === undefined ? draft : { ...draft, blockReason });
  if (announced) world.announce('AccountSMS', smsPayload(message, world.links));
  if (blockReason !== undefined) return message;
  if (receipt !== null)
    awaitReceipt(world, message.id, receipt ?? world.random.pick(assumptions.deliveredWords), announced);
  for (const number of recipientsOf(message)) awaitReply(world, message, number);
  return message;
}

/** Lets a text of another party come in. */
export function takeIn(world: CarrierWorld, message: Message, { announced = true }: Manner = {}): Message {
  world.store.messages.put(message);
  heedOptOut(world.store, message);
  if (announced) world.announce('AccountSMS', smsPayload(message, world.links));
  return message;
}

/** Why nothing of a text is delivered (2.6). Assumption: a group is reached as long as one of its parties is. */
function blockReasonOf({ blocked }: Pick<Store, 'blocked'>, message: Message): string | undefined {
  const blocks = recipientsOf(message).map((number) => blocked.get(pairKey({ line: message.line, number })));
  return blocks.every((block) => block !== undefined) ? blocks[0]?.reason : undefined;
}

/** The carrier's receipt comes some time after the text (2.6). */
function awaitReceipt(world: CarrierWorld, id: number, status: string, announced: boolean): void {
  const { min, max } = assumptions.receiptAfterMs;
  world.timers.after(world.random.int(min, max), () => {
    const message = world.store.messages.get(id);
    if (message === undefined) return;
    const failure = assumptions.failedReceipts.find((receipt) => receipt.status === status);
    const delivery = { status, error: failure?.error ?? '', at: world.now().getTime() };
    const receipted = world.store.messages.put({ ...message, delivery });
    if (announced) world.announce('AccountSMS', receiptPayload(receipted, world.links));
  });
}

/** A customer with an automatic answer gives it to each text, into the thread that the text came in. */
function awaitReply(world: CarrierWorld, { line, number, participants }: Message, customer: string): void {
  const { autoReply: text = null, afterMs = 0 } = world.store.habits.get(customer) ?? {};
  if (text === null) return;
  world.timers.after(afterMs, () => {
    takeIn(world, {
      id: world.store.messages.nextId(),
      line,
      number,
      participants,
      direction: 'in',
      from: customer,
      text,
      media: [],
      sentAt: world.now().getTime(),
      readBy: [],
      readByAccount: false,
    });
  });
}
