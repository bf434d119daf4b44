import { maskKey } from '../../masking.ts';
import { type MissingTexts, missingTexts } from '../../sync/evidence/missing.ts';
import { type Database, query } from '../../warehouse/database.ts';

/** One closed hour of call history, as compared with the service. */
export interface ComparedHour {
  readonly begin: Date;
  readonly state: 'waiting' | 'proven' | 'differs' | 'failed';
}

/** How much of what the service has is proven to be held. */
export interface Completeness {
  /** The last hours that are over, oldest first; none before the first comparison. */
  readonly hours: readonly ComparedHour[];
  /** Of the last days, those of which no hour was ever compared with the service; history that nobody filled in. */
  readonly uncompared: { readonly days: number; readonly of: number };
  /** Hours, however old, that were compared and are not proven. */
  readonly unprovenCount: number;
  /** The newest reason. */
  readonly difference: string | null;
  /** Of the calls of the last day that webhooks were to announce: how many the service lists, and how many it did not announce. */
  readonly lastDay: { readonly reported: number; readonly unannounced: number };
  readonly openGapCount: number;
  /** Their lines are masked. */
  readonly lines: readonly MissingTexts[];
  /** History that is being filled in, from 0 to 1; null when none is. */
  readonly backfillShare: number | null;
}

const shownHours = 48;
const judgedDays = 14;

export async function readCompleteness(db: Database): Promise<Completeness> {
  const hours = await query<ComparedHour>(
    db,
    `select from_at as begin, state from (
       select from_at, state from ops.coverage where stream = 'calls' and to_at <= now()
       order by from_at desc limit ${shownHours}) c order by 1`,
    [],
  );
  const [sums] = await query<{
    unproven: number;
    difference: string | null;
    reported: number;
    unannounced: number;
    gaps: number;
    share: number | null;
    uncompared: number;
  }>(
    db,
    `select count(*) filter (where state in ('differs', 'failed'))::int as unproven,
       (array_agg(last_error order by from_at desc) filter (where state in ('differs', 'failed')))[1] as difference,
       coalesce(sum(reported_count) filter (where is_watched and from_at > now() - interval '1 day'), 0)::int as reported,
       coalesce(sum(unannounced_count) filter (where is_watched and from_at > now() - interval '1 day'), 0)::int as unannounced,
       (select count(*) from ops.gaps where filled_at is null)::int as gaps,
       (select (extract(epoch from done_until - asked_from) / nullif(extract(epoch from asked_to - asked_from), 0))::float8
        from ops.backfills where finished_at is null order by backfill_id desc limit 1) as share,
       (select count(*)::int
        from generate_series(0, ${judgedDays - 1}) n, lateral (select date_trunc('day', now(), 'UTC') - n * interval '1 day' as day) d
        where day + interval '1 hour' <= now() and not exists (
          select from ops.coverage o
          where o.stream = 'calls' and o.from_at >= day and o.from_at < day + interval '1 day' and o.checked_at is not null)) as uncompared
     from ops.coverage where stream = 'calls'`,
    [],
  );
  const lines = await missingTexts(db);
  return {
    hours,
    uncompared: { days: sums?.uncompared ?? judgedDays, of: judgedDays },
    unprovenCount: sums?.unproven ?? 0,
    difference: sums?.difference ?? null,
    lastDay: { reported: sums?.reported ?? 0, unannounced: sums?.unannounced ?? 0 },
    openGapCount: sums?.gaps ?? 0,
    lines: lines.map((each) => ({ ...each, line: maskKey('line', each.line) })),
    backfillShare: sums?.share ?? null,
  };
}
