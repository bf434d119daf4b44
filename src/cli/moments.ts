import { InvalidArgumentError } from 'commander';
import { toTheSecond } from '../status/words.ts';
import { WrongUse } from './exit.ts';

const written = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/i;

/** Reads `--from` and `--to`: a day, which begins at midnight UTC, or an instant of RFC 3339. */
export function momentArgument(text: string): Date {
  const [, year, month, day] = written.exec(text) ?? [];
  const moment = new Date(text);
  if (year === undefined || Number.isNaN(moment.getTime())) {
    throw new InvalidArgumentError(
      'It must be a day such as 2026-11-01 (UTC), or an instant such as 2026-11-01T08:00:00Z.',
    );
  }
  // The 31st of November would be read as the first of December.
  if (Number(day) > new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()) {
    throw new InvalidArgumentError(`There is no such day: ${text.slice(0, 10)}.`);
  }
  return moment;
}

/** A range of time that a command works on. */
export interface Range {
  readonly from: Date;
  readonly to: Date;
}

/** Calls are asked for by Unix seconds (section 4.6): whoever names an earlier day means all that there is. */
const earliest = 0;

/**
 * The range that `--from` and `--to` name. What is to come has not happened, so it ends now at the latest. Throws
 * `WrongUse` when it is empty.
 */
export function rangeOf(
  given: { readonly from?: Date | undefined; readonly to?: Date | undefined },
  usualMs: number,
  now = new Date(),
): Range {
  if (given.from && given.from >= now) {
    throw new WrongUse(`--from lies in the future (${toTheSecond(given.from)}): nothing has happened since then.`);
  }
  const to = given.to && given.to < now ? given.to : now;
  const from = new Date(Math.max(earliest, given.from?.getTime() ?? to.getTime() - usualMs));
  if (to <= from) {
    throw new WrongUse(`--to (${toTheSecond(to)}) must be after --from (${toTheSecond(from)}).`);
  }
  return { from, to };
}

/** Unix seconds. */
export function secondsOf(moment: Date): number {
  return Math.floor(moment.getTime() / 1_000);
}
