/** In progress, waiting for manual review, or final. */
export const states = [
  'PLANNED',
  'HELD',
  'AWAITING_APPROVAL',
  'RESERVED',
  'DISPATCHED',
  'UNKNOWN',
  'NEEDS_HUMAN',
  'SENT',
  'SKIPPED',
  'REJECTED',
  'NOT_SENT',
  'DENIED',
  'EXPIRED',
] as const;
export type SendState = (typeof states)[number];

/** No request has left, and one may still leave. */
const unsentStates: readonly SendState[] = ['PLANNED', 'HELD', 'AWAITING_APPROVAL', 'RESERVED'];

export function isUnsent({ state }: { readonly state: SendState }): boolean {
  return unsentStates.includes(state);
}

/** SQL condition: the same for a row of ops.sends. */
export const isUnsentRow = `state in (${unsentStates.map((state) => `'${state}'`).join(', ')})`;
