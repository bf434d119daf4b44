/** The kinds of sync target. The targets of a kind are a stream, which is parked and resumed as a whole. */
export const targetKinds = ['thread', 'call', 'recordings', 'transcripts', 'users', 'lines'] as const;
export type TargetKind = (typeof targetKinds)[number];
