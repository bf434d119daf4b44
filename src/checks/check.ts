import type { RawBuilder } from 'kysely';
import type { ReadySettings } from '../context.ts';
import { type Database, query, sql } from '../db/database.ts';
import type { QueuesHealth } from '../queues/queues.ts';

/**
 * problem: data is missing or at risk, or sends don't leave. warning: needs attention. notice: for information; it
 * affects neither the verdict nor an exit code.
 */
export const levels = ['problem', 'warning', 'notice'] as const;
export type Level = (typeof levels)[number];

/** What a check found, for the operator. Sentence and remedy are ours alone, since alerts send them to third parties. */
export interface Finding {
  /** The id of the check. */
  readonly check: string;
  readonly level: Level;
  readonly sentence: string;
  readonly remedy: string;
  /** Since when this is known. */
  readonly since: Date | undefined;
  /** Sentences that quote strangers or name their things: only for pages and terminals. */
  readonly detail?: string | undefined;
}

/** What to read after the sentence, where the reader may see all. */
export const adviceOf = ({ detail, remedy }: Pick<Finding, 'detail' | 'remedy'>): string =>
  detail === undefined ? remedy : `${detail} ${remedy}`;

/** The words of a finding. */
export type Told = Pick<Finding, 'level' | 'sentence' | 'remedy' | 'detail'> & {
  readonly since?: Date | null | undefined;
};

/** What a check may ask. */
export interface Seen {
  /** In a transaction that only reads. */
  readonly db: Database;
  /** By the clock of Postgres. */
  readonly now: Date;
  /** Never rejects. */
  readonly queues: Promise<QueuesHealth>;
  /** This process couldn't store the last delivery. */
  readonly isRefusing: boolean;
  readonly settings: Pick<ReadySettings, 'databaseUrl' | 'poolSize' | 'backfillDays'>;
  /** What couldn't be asked earlier in this round, by name, and why. */
  readonly unknown: ReadonlyMap<string, Error>;
}

/** Finds what is wrong; nothing if all is well. */
export type Find = (seen: Seen) => Promise<readonly Told[]>;

/**
 * Checks by id, each with what it looks for. Pages, commands, JSON, alerts and metrics are derived from it. The id names
 * the check in alerts and metrics, so it must stay the same across releases.
 */
export type Checks = Readonly<Record<string, Find | readonly Find[]>>;

type Asking<Row> = RawBuilder<Row> | ((seen: Seen) => RawBuilder<Row> | Promise<RawBuilder<Row>>);

/** A query with words: each row is a finding. */
export const rows =
  <Row>(asking: Asking<Row>, tell: (row: Row, now: Date) => Told): Find =>
  async (seen) => {
    const statement = typeof asking === 'function' ? await asking(seen) : asking;
    return (await query(seen.db, statement)).map((row) => tell(row, seen.now));
  };

/** As `rows`, of how many rows `from` selects; nothing of none. */
export const counted = (from: RawBuilder<unknown>, tell: (count: number, now: Date) => Told): Find =>
  rows(sql<{ count: number }>`select count(*)::int as count ${from} having count(*) > 0`, ({ count }, now) =>
    tell(count, now),
  );
