/** Forgets the entries of a map that were set first, beyond so many. */
export function forgetOldest(entries: Map<unknown, unknown>, most: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(oldest);
  }
}
