/**
 * The known word that a misspelt one was most likely to be: one that begins with it, else the one that takes the fewest
 * changes; undefined when none is near.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const wanted = word.toLowerCase();
  const begun = known.filter((each) => wanted.length > 1 && each.toLowerCase().startsWith(wanted));
  if (begun.length > 0) return begun.sort((a, b) => a.length - b.length)[0];
  const ranked = known
    .map((each) => ({ each, distance: distance(wanted, each.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best && best.distance <= Math.max(1, Math.floor(best.each.length / 3)) ? best.each : undefined;
}

/** `Did you mean "…"?` where a word is near, else the words there are. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  return near === undefined ? `There is: ${known.join(', ')}.` : `Did you mean "${near}"?`;
}

/** Letters to insert, remove, replace or swap with their neighbour. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
