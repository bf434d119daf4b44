import { InvalidArgumentError } from 'commander';

/** Reads `--from` and `--to`: a day, which begins at midnight UTC, or an instant of RFC 3339. */
export function momentArgument(text: string): Date {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isInstant = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/i.test(text);
  const moment = new Date(text);
  if ((!isDay && !isInstant) || Number.isNaN(moment.getTime())) {
    throw new InvalidArgumentError(
      'It must be a day such as 2026-11-01 (UTC), or an instant such as 2026-11-01T08:00:00Z.',
    );
  }
  return moment;
}

/** Unix seconds. */
export function secondsOf(moment: Date): number {
  return Math.floor(moment.getTime() / 1_000);
}
