import { maskKey } from '../masking.ts';

/** The kinds of thing that are read, one stream each. */
export const targetKinds = ['thread', 'call', 'recordings', 'transcripts', 'users', 'lines'] as const;
export type TargetKind = (typeof targetKinds)[number];

/** A thing to read. */
export interface Target {
  readonly kind: TargetKind;
  readonly key: string;
}

/** A target as logs and pages may show it: of phone numbers only the last four digits. */
export function shownTarget({ kind, key }: Target): string {
  return `${kind} ${maskKey(kind, key)}`;
}

/** What happens now goes before history that is filled in. */
export const priorities = { live: 0, history: 1 } as const;
export type Priority = (typeof priorities)[keyof typeof priorities];

/**
 * How a delivery names targets. What nothing but deliveries named, and no read has found, is unconfirmed: it may not exist.
 * When its first read found nothing, or it came in a crowd of references, it is read behind all others and slowly
 * (`sync/unconfirmed.ts`), one of a crowd, or that was not found, behind one that came almost alone.
 */
export const unconfirmed = { alone: 2, crowd: 3 } as const;

/** The rank of a target: how soon it is read. */
export type Rank = Priority | (typeof unconfirmed)[keyof typeof unconfirmed];

/** A real event names one call, or the threads of one text; a delivery with more references is a batch, or forged. */
const maxAlone = 10;

/** How a delivery with so many references ranks a target that is unconfirmed. */
export function rankAmong(references: number): Rank {
  return references > maxAlone ? unconfirmed.crowd : unconfirmed.alone;
}

/** A target whose bell is to be rung `afterMs` from now. */
export interface Ring extends Target {
  readonly afterMs: number;
  /** Default: live. */
  readonly priority?: Priority;
}
