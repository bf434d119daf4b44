/** The middle of some measurements, and how far they lie apart. */
export interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/** The value below which the share `q` of the values lies (nearest rank). Throws without values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))];
  if (value === undefined) throw new Error('Nothing was measured.');
  return value;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), lowest: Math.min(...values), highest: Math.max(...values) };
}

export function median(values: readonly number[]): number {
  return (quantile(values, 0.5) + quantile(values, 0.5 + 1 / (2 * values.length))) / 2;
}

/** The ratio of each round: subject and baseline of one round ran next to each other, on the same mood of the machine. */
export function ratiosOf(subject: readonly number[], baseline: readonly number[]): Spread {
  return spreadOf(subject.map((value, round) => value / (baseline[round] ?? Number.NaN)));
}
