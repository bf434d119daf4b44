import { accountActions } from './account.ts';
import type { Action } from './action.ts';
import { readActions } from './reads.ts';
import { ruleActions } from './rules.ts';
import { sendActions } from './sends.ts';

const all = [...sendActions, ...readActions, ...ruleActions, ...accountActions];
export type ActionName = (typeof all)[number]['name'];

/** What an operator can do, once for the command line and the pages. */
export const actions: readonly Action[] = all;

/** The end of the action's address, and its name in the address of the page that follows. */
export const pathOf = (name: string): string => name.replace(' ', '/');

/** Where pages post to. `given` are arguments that the form doesn't ask for. */
export function addressOf(name: ActionName, given: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(given).toString();
  return `/do/${pathOf(name)}${query === '' ? '' : `?${query}`}`;
}
