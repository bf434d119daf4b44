import { dayMs } from '../shared/time-range.ts';

/**
 * Whether content from this time is older than its days in RETENTION_DAYS, so no read may store it. A day has 24 hours.
 * False without a number of days, or without a time.
 */
export function isExpired(days: number | undefined, at: string | Date | null | undefined): boolean {
  if (days === undefined || at == null) return false;
  return new Date(at).getTime() < Date.now() - days * dayMs;
}
