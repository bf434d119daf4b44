import type { Message } from '../account.ts';
import type { OptOut } from '../entities/texting.ts';
import { pairKey, type Store } from '../store/store.ts';

/** The specification knows only STOP (2.3). These are the words that carriers in the account's country honour. */
const changes: ReadonlyMap<string, 'out' | 'in'> = new Map([
  ...(['stop', 'stopall', 'unsubscribe', 'cancel', 'end', 'quit'] as const).map((word) => [word, 'out'] as const),
  ...(['start', 'unstop', 'yes'] as const).map((word) => [word, 'in'] as const),
]);

/**
 * Whether an inbound text makes its sender opt out of the line, or in again. The word has to be the whole message, in
 * any case; spaces and punctuation around it do not matter: " Stop. " opts out, "stop by at 5" changes nothing.
 */
export function optOutChange(text: string): 'out' | 'in' | null {
  const word = /^[\p{P}\s]*([a-z]+)[\p{P}\s]*$/iv.exec(text)?.[1];
  return changes.get(word?.toLowerCase() ?? '') ?? null;
}

/** Keeps what a text that came in says about texting back. It outlives the message: deleting one undoes nothing. */
export function heedOptOut({ optOuts }: Pick<Store, 'optOuts'>, message: Message): void {
  const change = message.direction === 'in' ? optOutChange(message.text) : null;
  if (change === 'out') optOuts.put(optOutBy(message));
  if (change === 'in') optOuts.delete(pairKey(optOutBy(message)));
}

/** Loads the opt-outs that follow from messages in the order of their sending, without recording them. */
export function loadOptOuts({ optOuts }: Pick<Store, 'optOuts'>, messages: readonly Message[]): void {
  for (const message of messages) {
    const change = message.direction === 'in' ? optOutChange(message.text) : null;
    if (change === 'out') optOuts.load(optOutBy(message));
    if (change === 'in') optOuts.unload(pairKey(optOutBy(message)));
  }
}

export function hasOptedOut({ optOuts }: Pick<Store, 'optOuts'>, pair: { line: string; number: string }): boolean {
  return optOuts.get(pairKey(pair)) !== undefined;
}

/** In a group it is whoever spoke that opts out. */
function optOutBy({ line, from, sentAt }: Message): OptOut {
  return { line, number: from, at: sentAt };
}
