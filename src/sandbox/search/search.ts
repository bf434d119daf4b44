import type { Call } from '../account.ts';
import type { SearchRequest } from '../routes/calls/search-request.ts';
import type { Store } from '../store/store.ts';
import type { Card } from './cards.ts';
import { type Test, testsOf } from './filters.ts';
import { pageOf } from './order.ts';

/** The calls that a request asks for (4.6): how many there are, and one page of them. `now` in milliseconds. */
export function searchCalls(
  { calls, users }: Pick<Store, 'calls' | 'users'>,
  request: SearchRequest,
  now: number,
): { total: number; calls: Call[] } {
  const { start, end } = request;
  const tests = testsOf(request, calls.catalogue(), users, now);
  const found = tests.length === 0 ? calls.between(start, end) : passing(tests, calls.cardsBetween(start, end));
  return { total: found.length, calls: pageOf(found, request) };
}

function passing(tests: readonly Test[], cards: readonly Card[]): Call[] {
  const calls: Call[] = [];
  for (const card of cards) if (passes(tests, card)) calls.push(card.call);
  return calls;
}

/** Called for each of many calls: a plain loop spares the closure that `every` would make for each. */
function passes(tests: readonly Test[], card: Card): boolean {
  for (const test of tests) if (!test(card)) return false;
  return true;
}
