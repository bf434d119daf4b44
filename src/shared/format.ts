const units = [
  { seconds: 86_400, unit: 'd' },
  { seconds: 3_600, unit: 'h' },
  { seconds: 60, unit: 'min' },
] as const;

/** A duration in its largest unit, rounded down: `4 s`, `12 min`, `3 h`, `2 d`. */
export function duration(seconds: number): string {
  const step = units.find((each) => seconds >= each.seconds);
  return step ? `${Math.floor(seconds / step.seconds)} ${step.unit}` : `${Math.max(0, Math.floor(seconds))} s`;
}

/** A time relative to another: `just now`, `4 s ago`, `in 3 min`. */
export function ago(moment: Date, from: Date): string {
  const seconds = (from.getTime() - moment.getTime()) / 1_000;
  if (Math.abs(seconds) < 1) return 'just now';
  return seconds > 0 ? `${duration(seconds)} ago` : `in ${duration(-seconds)}`;
}

/** A count with thousands separators. */
export function quantity(count: number): string {
  return count.toLocaleString('en');
}

/** A count and its noun: `1 read`, `2,000 reads`, `2 deliveries`. */
export function countOf(count: number, noun: string): string {
  const many = noun.replace(/ch$/, 'che').replace(/(?<![aeiou])y$/, 'ie');
  return `${quantity(count)} ${count === 1 ? noun : `${many}s`}`;
}

/** Date and time in full, in the operator's zone. */
export function exactly(moment: Date, timeZone: string): string {
  return moment.toLocaleString('en-GB', { timeZone, dateStyle: 'medium', timeStyle: 'long' });
}

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * A time to the second in a zone, with its offset from UTC, in a format that commands accept: `2026-11-21
 * 14:03:22-05:00`. UTC times end with Z.
 */
export function toTheSecond(moment: Date, timeZone: string): string {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-CA', {
      ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' },
      ...{ hourCycle: 'h23', timeZone, timeZoneName: 'longOffset' },
    });
  formats.set(timeZone, format);
  const [date, time, offset = ''] = format.format(moment).split(/,? /);
  // Versions of ICU call UTC itself GMT or GMT+00:00.
  return `${date} ${time}${offset.replace(/^GMT(\+00:00$)?/, '') || 'Z'}`;
}

/** Formats micro-dollars: `$1.23`. */
export function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(2)}`;
}

/** The price of a few texts, with fractions of a cent: `$0.05`, `$0.007900`. */
export function price(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(micros % 10_000 === 0 ? 2 : 6)}`;
}
