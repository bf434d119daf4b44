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

/** A target whose bell is to be rung `afterMs` from now. */
export interface Ring extends Target {
  readonly afterMs: number;
  /** Default: live. */
  readonly priority?: Priority;
}
