const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

export const durationPattern = /^[1-9]\d{0,4}[smhd]$/;

/** Seconds of a duration such as `90s`, `10m`, `48h` or `7d`. */
export function durationSeconds(text: string): number {
  return Number(text.slice(0, -1)) * (unitSeconds[text.slice(-1)] ?? Number.NaN);
}

export const allowancePattern = /^([1-9]\d{0,5}) per ([1-9]\d{0,4}[smhd])$/;

/** So many times within so many seconds. */
export interface Allowance {
  readonly count: number;
  readonly seconds: number;
}

/** Reads an allowance such as `1 per 12h`. */
export function allowanceOf(text: string): Allowance {
  const [, count = '', duration = ''] = allowancePattern.exec(text) ?? [];
  return { count: Number(count), seconds: durationSeconds(duration) };
}

export const clockSpanPattern = /^([01]\d|2[0-3]):([0-5]\d)-(([01]\d|2[0-3]):([0-5]\d)|24:00)$/;

/** Reads a span of the local clock such as `09:00-17:30`, in minutes since midnight. */
export function clockSpan(text: string): { readonly from: number; readonly to: number } {
  const [from = 0, to = 0] = text.split('-').map((time) => {
    const [hours = 0, minutes = 0] = time.split(':').map(Number);
    return hours * 60 + minutes;
  });
  return { from, to };
}
