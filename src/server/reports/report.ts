import { type Database, query, sql } from '../../db/database.ts';
import { type ReportingStatus, readReporting } from '../../ops/snapshot/reporting.ts';
import { type Part, part, readWithTimeout } from '../../ops/snapshot.ts';
import { onConnection, type Parameters } from '../answering.ts';
import type { Day, Figures } from './charts.ts';
import { type Choice, choiceOf, finishedPart, periodBefore } from './choice.ts';
import { type Headline, headlinesOf, type Picture, type Rising, readFigures } from './figures.ts';
import { type Freshness, type Option, readFreshness, readOptions } from './freshness.ts';
import { pictures } from './pictures.ts';

/** A picture and its figures. */
export interface Drawn {
  readonly picture: Picture;
  readonly figures: Part<Figures>;
  /**
   * For the whole period, for its completed days, and for as many days before. The latter two are undefined if no day
   * is complete.
   */
  readonly headlines?: Readonly<Record<'now' | 'over' | 'before', readonly Headline[] | undefined>>;
}

/** What report pages are read with: one connection, and the choice in the address. */
export interface Reading {
  readonly db: Database;
  readonly choice: Choice;
  /** By the database's clock. */
  readonly takenAt: Date;
  /** The time zone of local days. */
  readonly timeZone: string;
  /** The current local day. */
  readonly today: string;
}

export interface Report extends Omit<Reading, 'db'> {
  readonly freshness: Part<Freshness>;
  readonly options: Part<readonly Option[]>;
  /** How late the figures are, and what is missing. */
  readonly lateness: Part<ReportingStatus>;
  readonly drawn: readonly Drawn[];
}

/** Reads the choice in an address with one connection. Only rejects with `DatabaseUnavailable` or `BadAddress`. */
export function reading<T>(db: Database, parameters: Parameters, read: (reading: Reading) => Promise<T>): Promise<T> {
  return onConnection(db, async (connection) => {
    const [now] = await query<Pick<Reading, 'takenAt' | 'timeZone' | 'today'>>(
      connection,
      sql`select clock_timestamp() as "takenAt", time_zone as "timeZone", reporting.local_day(now())::text as today from reporting.params`,
    );
    if (!now) throw new Error('reporting.params has no row');
    return await read({ db: connection, choice: choiceOf(parameters, now.today), ...now });
  });
}

/** Reads pictures one after the other, each statement for a few seconds at most. `isCompared`: with their headlines. */
export async function readReport(
  { db, ...of }: Reading,
  which: readonly Picture[] = pictures,
  isCompared = true,
): Promise<Report> {
  const { choice, today } = of;
  const ask = <T>(read: (db: Database) => Promise<T>) => part(() => readWithTimeout(db, read));
  const freshness = await ask((tx) => readFreshness(tx, choice));
  const options = await ask(readOptions);
  const lateness = await ask(readReporting);
  const over = finishedPart(choice, today);
  const drawn: Drawn[] = [];
  for (const picture of which) {
    const read = await ask(async (tx) => {
      const { measures } = picture;
      const all = typeof measures === 'function' ? await measures(tx, choice) : measures;
      return { all, figures: withStates(await readFigures(tx, choice, all), picture.rising, freshness, today) };
    });
    if (read.state !== 'known') {
      drawn.push({ picture, figures: read });
      continue;
    }
    const { all, figures } = read.value;
    const compared = all.filter(({ headline }) => headline);
    const headlines = async (tx: Database, of: Choice) => headlinesOf(compared, await readFigures(tx, of, all));
    const others = await ask(async (tx) =>
      !isCompared || over === undefined || compared.length === 0
        ? {}
        : {
            over: over === choice ? headlinesOf(compared, figures) : await headlines(tx, over),
            before: await headlines(tx, periodBefore(over)),
          },
    );
    const values = { over: undefined, before: undefined, ...(others.state === 'known' && others.value) };
    drawn.push({
      ...{ picture, figures: { state: 'known', value: figures } },
      headlines: { now: headlinesOf(compared, figures), ...values },
    });
  }
  return { ...of, freshness, options, lateness, drawn };
}

/** Marks each day that isn't over, or whose figures can still rise. */
function withStates(figures: Figures, rising: Rising, freshness: Part<Freshness>, today: string): Figures {
  const known = freshness.state === 'known' ? freshness.value : undefined;
  const incomplete = new Set(rising === 'nothing' ? [] : known?.incompleteDays);
  const days = figures.days.map((day): Day => {
    if (day.date === today) return { ...day, state: 'open' };
    const isRising = incomplete.has(day.date) || (rising === 'returns' && known && day.date >= known.returnsFrom);
    return isRising ? { ...day, state: 'rising' } : day;
  });
  return { ...figures, days };
}
