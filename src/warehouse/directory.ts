import type { DirectoryKind } from '../shared/target-kinds.ts';
import type { DirectoryList } from './directory-list.ts';
import { lines } from './lines.ts';
import { users } from './users.ts';

/** What is declared of each list of the account. */
export const directory: Readonly<Record<DirectoryKind, DirectoryList>> = { users, lines };

/** One value for each list. */
export function ofEachList<T>(of: (list: DirectoryList, kind: DirectoryKind) => T): Record<DirectoryKind, T> {
  const entries = Object.entries(directory).map(([kind, list]) => [kind, of(list, kind as DirectoryKind)]);
  return Object.fromEntries(entries) as Record<DirectoryKind, T>;
}
