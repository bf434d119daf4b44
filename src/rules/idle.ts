import type { BusinessHours } from './business-hours.ts';
import { afterOpenSeconds, beforeOpenSeconds } from './facts/hours.ts';
import type { Idle } from './triggers.ts';

/** When a thread whose last text was sent at a moment has been idle for so long. Undefined: not within a year. */
export function idleAt({ seconds, isBusiness }: Idle, hours: BusinessHours, last: Date): Date | undefined {
  return isBusiness ? afterOpenSeconds(hours, last, seconds) : new Date(last.getTime() + seconds * 1_000);
}

/** The latest last text whose thread has been idle for so long at a moment. Undefined: none of the last year. */
export function idleSince({ seconds, isBusiness }: Idle, hours: BusinessHours, at: Date): Date | undefined {
  return isBusiness ? beforeOpenSeconds(hours, at, seconds) : new Date(at.getTime() - seconds * 1_000);
}
