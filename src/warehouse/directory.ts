import type { DirectoryList } from './directory-list.ts';
import { lines } from './lines.ts';
import { users } from './users.ts';

const lists = { users, lines };

/** A kind of sync target that is a list of the account. Its only key is {@link wholeList}. */
export type DirectoryKind = keyof typeof lists;

/** The lists of the account that are always read and mirrored completely. */
export const directory: Readonly<Record<DirectoryKind, DirectoryList>> = lists;
export const directoryKinds = Object.keys(lists) as DirectoryKind[];
export const wholeList = 'all';

export function isDirectory(kind: string): kind is DirectoryKind {
  return kind in lists;
}

/** One value for each list. */
export function ofEachList<T>(of: (list: DirectoryList, kind: DirectoryKind) => T): Record<DirectoryKind, T> {
  return Object.fromEntries(directoryKinds.map((kind) => [kind, of(directory[kind], kind)])) as Record<
    DirectoryKind,
    T
  >;
}
