import type { RawBuilder } from 'kysely';
import { type Service, ServiceError } from '../api-client/client.ts';
import { type Database, inTransaction, query, sql } from '../db/database.ts';
import { type DueTarget, markDirty, type ReadPauses } from '../inbox/targets.ts';
import type { Log } from '../shared/log.ts';
import type { OnAnswer } from '../warehouse/drift.ts';
import { recordFollowing } from '../warehouse/what-follows.ts';
import { type CallFilter, type ClosedDay, type FilteredCalls, listByFilter } from './filtered-search.ts';
import { differingFigures, isEndOf, nextComparison, tieOut, tieOutTotals } from './tie-out.ts';

/*
 * Calls are attributed to queues, huntgroups and users by their legs, whose fields are not specified. So once a night the service is
 * asked which calls of a closed local day passed each of them: a filtered search lists exactly those (section 4.6). What it lists by
 * them, and by direction and status, is compared with what is held (tie-out.ts). The life of a day in ops.attribution_days:
 *
 *   its hours are proven complete ──▶ claimed, asked by one filter after another ──▶ finished ──▶ claimed again the next night,
 *                                        ▲                   │                                     for the figures that differ
 *                                        └── continues later ┘ the service does not answer, or the process stops
 */

/** Requests for one day, about. */
const maxRequests = 200;
/** How many days back a day is asked for, if no night before could do it, and compared again. */
const maxDays = 7;
/** A name that does not exist: a service that lists calls for it ignores the filter. */
const unusedName = 'trunkline-nobody';

export interface AttributionDeps {
  readonly db: Database;
  readonly service: Service;
  readonly log: Log;
  readonly onAnswer: OnAnswer;
  readonly pauses: ReadPauses;
  readonly notify: (due: readonly DueTarget[]) => void;
}

interface Day extends ClosedDay {
  /** Only the figures that differ are compared again. */
  readonly isAgain: boolean;
  /** Filters asked so far, and the requests made. */
  readonly reached: number;
  readonly requests: number;
}

const claimEnd = sql`now() + interval '10 minutes'`;

/**
 * Claims the newest local day that is due: one that is not finished, has calls, and of which all hours are proven complete; or one
 * whose figures are to be compared again.
 */
async function claimDay(db: Database, days: number): Promise<Day | undefined> {
  const [day] = await query(
    db,
    sql<Day>`with closed as (
       select n, date, reporting.day_start(date) as from_at, reporting.day_start(date + 1) as to_at
       from generate_series(1, ${days}::integer + 2) n cross join lateral (select reporting.local_day(now()) - n as date) d
     ), due as (
       select closed.*, d.finished_at is not null as is_again from closed left join ops.attribution_days d on d.local_date = date
       where coalesce(d.claimed_until <= now(), true) and case when d.finished_at is not null then d.compare_again_at <= now() else n <= ${days} and (
         -- The service lists some calls late, so an hour counts from its second comparison on.
         select bool_and(c.state = 'proven' and c.proven_at >= c.to_at + interval '15 minutes')
           and min(c.from_at) <= closed.from_at and max(c.to_at) >= closed.to_at and sum(c.reported_count) > 0
         from ops.coverage c where c.stream = 'calls' and c.from_at < closed.to_at and c.to_at > closed.from_at) end
       order by date desc limit 1
     ), claimed as (
       insert into ops.attribution_days as d (local_date, claimed_until) select date, ${claimEnd} from due
       on conflict (local_date) do update set claimed_until = excluded.claimed_until where d.claimed_until <= now()
       returning local_date, reached_count, request_count
     )
     select date::text, extract(epoch from from_at)::integer as from, extract(epoch from to_at)::integer as to, is_again as "isAgain",
       reached_count as reached, request_count as requests
     from claimed join due on date = local_date`,
  );
  return day;
}

/** Each direction with each status, and all calls together. */
const ofDay = [
  ...['inbound', 'outbound'].flatMap((direction) =>
    ['answered', 'missed', 'voicemail'].map(
      (status): CallFilter => ({ kind: 'status', name: `${direction} ${status}` }),
    ),
  ),
  { kind: 'day', name: '' } as const,
];

/**
 * Direction and status; the queues and huntgroups of the last 90 days, then the users, each kind behind a name that must list
 * nothing. The API does not list groups. The order of users depends on the day, so that all get their turn where they are too many
 * for a night.
 */
async function knownFilters(db: Database, { date }: ClosedDay): Promise<CallFilter[]> {
  const known = await query(
    db,
    sql<CallFilter>`select kind, name from (
      select kind, ${unusedName} as name, '' as place from unnest(array['queue', 'huntgroup', 'user']) kind
      union all
      select kind, endpoint, endpoint from rollups.endpoints
      where kind in ('queue', 'huntgroup') and endpoint <> '' and last_date >= ${date}::date - 90
      union all
      select 'user', user_id::text, md5(user_id || ${date}) from warehouse.users where deleted_at is null
    ) known order by kind = 'user', kind, place`,
  );
  return [...ofDay, ...known];
}

