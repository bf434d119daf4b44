import { type Database, query } from '../../db/database.ts';
import { maskNumbers } from '../../shared/masking.ts';

/** Whether the reports use the current settings, and how late they are. */
export interface ReportingStatus {
  /** The time zone of their days and hours. */
  readonly timeZone: string;
  /** The TIME_ZONE of the worker started last. Null if it wasn't set. */
  readonly chosenTimeZone: string | null;
  /** Whether all rollups were made with the current definitions. */
  readonly isCurrent: boolean;
  /** The oldest change that the next drain will process. Null if there is none. */
  readonly waitingSince: Date | null;
  /** The drains that are failing, so their rollups aren't updated. */
  readonly failures: readonly DrainFailure[];
  /** Mirrored calls whose start couldn't be parsed, so no day includes them. */
  readonly undatedCalls: number;
  /** Changes that couldn't be rolled up and are retried, while all others are up to date. */
  readonly setAside: {
    readonly count: number;
    readonly since: Date | null;
    readonly samples: readonly SetAsideChange[];
  };
  /** Figures of the last seven days that differ from the service's own, although their calls were read again. */
  readonly untied: readonly UntiedFigures[];
}

type NewestUntied = Omit<UntiedFigures, 'isOfStatus' | 'count' | 'days'>;

export interface UntiedFigures {
  /** By direction and status: what the specification defines. Otherwise by queue, huntgroup or user. */
  readonly isOfStatus: boolean;
  readonly count: number;
  readonly days: number;
  /** The newest one. */
  readonly date: string;
  readonly figure: string;
  readonly theirs: number;
  readonly ours: number;
  readonly callIds: readonly string[];
}

export interface DrainFailure {
  readonly what: 'rollups' | 'outcomes';
  /** With masked numbers. */
  readonly error: string;
  readonly since: Date;
}

export interface SetAsideChange {
  readonly kind: 'calls' | 'texts' | 'thread';
  /** Start of the day; null for a thread. */
  readonly bucketAt: Date | null;
  readonly conversationId: string | null;
  /** With masked numbers. */
  readonly error: string;
}

const maxSamples = 3;

export async function readReporting(db: Database): Promise<ReportingStatus> {
  const [facts] = await query<
    Pick<ReportingStatus, 'timeZone' | 'chosenTimeZone' | 'isCurrent' | 'waitingSince' | 'undatedCalls'> & {
      readonly setAsideCount: number;
      readonly setAsideSince: Date | null;
    }
  >(
    db,
    // Ids follow the order of marking, so the primary keys find the oldest.
    `select p.time_zone as "timeZone", s.time_zone as "chosenTimeZone",
       s.meaning is not distinct from ops.rollup_meaning() as "isCurrent",
       least(
         (select marked_at from ops.rollup_markers order by marker_id limit 1),
         (select marked_at from ops.rule_tallies order by tally_id limit 1),
         (select marked_at from ops.send_markers order by marker_id limit 1)
       ) as "waitingSince",
       (select count(*)::integer from warehouse.calls where started_at is null and deleted_at is null) as "undatedCalls",
       (select count(*)::integer from ops.rollup_troubles) as "setAsideCount",
       (select min(first_failed_at) from ops.rollup_troubles) as "setAsideSince"
     from reporting.params p cross join ops.rollup_state s`,
    [],
  );
  if (!facts) throw new Error('reporting.params has no row');
  const failures = await query<DrainFailure>(
    db,
    `select 'rollups' as what, last_error as error, failing_since_at as since
     from ops.rollup_state where failing_since_at is not null
     union all
     select 'outcomes', last_error, failing_since_at from ops.outcome_state where failing_since_at is not null`,
    [],
  );
  const samples = await query<SetAsideChange>(
    db,
    `select kind, bucket_at as "bucketAt", conversation_id as "conversationId", error
     from ops.rollup_troubles order by first_failed_at, trouble_id limit $1`,
    [maxSamples],
  );
  const untied = await query<Pick<UntiedFigures, 'isOfStatus' | 'count' | 'days'> & { newest: NewestUntied }>(
    db,
    `select "isOfStatus", count(*)::integer as count, count(distinct local_date)::integer as days,
       (array_agg(newest order by local_date desc, figure))[1] as newest
     from (
       select d ->> 'kind' = 'status' as "isOfStatus", local_date, figure,
         d || jsonb_build_object('date', local_date, 'figure', figure, 'callIds', jsonb_path_query_array(d, '$.callIds[0 to 2]')) as newest
       from ops.attribution_days cross join jsonb_array_elements(differences) d
         cross join lateral (select case d ->> 'kind' when 'status' then '' else d ->> 'kind' || ' ' end || (d ->> 'name') as figure) f
       where finished_at is not null and local_date > reporting.local_day(now()) - 8
     ) t group by 1 order by 1 desc`,
    [],
  );
  const { setAsideCount, setAsideSince, ...status } = facts;
  const masked = <T extends { readonly error: string }>(rows: readonly T[]) =>
    rows.map((row) => ({ ...row, error: maskNumbers(row.error) }));
  return {
    ...status,
    untied: untied.map(({ newest, ...counts }) => ({ ...counts, ...newest })),
    failures: masked(failures),
    setAside: { count: setAsideCount, since: setAsideSince, samples: masked(samples) },
  };
}
