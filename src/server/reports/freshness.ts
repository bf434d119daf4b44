import { type Database, query, sql } from '../../db/database.ts';
import type { Choice, Filter } from './choice.ts';

/** How complete the figures of a choice are. */
export interface Freshness {
  /** The first instant of the choice that isn't proven complete. Null if none of it is. */
  readonly completeUntil: Date | null;
  /** Whether every hour of the choice is over and proven. */
  readonly isComplete: boolean;
  /** The number of proven hours in the choice. */
  readonly provenHours: number;
  /** Local days of the choice with an unproven hour, including today. */
  readonly incompleteDays: readonly string[];
  /** Missed calls of this local day and later may still be returned. */
  readonly returnsFrom: string;
  /** The oldest change missing in the rollups. Null if there is none. */
  readonly rollupsWaitSince: Date | null;
}

/**
 * Based on the hours of call history compared with the service, like `reporting.completeness`, which counts them by
 * day.
 */
export async function readFreshness(db: Database, { from, to }: Choice): Promise<Freshness> {
  const [row] = await query<Freshness>(
    db,
    sql`with span as (
        select reporting.day_start(${from}::date) as starts_at, least(reporting.day_start(${to}::date + 1), now()) as ends_at
      ), hours as (
        select greatest(hour_at, starts_at) as from_at, least(hour_at + interval '1 hour', ends_at) as to_at,
          exists (
            select from ops.coverage c where c.stream = 'calls' and c.from_at = hour_at and c.to_at <= now() and c.state = 'proven'
          ) as is_proven
        from span cross join generate_series(date_trunc('hour', starts_at, 'UTC'), ends_at - interval '1 microsecond', interval '1 hour') hour_at
      ), unproven as (
        select * from hours where not is_proven
      )
      select nullif(coalesce((select min(from_at) from unproven), s.ends_at), s.starts_at) as "completeUntil",
        not exists (select from unproven) as "isComplete",
        (select count(*) from hours where is_proven)::integer as "provenHours",
        array(
          select distinct day::text from unproven
            cross join lateral (values (reporting.local_day(from_at)), (reporting.local_day(to_at - interval '1 microsecond'))) days (day)
          order by 1
        ) as "incompleteDays",
        reporting.local_day(now() - p.callback_window)::text as "returnsFrom",
        (select counted_at from reporting.data_quality where check_name = 'changes waiting') as "rollupsWaitSince"
      from span s cross join reporting.params p`,
  );
  if (!row) throw new Error('reporting.params is empty');
  return row;
}

/** Numbers, queues, agents and callers to choose from. */
export interface Option {
  readonly filter: Filter;
  readonly value: string;
  readonly name: string;
}

const maxOptions = 2_000;

const ofCallers: readonly Option[] = [
  ['needs_call_back', 'need a call-back'],
  ['is_waiting', 'wait for a call, one row each'],
  ['menu', 'came into a menu'],
  ['queue', 'came into a queue'],
  ['rang', 'rang at a telephone'],
  ['mailbox', 'came to a mailbox'],
  ['person', 'talked with a person'],
  ['unknown', 'it is not known'],
].map(([value = '', name = '']) => ({ filter: 'reached', value, name }));

export async function readOptions(db: Database): Promise<Option[]> {
  const named = await query<Option>(
    db,
    sql`select filter, value, name from (
        (select 'number' as filter, number as value,
           case when reporting.number_name(number) = number then number else reporting.number_name(number) || ' (' || number || ')' end as name
         from (
           select endpoint as number from rollups.endpoints where kind = 'number'
           union select line from warehouse.sms_lines where deleted_at is null
         ) numbers order by 3, 2 limit ${maxOptions})
        union all
        (select 'queue', queue_key, queue_name || case kind when 'huntgroup' then ' (huntgroup)' else '' end from reporting.dim_queue order by 3, 2 limit ${maxOptions})
        union all
        (select 'agent', user_key::text, user_name || case when count(*) over (partition by user_name) > 1 then ' (' || user_key || ')' else '' end
         from reporting.dim_user order by is_active desc, 3, 2 limit ${maxOptions})
      ) options`,
  );
  return [...named, ...ofCallers];
}