/** Attributes held calls to a queue, huntgroup or user, unless their legs or ends do so already. Resolves to how many. */
async function attribute(db: Database, { kind, name, callIds }: FilteredCalls): Promise<number> {
  if (callIds.length === 0) return 0;
  const isUser = kind === 'user';
  const isSame = isUser ? sql`a.user_id = ${name}::bigint` : sql`a.kind = ${kind} and a.endpoint = ${name}`;
  return change(
    db,
    // Of a user it is not known how they took part.
    sql`insert into warehouse.call_attributions (call_id, kind, endpoint, role, started_at, user_id, source)
       select c.call_id, ${kind}, ${name}, ${isUser ? 'touched' : 'entered'}, c.started_at, ${isUser ? name : null}::bigint, 'search_filter'
       from warehouse.calls c
       where c.call_id = any(${callIds}) and c.started_at is not null and c.deleted_at is null and not c.is_erased
         and not exists (select from warehouse.call_attributions a where a.call_id = c.call_id and ${isSame})
         and not (c.legs_fetched_at is null and ${isEndOf({ kind, name })})
       on conflict do nothing returning started_at`,
  );
}

/** Deletes `touched` rows of calls whose legs, read later, tell the role. */
const superseded = sql<{ started_at: Date }>`delete from warehouse.call_attributions t
  where t.role = 'touched' and t.started_at > now() - interval '8 days'
    and exists (select from warehouse.call_attributions a
      where a.call_id = t.call_id and a.role <> 'touched' and a.user_id = t.user_id)
  returning t.started_at`;

/** Changes attributions, and marks the reports of their days. Resolves to how many were changed. */
function change(db: Database, statement: RawBuilder<{ started_at: Date }>): Promise<number> {
  return inTransaction(db, async (tx) => {
    const rows = await query(tx, statement);
    await recordFollowing(tx, { calls: rows.map(({ started_at }) => started_at.toISOString()) });
    return rows.length;
  });
}

export type Attribution = ReturnType<typeof createAttribution>;

/** `days`: how many local days back. */
export function createAttribution(deps: AttributionDeps, days = maxDays) {
  const { db, log, pauses, notify } = deps;

  async function update({ date }: Day, changes: RawBuilder<unknown>): Promise<void> {
    await query(db, sql`update ops.attribution_days d set ${changes} where local_date = ${date}::date`);
  }

  /** Attributes what was listed, and compares it with what is held. Resolves to how many calls were attributed. */
  async function use(day: Day, listed: FilteredCalls): Promise<number> {
    if (listed.kind === 'day') {
      if (listed.total !== undefined) await tieOutTotals(db, day, listed.total);
      return 0;
    }
    const count = listed.kind === 'status' ? 0 : await attribute(db, listed);
    if (!listed.isComplete) return count;
    const due = await inTransaction(db, async (tx) => {
      const callIds = await tieOut(tx, day, listed);
      const targets = callIds.map((key) => ({ kind: 'call', key }) as const);
      return targets.length === 0 ? [] : markDirty(tx, targets, pauses);
    });
    notify(due);
    return count;
  }

  /** Resolves to why not every filter attributed calls; undefined when each did. */
  async function askDay(day: Day, signal: AbortSignal | undefined): Promise<string | undefined> {
    const { isAgain } = day;
    const filters = isAgain ? await differingFigures(db, day) : await knownFilters(db, day);
    const refused = new Set<CallFilter['kind']>();
    let problem: string | undefined;
    let requests = isAgain ? 0 : day.requests;
    for (const [at, filter] of filters.entries()) {
      const isTest = filter.name === unusedName;
      if ((!isAgain && at < day.reached && !isTest) || refused.has(filter.kind)) continue;
      if (requests >= maxRequests) return `asked by ${at} of ${filters.length}: more would be too many for a night`;
      const listed = await listByFilter(deps, day, filter, signal).catch((error: unknown) => {
        if (error instanceof ServiceError && error.advice === 'refused') return undefined;
        throw error;
      });
      const made = listed?.requests ?? 1;
      requests += made;
      if (isTest && listed?.callIds.length !== 0) refused.add(filter.kind);
      if (!listed || refused.has(filter.kind)) problem ??= `the service refuses or ignores a filter by ${filter.kind}`;
      else if (!listed.isComplete) problem ??= `the service counts more calls than it lists by ${filter.kind}`;
      const count = listed && !isTest ? await use(day, listed) : 0;
      const progress = sql`reached_count = greatest(reached_count, ${at + 1}), request_count = request_count + ${made}, attributed_count = attributed_count + ${count}`;
      await update(day, sql`${progress}, claimed_until = ${claimEnd}`);
    }
    return problem;
  }

  return {
    /** Asks for one day that is due. Resolves to whether there was one. Rejects only when the database cannot be reached. */
    async round(signal?: AbortSignal): Promise<boolean> {
      const day = await claimDay(db, days);
      if (!day) return false;
      try {
        const problem = await askDay(day, signal);
        await change(db, superseded);
        const ended = sql`compare_again_at = ${nextComparison(days)}, claimed_until = now()`;
        await update(day, day.isAgain ? ended : sql`${ended}, finished_at = now(), problem = ${problem ?? null}`);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (signal?.aborted) await update(day, sql`claimed_until = now()`);
        else
          log.warn(
            { err: error },
            'Calls could not be searched by queue, huntgroup and user; it is continued in ten minutes',
          );
      }
      return true;
    },
  };
}
