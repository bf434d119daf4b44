/**
 * The known word that was probably meant: the shortest that starts with `word`, else the most similar. Undefined if
 * there is none.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const wanted = word.toLowerCase();
  const starting = known.filter((each) => wanted.length > 1 && each.toLowerCase().startsWith(wanted));
  if (starting.length > 0) return starting.sort((a, b) => a.length - b.length)[0];
  const ranked = known
    .map((each) => ({ each, distance: distance(wanted, each.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best && best.distance <= Math.max(1, Math.floor(best.each.length / 3)) ? best.each : undefined;
}

/** `Did you mean "…"?` if a known word is similar, else all known words. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  return near === undefined ? `There is: ${known.join(', ')}.` : `Did you mean "${near}"?`;
}

/** The edit distance: letters to insert, remove, replace or swap. Unlike in libraries, a swap counts as one. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i += 1) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : replaced;
      rows[i]?.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, swapped));
    }
  }
  return at(a.length, b.length);
}
