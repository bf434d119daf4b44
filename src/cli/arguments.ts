import { type Command, InvalidArgumentError, Option } from 'commander';
import { WrongUse } from '../shared/errors.ts';
import { dayMs, type TimeRange } from '../shared/time-range.ts';

/** Flags of irreversible commands: confirm in advance, or preview. */
export function addConsent(command: Command): Command {
  return command
    .addOption(new Option('--yes', 'do not ask for confirmation; needed where there is no terminal'))
    .addOption(new Option('--dry-run', 'only show what it would do').conflicts('yes'));
}

/** The accepted formats of a time on the command line. */
export const momentWords =
  'a day such as 2026-11-01 or 7d (seven days ago), from midnight UTC, an instant, or a span before now such as 12h';

/** A whole number within bounds. Throws commander's error for anything else. */
export function wholeNumber(from = 0, to = 999_999_999): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d{1,9}$/.test(text) || number < from || number > to) {
      throw new InvalidArgumentError(
        to === 999_999_999
          ? `It must be a whole number${from > 0 ? ` from ${from}` : ''}.`
          : `It must be a whole number from ${from} to ${to}.`,
      );
    }
    return number;
  };
}

const written = /^(\d{4})-(\d{2})-(\d{2})([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/i;

const unitMs: Readonly<Record<string, number>> = { min: 60_000, h: 3_600_000, d: dayMs, w: 7 * dayMs };

/**
 * Parses a time option: a day (which starts at midnight UTC), an RFC 3339 instant, or a span before now such as 12h. A
 * span in days or weeks means the start of that day: `coverage` could never call a partial day complete.
 */
export function momentArgument(text: string): Date {
  const [, count, unit = ''] = /^([1-9]\d{0,4})(min|h|d|w)$/.exec(text) ?? [];
  if (count !== undefined) {
    const began = Date.now() - Number(count) * (unitMs[unit] ?? 0);
    return new Date(unit === 'd' || unit === 'w' ? Math.floor(began / dayMs) * dayMs : began);
  }
  const [, year, month, day] = written.exec(text) ?? [];
  const moment = new Date(text.replace(' ', 'T'));
  if (year === undefined || Number.isNaN(moment.getTime())) {
    throw new InvalidArgumentError(
      'It must be a day such as 2026-11-01 (UTC), an instant such as 2026-11-01T08:00:00Z, or a span before now such as 30min, 12h, 7d or 2w.',
    );
  }
  // Date parses the 31st of November as the first of December.
  if (Number(day) > new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()) {
    throw new InvalidArgumentError(`There is no such day: ${text.slice(0, 10)}.`);
  }
  return moment;
}

export interface RangeFlags {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** The range of `--from` and `--to`, limited to the past. Throws `WrongUse` if it is empty. */
export function rangeOf(given: RangeFlags, usualMs: number, now = new Date()): TimeRange<Date> {
  if (given.from && given.from >= now) throw new WrongUse('--from lies in the future.');
  const to = given.to && given.to < now ? given.to : now;
  // Call search takes Unix seconds (section 4.6), so an earlier day means the whole history.
  const from = new Date(Math.max(0, given.from?.getTime() ?? to.getTime() - usualMs));
  if (to <= from) throw new WrongUse('--to must be after --from.');
  return { from, to };
}

/** Unix seconds. */
export function secondsOf(moment: Date): number {
  return Math.floor(moment.getTime() / 1_000);
}
