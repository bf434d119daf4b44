import { accessClauses, limitClauses } from './clauses/access.ts';
import type { Hidden } from './clauses/hidden.ts';
import { accountClauses, textingClauses, transitionClauses } from './clauses/operations.ts';
import { callClauses, conversationClauses, sendingClauses } from './clauses/resources.ts';

/** Every rule of sections 2 to 8 of the specification in one sentence of our own, by section and name. */
export const clauses = {
  ...sendingClauses,
  ...conversationClauses,
  ...callClauses,
  ...transitionClauses,
  ...textingClauses,
  ...accountClauses,
  ...accessClauses,
  ...limitClauses,
} as const satisfies Record<string, string | Hidden>;

export type ClauseId = keyof typeof clauses;

/** The section that a clause belongs to, such as `4.2`. */
export function sectionOf(clause: string): string {
  return clause.split('/')[0] ?? '';
}
