import type { RawBuilder } from 'kysely';
import { type CallFilters, type Service, ServiceError } from '../api-client/client.ts';
import { type Database, inTransaction, query, sql } from '../db/database.ts';
import type { Log } from '../shared/log.ts';
import type { TimeRange } from '../shared/time-range.ts';
import type { OnAnswer } from '../warehouse/drift.ts';
import { recordFollowing } from '../warehouse/what-follows.ts';

/*
 * Calls are attributed to queues, huntgroups and users by their legs, whose fields are not specified. So once a night the service is
 * asked which calls of the last local day passed each of them: a filtered search lists exactly those (section 4.6). The life of a
 * day in ops.attribution_days:
 *
 *   its hours are proven complete ──▶ claimed, asked by one filter after another ──▶ finished
 *                                        ▲                   │
 *                                        └── continues later ┘ the service does not answer, or the process stops
 */

/** Requests for one day, about. */
const maxRequests = 200;
/** The service caps larger limits (section 8). */
const pageSize = 500;
/** A name that does not exist: a service that lists calls for it ignores the filter. */
const unusedName = 'trunkline-nobody';

/** Section 4.6 does not show the names. A user is named by the id "used everywhere else" (section 2.8). */
const filtersOf = {
  queue: (name: string): CallFilters => ({ queues: [name] }),
  huntgroup: (name: string): CallFilters => ({ huntgroups: [name] }),
  user: (name: string): CallFilters => ({ users: [name] }),
};

export interface CallFilter {
  readonly kind: keyof typeof filtersOf;
  readonly name: string;
}

/** What the service lists by one filter. */
export interface FilteredCalls extends CallFilter {
  readonly callIds: readonly string[];
  /** How many calls the service counts; undefined where it does not say. */
  readonly total: number | undefined;
  readonly requests: number;
}

export interface AttributionDeps {
  readonly db: Database;
  readonly service: Service;
  readonly log: Log;
  readonly onAnswer: OnAnswer;
}

/** Lists the calls of a range, in Unix seconds, that passed a queue, huntgroup or user. Rejects with `ServiceError`. */
export async function listByFilter(
  { service, onAnswer }: Pick<AttributionDeps, 'service' | 'onAnswer'>,
  { from, to }: TimeRange,
  { kind, name }: CallFilter,
  signal?: AbortSignal,
): Promise<FilteredCalls> {
  const callIds = new Set<string>();
  for (let requests = 1, offset = 0; ; requests += 1) {
    // Section 4.6 does not say whether the ends of a window belong to it.
    const search = { start: from - 1, end: to, limit: pageSize, offset, filters: filtersOf[kind](name) };
    const answer = await service.calls.search(search, signal && { signal });
    onAnswer('calls.search', answer);
    const { calls, total } = answer.data;
    const before = callIds.size;
    for (const { id } of calls) callIds.add(id);
    offset += calls.length;
    const isLast = callIds.size === before || (total !== undefined && offset >= total);
    if (isLast) return { kind, name, callIds: [...callIds], total, requests };
  }
}

interface Day extends TimeRange {
  /** The local day, such as 2026-11-25. */
  readonly date: string;
  /** Filters asked so far, and the requests made. */
  readonly reached: number;
  readonly requests: number;
}

const claimEnd = sql`now() + interval '10 minutes'`;

/** Claims the last local day if it has calls, all its hours are proven complete, and it is not finished. */
async function claimDay(db: Database): Promise<Day | undefined> {
  const [day] = await query(
    db,
    sql<Day>`with last as (
       select date, reporting.day_start(date) as from_at, reporting.day_start(date + 1) as to_at
       from (select reporting.local_day(now()) - 1 as date) d
     ), closed as (
       select date, last.from_at, last.to_at from last join ops.coverage c
         on c.stream = 'calls' and c.from_at < last.to_at and c.to_at > last.from_at
       group by 1, 2, 3
       -- The service lists some calls late, so an hour counts from its second comparison on.
       having bool_and(c.state = 'proven' and c.proven_at >= c.to_at + interval '15 minutes')
         and min(c.from_at) <= last.from_at and max(c.to_at) >= last.to_at and sum(c.reported_count) > 0
     ), claimed as (
       insert into ops.attribution_days as d (local_date, claimed_until) select date, ${claimEnd} from closed
       on conflict (local_date) do update set claimed_until = excluded.claimed_until
         where d.finished_at is null and d.claimed_until <= now()
       returning local_date, reached_count, request_count
     )
     select date::text, extract(epoch from from_at)::integer as from, extract(epoch from to_at)::integer as to,
       reached_count as reached, request_count as requests
     from claimed join closed on date = local_date`,
  );
  return day;
}

