import { quantity } from '../words.ts';
import type { Unit } from './picture.ts';

/** A value as people read it; a dash where there is nothing to tell. */
export function told(value: number | null, unit: Unit): string {
  if (value === null) return '–';
  if (unit === 'percent') return `${round(value, 1)} %`;
  if (unit === 'dollars')
    return `$${value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  return unit === 'seconds' ? length(value) : quantity(round(value, 1));
}

/** A length of time in the unit that tells it best: `40 s`, `3.5 min`, `2 h`, `4 d`. */
function length(seconds: number): string {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 100 * 60) return `${fine(seconds / 60)} min`;
  if (seconds < 48 * 3_600) return `${fine(seconds / 3_600)} h`;
  return `${fine(seconds / 86_400)} d`;
}

function fine(value: number): number {
  return round(value, value < 10 ? 1 : 0);
}

function round(value: number, digits: number): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}

/** A local day: `Sat 21 Nov`. */
export function dayName(date: string): string {
  return new Date(`${date}T00:00:00Z`).toLocaleDateString('en-GB', {
    timeZone: 'UTC',
    weekday: 'short',
    day: 'numeric',
    month: 'short',
  });
}

/** The same where room is scarce: `21 Nov`. */
export function shortDay(date: string): string {
  return new Date(`${date}T00:00:00Z`).toLocaleDateString('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });
}
