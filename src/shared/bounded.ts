/** Removes the oldest entries of a map until `max` are left. */
export function forgetOldest(entries: Map<unknown, unknown>, max: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= max) return;
    entries.delete(oldest);
  }
}
