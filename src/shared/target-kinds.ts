/** The kinds of sync target. The targets of a kind are a stream, which is parked and resumed as a whole. */

/** Lists of the account that are read as a whole (`src/warehouse/directory.ts`). */
export const directoryKinds = ['users', 'lines'] as const;
export type DirectoryKind = (typeof directoryKinds)[number];

export const targetKinds = ['thread', 'call', 'recordings', 'transcripts', ...directoryKinds] as const;
export type TargetKind = (typeof targetKinds)[number];

export function isDirectory(kind: TargetKind): kind is DirectoryKind {
  return directoryKinds.some((each) => each === kind);
}

/** The key of the one target of a list. */
export const wholeList = 'all';
