/** An axis from the bottom to the top of a chart, in four equal steps. */
export interface Scale {
  /** From the top to the bottom: five values. */
  readonly ticks: readonly number[];
  /** Where a value stands: 0 at the bottom, 1 at the top. */
  place(value: number): number;
}

const steps = 4;

/** From 0 to a round number that holds `largest`, so that a quarter of it is round as well. */
export function evenScale(largest: number): Scale {
  return scaleOfStep(roundStep(largest));
}

/** For counts: no step is a part of one. */
export function countScale(largest: number): Scale {
  return scaleOfStep(Math.max(1, roundStep(largest, Number.isInteger)));
}

/** For dollars: no step is a part of a cent. */
export function moneyScale(largest: number): Scale {
  return scaleOfStep(Math.max(1, roundStep(largest * 100, Number.isInteger)) / 100);
}

function roundStep(largest: number, fits: (step: number) => boolean = () => true): number {
  const least = Math.max(largest, Number.MIN_VALUE) / steps;
  const magnitude = 10 ** Math.floor(Math.log10(least));
  const rounds = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((each) => each * magnitude);
  return rounds.find((each) => each >= least * 0.999 && fits(each)) ?? least;
}

function scaleOfStep(step: number): Scale {
  return { ticks: fromTop((at) => at * step), place: (value) => clamped(value / (step * steps)) };
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const lengths = [
  ...[1, 5, 15, minute, 5 * minute, 15 * minute],
  ...[hour, 4 * hour, 12 * hour, 2 * day, 7 * day, 30 * day, 90 * day],
];

/** For lengths of time in seconds, which differ by powers: five lengths that people know, evenly apart on the axis. */
export function lengthScale(values: readonly number[]): Scale {
  const above = lengths.findIndex((length) => length >= Math.max(...values));
  const top = Math.max(steps, above < 0 ? lengths.length - 1 : above);
  const bottom = Math.max(
    0,
    lengths.findLastIndex((length) => length <= Math.min(...values)),
  );
  const stride = Math.min(Math.max(1, Math.ceil((top - bottom) / steps)), Math.floor(top / steps));
  const ticks = fromTop((at) => lengths[top - (steps - at) * stride] ?? 1);
  const rising = ticks.toReversed();
  return {
    ticks,
    place(value) {
      const at = rising.findIndex((tick) => tick >= value);
      if (at <= 0) return at < 0 ? 1 : 0;
      const [lower = 1, upper = 1] = [rising[at - 1], rising[at]];
      return (at - 1 + Math.log(value / lower) / Math.log(upper / lower)) / steps;
    },
  };
}

/** The name of a tick of {@link lengthScale}, in whole units. */
export function lengthName(seconds: number): string {
  if (seconds >= 2 * day) return `${seconds / day} d`;
  if (seconds >= hour) return `${seconds / hour} h`;
  return seconds >= minute ? `${seconds / minute} min` : `${seconds} s`;
}

function fromTop(value: (at: number) => number): number[] {
  return Array.from({ length: steps + 1 }, (_, at) => value(steps - at));
}

function clamped(share: number): number {
  return Math.min(1, Math.max(0, share));
}
