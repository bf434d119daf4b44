/** In progress, waiting for manual review, or final. */
export const states = [
  'PLANNED',
  'HELD',
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
