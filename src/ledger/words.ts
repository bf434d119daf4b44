import { price, quantity } from '../shared/format.ts';
import { maskNumbers } from '../shared/masking.ts';
import type { StateCount } from './control.ts';
import type { Send, SendHistory, SendState } from './send.ts';

/** The states of sends, in words. */
export const sendStateNames: Readonly<Record<SendState, string>> = {
  PLANNED: 'planned',
  HELD: 'held',
  AWAITING_APPROVAL: 'awaiting approval',
  RESERVED: 'reserved',
  DISPATCHED: 'in progress',
  UNKNOWN: 'outcome unknown, being reconciled',
  NEEDS_HUMAN: 'need manual review',
  SENT: 'sent',
  SKIPPED: 'skipped by the service',
  REJECTED: 'refused by the service',
  NOT_SENT: 'not sent, retries failed',
  DENIED: 'refused by a gate',
  EXPIRED: 'expired',
};

/** Why a send is in its state, in words, by the code in `ops.sends.reason`. */
const sendReasons: Readonly<Record<string, string>> = {
  superseded: 'a reply to something newer took its place',
  thread_busy: 'another text to the thread is on its way',
  answered_before: 'it was answered before',
  nothing_to_answer: 'there is nothing to answer',
  empty_text: 'its text is empty',
  cancelled: 'an operator cancelled it',
  approved: 'its text was approved',
  edited: 'its text was changed and approved',
  rejected: 'its text was rejected',
  not_approved: 'nobody approved its text in time',
  paused: 'sends are paused',
  reconciled: 'found in its thread',
  'gate:rule_off': 'its rule is off or gone',
  'gate:no_number': 'the recipient is no phone number',
  'gate:short_code': 'the recipient is a short code',
  'gate:own_number': 'the recipient is a number of the account',
  'gate:costly_number': 'the recipient is a premium-rate or satellite number',
  'gate:country': 'its country is not allowed',
  'gate:erased': 'the person was erased',
  'gate:group': 'the text that it answers is of a group',
  'gate:opted_out': 'the person has opted out',
  'gate:opt_out_unsure': 'the person may have opted out',
  'gate:blocked': 'the line has blocked the number',
  'gate:trigger_gone': 'the text that it answers is gone',
  'gate:answered': 'somebody else has answered',
  'gate:human_wrote': 'a person of the account wrote in the thread lately',
  'gate:loop_echo': 'they repeat our text, as a machine does',
  'gate:loop_identical': 'they repeat themselves, as a machine does',
  'gate:loop_too_fast': 'they answer too fast, as a machine does',
  'gate:too_old': 'it was too old',
  'gate:unknown_zone': 'the local time of the recipient is not known',
  'gate:quiet_hours': 'until the quiet hours of the recipient end',
  'gate:earlier_steps': 'earlier steps on the same trigger come first',
  'gate:budget_thread': 'the daily budget of the thread is used up',
  'gate:budget_account': 'the daily budget of texts is used up',
  'gate:budget_money': 'the rest of the daily budget of money may not pay it',
};

/** Reasons that mean something else on a HELD send than on a refused one: what the send waits for. */
const heldReasons: Readonly<Record<string, string>> = {
  'gate:newer_inbound': 'until the rules are evaluated on a newer text',
  'gate:budget_thread': 'other texts to the thread come first',
  'gate:budget_account': 'other texts have reserved the rest of the daily budget',
  'gate:budget_money': 'other texts in progress may need the rest of the daily budget',
};

/** Why a send is in its state, in words. Returns a reason without a known code, such as the service's, unchanged. */
export function sendReasonWords(state: SendState, reason: string): string {
  if (reason === 'dry_run') return 'every gate let it pass; nothing is sent in dry-run mode';
  if (reason === 'gate:newer_inbound' && state !== 'HELD') return 'they have written again';
  return (state === 'HELD' ? heldReasons[reason] : undefined) ?? sendReasons[reason] ?? reason;
}

/** The state of a send, in words. A send that was only simulated or dropped wasn't refused by a gate. */
export function sendStateWords(state: SendState, reason: string | null): string {
  if (reason === 'dry_run') return 'simulated';
  return state === 'DENIED' && reason?.startsWith('gate:') === false ? 'dropped' : sendStateNames[state];
}

/** The state of a send and its reason, with masked numbers. */
export function sendWords(state: SendState, reason: string | null): string {
  const why = reason === null ? '' : `: ${maskNumbers(sendReasonWords(state, reason))}`;
  return `${sendStateWords(state, reason)}${why}`;
}

/** Why nothing can be decided about a send: its state, and who decided before. */
export function decidedWords({ send, events }: SendHistory): string {
  // A worker records the expiry within a minute.
  const isExpired = send.state === 'AWAITING_APPROVAL' && send.expiresAt.getTime() <= Date.now();
  const state = isExpired ? 'EXPIRED' : send.state;
  const why = send.reason === null ? '' : ` (${maskNumbers(sendReasonWords(state, send.reason))})`;
  const who = events.findLast(({ by }) => by !== null)?.by;
  return `It does not wait for that: it is ${sendStateWords(state, send.reason)}${why}${who ? `, decided by ${who}` : ''}.`;
}

/** The mode of a send. The RULES_MODE of its worker, or a later mode of its rule, can make a live send dry-run. */
export function sendMode({ mode, reason }: Pick<Send, 'mode' | 'reason'>): Send['mode'] {
  return reason === 'dry_run' ? 'dry-run' : mode;
}

export function sendModeWords(send: Pick<Send, 'mode' | 'reason'>): string {
  return sendMode(send) === 'live' ? 'live' : 'dry-run: only simulated, nothing is sent';
}

/** What a send cost, or its maximum cost. */
export function sendCost({ settledMicros, reservedMicros, state }: Send): string {
  if (settledMicros !== null) return price(settledMicros);
  if (reservedMicros > 0) return `at most ${price(reservedMicros)}`;
  return state === 'SENT' ? 'not reported' : 'nothing';
}

/** What the ledger holds in words, by state, with the filter that lists it. */
export function countWords(
  counts: readonly StateCount[],
): { readonly name: string; readonly words: string; readonly filter: string }[] {
  const passedCount = counts.reduce((sum, { passed }) => sum + passed, 0);
  const byState = counts.flatMap(({ state, passed, ...all }) => {
    const [count, dry] = [all.count - passed, all.simulated - passed];
    const mark = dry === 0 ? '' : dry === count ? ' (dry-run)' : ` (${quantity(dry)} dry-run)`;
    if (count <= 0) return [];
    return [{ name: sendStateNames[state], words: `${quantity(count)}${mark}`, filter: `state=${state}` }];
  });
  const passed = { name: 'simulated', words: quantity(passedCount), filter: 'mode=dry-run' };
  return passedCount > 0 ? [passed, ...byState] : byState;
}
