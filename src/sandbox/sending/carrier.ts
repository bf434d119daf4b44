import type { Message } from '../account.ts';
import type { Context } from '../context.ts';
import { deliveredWords, failedReceipts } from '../seed/text-history.ts';
import { recipientsOf } from '../store/message-table.ts';
import { pairKey, type Store } from '../store/store.ts';
import { receiptPayload, smsPayload } from '../webhooks/payloads.ts';

const receiptAfterMs = { min: 800, max: 3_000 };

/** The specification names only STOP (2.3). These are the keywords that carriers in the account's country honour. */
const changes: ReadonlyMap<string, 'out' | 'in'> = new Map([
  ...(['stop', 'stopall', 'unsubscribe', 'cancel', 'end', 'quit'] as const).map((word) => [word, 'out'] as const),
  ...(['start', 'unstop', 'yes'] as const).map((word) => [word, 'in'] as const),
]);

/**
 * Whether an inbound text opts its sender out of the line, or in again. The keyword must be the whole message, in any
 * case, with optional spaces and punctuation around it: " Stop. " opts out, "stop by at 5" doesn't.
 */
export function optOutChange(text: string): 'out' | 'in' | null {
  const word = /^[\p{P}\s]*([a-z]+)[\p{P}\s]*$/iv.exec(text)?.[1];
  return changes.get(word?.toLowerCase() ?? '') ?? null;
}

/**
 * Applies the opt-out or opt-in of a text; deleting the text doesn't undo it. Those of seeded texts aren't recorded.
 */
export function applyOptOut({ optOuts }: Pick<Store, 'optOuts'>, message: Message, isRecorded: boolean): void {
  const change = message.direction === 'in' ? optOutChange(message.text) : null;
  // In a group, the author of the text opts out.
  const optOut = { line: message.line, number: message.from, at: message.sentAt };
  const [add, remove] = isRecorded ? [optOuts.put, optOuts.delete] : [optOuts.load, optOuts.unload];
  if (change === 'out') add(optOut);
  if (change === 'in') remove(pairKey(optOut));
}

export function hasOptedOut({ optOuts }: Pick<Store, 'optOuts'>, pair: { line: string; number: string }): boolean {
  return optOuts.get(pairKey(pair)) !== undefined;
}

export type CarrierDeps = Pick<Context, 'store' | 'random' | 'now' | 'announce' | 'timers' | 'links'>;

interface TextOptions {
  /** The status in the carrier's receipt; null for no receipt. By default one that means delivered. */
  receipt?: string | null | undefined;
  /** False: no webhook. */
  announced?: boolean;
}

/** Sends a text: stores it, announces it, and unless it is blocked, schedules the carrier's receipt. */
export function sendText(deps: CarrierDeps, draft: Message, { receipt, announced = true }: TextOptions = {}): Message {
  const blockReason = blockReasonOf(deps.store, draft);
  const message = deps.store.messages.put(blockReason === undefined ? draft : { ...draft, blockReason });
  if (announced) deps.announce('AccountSMS', smsPayload(message, deps.links));
  if (blockReason !== undefined) return message;
  if (receipt !== null) scheduleReceipt(deps, message.id, receipt ?? deps.random.pick(deliveredWords), announced);
  return message;
}

/** Stores and announces a text of another party, and applies STOP and START. */
export function receiveText(deps: CarrierDeps, message: Message, { announced = true }: TextOptions = {}): Message {
  deps.store.messages.put(message);
  applyOptOut(deps.store, message, true);
  if (announced) deps.announce('AccountSMS', smsPayload(message, deps.links));
  return message;
}

/** Why a text isn't delivered (2.6). Assumed: a group is blocked only when every recipient is. */
function blockReasonOf({ blocked }: Pick<Store, 'blocked'>, message: Message): string | undefined {
  const blocks = recipientsOf(message).map((number) => blocked.get(pairKey({ line: message.line, number })));
  return blocks.every((block) => block !== undefined) ? blocks[0]?.reason : undefined;
}

/** The carrier's receipt follows the text (2.6). */
function scheduleReceipt(deps: CarrierDeps, id: number, status: string, announced: boolean): void {
  deps.timers.after(deps.random.between(receiptAfterMs), () => {
    const message = deps.store.messages.get(id);
    if (message === undefined) return;
    const failure = failedReceipts.find((receipt) => receipt.status === status);
    const delivery = { status, error: failure?.error ?? '', at: deps.now().getTime() };
    const receipted = deps.store.messages.put({ ...message, delivery });
    if (announced) deps.announce('AccountSMS', receiptPayload(receipted, deps.links));
  });
}