/**
 * The queues and huntgroups of the last 90 days, then the users, each kind behind a name that must list nothing. The API does not
 * list groups. The order of users depends on the day, so that all get their turn where they are too many for a night.
 */
function knownFilters(db: Database, date: string): Promise<CallFilter[]> {
  return query(
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
}

/** Attributes held calls to a queue, huntgroup or user, unless their legs or ends do so already. Resolves to how many. */
async function attribute(db: Database, { kind, name, callIds }: FilteredCalls): Promise<number> {
  if (callIds.length === 0) return 0;
  const isUser = kind === 'user';
  const isSame = isUser ? sql`a.user_id = ${name}::bigint` : sql`a.kind = ${kind} and a.endpoint = ${name}`;
  const isEnd = isUser
    ? sql`exists (
        select from warehouse.user_endpoints e
        where e.user_id = ${name}::bigint and e.kind in ('extension', 'dial_extension', 'sip_line')
          and e.valid_from <= c.started_at and c.started_at < e.valid_to
          and (c.caller_type = 'user' and c.caller_number = e.endpoint or c.called_type = 'user' and c.called_number = e.endpoint))`
    : sql`c.called_type = ${kind} and left(coalesce(nullif(c.called_number, ''), c.called_name), 200) = ${name}`;
  return change(
    db,
    // Of a user it is not known how they took part.
    sql`insert into warehouse.call_attributions (call_id, kind, endpoint, role, started_at, user_id, source)
       select c.call_id, ${kind}, ${name}, ${isUser ? 'touched' : 'entered'}, c.started_at, ${isUser ? name : null}::bigint, 'search_filter'
       from warehouse.calls c
       where c.call_id = any(${callIds}) and c.started_at is not null and c.deleted_at is null and not c.is_erased
         and not exists (select from warehouse.call_attributions a where a.call_id = c.call_id and ${isSame})
         and not (c.legs_fetched_at is null and coalesce(${isEnd}, false))
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

export function createAttribution(deps: AttributionDeps) {
  const { db, log } = deps;

  async function update({ date }: Day, changes: RawBuilder<unknown>): Promise<void> {
    await query(db, sql`update ops.attribution_days set ${changes} where local_date = ${date}::date`);
  }

  /** Resolves to why not every filter attributed calls; undefined when each did. */
  async function askDay(day: Day, signal: AbortSignal | undefined): Promise<string | undefined> {
    const filters = await knownFilters(db, day.date);
    const refused = new Set<CallFilter['kind']>();
    let problem: string | undefined;
    let { requests } = day;
    for (const [at, filter] of filters.entries()) {
      const isTest = filter.name === unusedName;
      if ((at < day.reached && !isTest) || refused.has(filter.kind)) continue;
      if (requests >= maxRequests) return `asked by ${at} of ${filters.length}: more would be too many for a night`;
      const listed = await listByFilter(deps, day, filter, signal).catch((error: unknown) => {
        if (error instanceof ServiceError && error.advice === 'refused') return undefined;
        throw error;
      });
      requests += listed?.requests ?? 1;
      if (isTest && listed?.callIds.length !== 0) refused.add(filter.kind);
      if (!listed || refused.has(filter.kind)) problem ??= `the service refuses or ignores a filter by ${filter.kind}`;
      const count = listed && !isTest ? await attribute(db, listed) : 0;
      const progress = sql`reached_count = greatest(reached_count, ${at + 1}), request_count = ${requests}, attributed_count = attributed_count + ${count}`;
      await update(day, sql`${progress}, claimed_until = ${claimEnd}`);
    }
    return problem;
  }

  return {
    /** Asks for the last day once it is complete. Rejects only when the database cannot be reached. */
    async round(signal?: AbortSignal): Promise<void> {
      const day = await claimDay(db);
      if (!day) return;
      try {
        const problem = await askDay(day, signal);
        await change(db, superseded);
        await update(day, sql`finished_at = now(), problem = ${problem ?? null}`);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (signal?.aborted) return update(day, sql`claimed_until = now()`);
        log.warn(
          { err: error },
          'Calls could not be searched by queue, huntgroup and user; it is continued in ten minutes',
        );
      }
    },
  };
}
