import { type Database, query } from '../../warehouse/database.ts';
import { DatabaseUnavailable, type Part, part, patiently } from '../snapshot.ts';
import type { Figures, Period, Picture } from './picture.ts';
import { cost } from './pictures/cost.ts';
import { missed } from './pictures/missed.ts';
import { response } from './pictures/response.ts';
import { sentiment } from './pictures/sentiment.ts';
import { serviceLevel } from './pictures/service-level.ts';
import { volume } from './pictures/volume.ts';

/** Every picture, in the order of the page. */
export const pictures: readonly Picture[] = [volume, serviceLevel, missed, response, sentiment, cost];

/** One picture with what it is drawn from. */
export interface Drawn {
  readonly picture: Picture;
  readonly figures: Part<Figures>;
}

export interface Report {
  readonly period: Period;
  /** By the clock of the database. */
  readonly takenAt: Date;
  /** Of the local days. */
  readonly timeZone: string;
  readonly drawn: readonly Drawn[];
}

/** Reads pictures one after the other on one connection. Rejects with `DatabaseUnavailable` and nothing else. */
export async function readReport(db: Database, period: Period, which: readonly Picture[] = pictures): Promise<Report> {
  try {
    return await db.connection().execute(async (connection) => {
      const [frame] = await query<{ now: Date; zone: string }>(
        connection,
        'select clock_timestamp() as now, time_zone as zone from reporting.params',
        [],
      );
      const drawn: Drawn[] = [];
      for (const picture of which) {
        drawn.push({ picture, figures: await part(() => patiently(connection, (tx) => picture.read(tx, period))) });
      }
      return { period, takenAt: frame?.now ?? new Date(), timeZone: frame?.zone ?? 'UTC', drawn };
    });
  } catch (cause) {
    throw new DatabaseUnavailable('Postgres does not answer: see that it runs and that DATABASE_URL is right.', {
      cause,
    });
  }
}
