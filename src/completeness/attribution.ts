import { type CallFilters, type Service, ServiceError } from '../api-client/client.ts';
import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { type DueTarget, markDirty } from '../inbox/targets.ts';
import type { Log } from '../shared/log.ts';
import type { TimeRange } from '../shared/time-range.ts';
import { recordFollowing } from '../warehouse/what-follows.ts';
import { secondOf } from './coverage/listing.ts';

/*
 * Legs attribute calls to queues, huntgroups and users, but the fields of legs aren't specified. So once a night the
 * service is asked which calls of a closed local day passed each queue, huntgroup and user: a filtered search lists
 * exactly those (section 4.6). Its answers attribute what legs leave open, and they are compared with the mirror, as
 * are counts by direction and status. Calls that only one side has are read again, and the day is asked once more an
 * hour later. Differences that remain are kept in ops.attribution_days.
 */

/** Requests in one round of a day, roughly; how many days back are asked; how many calls a difference lists. */
const [maxRequests, maxDays, maxCalls] = [200, 7, 100];
/** A name that doesn't exist: a service that lists calls for it ignores the filter. */
const unusedName = 'trunkline-nobody';

interface AttributionDeps {
  readonly db: Database;
  readonly service: Service;
  readonly log: Log;
  readonly notify: (due: readonly DueTarget[]) => void;
}

/** A local day that is over. `isAgain`: its differences were read again since. */
type ClosedDay = TimeRange & { readonly date: string; readonly isAgain: boolean };
type Figure = { readonly kind: string; readonly name: string };
type Compared = { readonly theirs: number; readonly ours: number; readonly callIds: readonly string[] };

/** Section 4.6 doesn't show the names. A user is named by the id "used everywhere else" (section 2.8). */
function filtersOf({ kind, name }: Figure): CallFilters {
  if (kind !== 'status') return { [`${kind}s`]: [name] };
  const [direction, status] = name.split(' ') as ['inbound', 'answered'];
  return { directions: [direction], statuses: [status] };
}

/** Claims the newest local day that has calls, isn't finished, and has only hours that are proven complete. */
async function claimDay(db: Database): Promise<ClosedDay | undefined> {
  const [day] = await query(
    db,
    // The service lists some calls late, so an hour counts only after its second comparison.
    sql<ClosedDay>`with due as (
       select day.*, d.read_again_at is not null as is_again
       from (select l - n as date, reporting.day_start(l - n) as starts_at, reporting.day_start(l - n + 1) as ends_at
             from reporting.local_day(now()) l, generate_series(1, ${maxDays}::integer) n) day
         left join ops.attribution_days d on d.local_date = date
       where d.finished_at is null and coalesce(d.claimed_until <= now(), true) and (
         select bool_and(c.state = 'proven' and c.proven_at >= c.to_at + interval '15 minutes')
           and min(c.from_at) <= starts_at and max(c.to_at) >= ends_at and sum(c.reported_count) > 0
         from ops.coverage c where c.stream = 'calls' and c.from_at < ends_at and c.to_at > starts_at)
       order by date desc limit 1
     ), claimed as (
       insert into ops.attribution_days as d (local_date, claimed_until) select date, now() + interval '30 minutes' from due
       on conflict (local_date) do update set claimed_until = excluded.claimed_until where d.claimed_until <= now() returning local_date
     )
     select date::text, extract(epoch from starts_at)::integer as from, extract(epoch from ends_at)::integer as to, is_again as "isAgain"
     from claimed join due on date = local_date`,
  );
  return day;
}

/**
 * Direction and status; the queues and huntgroups of the last 90 days; then the users. Before each kind stands a name
 * that must list nothing. The order of users depends on the day, so that all are asked over time, even if they are too
 * many for one night.
 */
const figuresOf = (db: Database, { date }: ClosedDay) =>
  query(
    db,
    sql<Figure>`select kind, name from (
      select 'status' as kind, d || ' ' || s as name, '' as place from unnest('{inbound,outbound}'::text[]) d, unnest('{answered,missed,voicemail}'::text[]) s
      union all select kind, ${unusedName}, '' from unnest('{queue,huntgroup,user}'::text[]) kind
      union all select kind, endpoint, endpoint from rollups.endpoints
      where kind in ('queue', 'huntgroup') and endpoint <> '' and last_date >= ${date}::date - 90
      union all select 'user', user_id::text, md5(user_id || ${date}) from warehouse.users where deleted_at is null
    ) known order by kind <> 'status', kind = 'user', kind, place`,
  );

/** Whether the mirror counts call `c` in a figure: by its attributions, or by its ends until its legs are read. */
function isOf({ kind, name }: Figure) {
  if (kind === 'status') return sql`c.direction || ' ' || c.status = ${name}`;
  const [isAttributed, isEnd] =
    kind === 'user'
      ? [
          sql`a.user_id = ${name}::bigint`,
          sql`exists (
            select from warehouse.user_endpoints e
            where e.user_id = ${name}::bigint and e.kind in ('extension', 'dial_extension', 'sip_line')
              and e.valid_from <= c.started_at and c.started_at < e.valid_to
              and (c.caller_type = 'user' and c.caller_number = e.endpoint or c.called_type = 'user' and c.called_number = e.endpoint))`,
        ]
      : [
          sql`a.kind = ${kind} and a.endpoint = ${name}`,
          sql`coalesce(c.called_type = ${kind} and left(coalesce(nullif(c.called_number, ''), c.called_name), 200) = ${name}, false)`,
        ];
  return sql`(exists (select from warehouse.call_attributions a where a.call_id = c.call_id and ${isAttributed})
    or c.legs_fetched_at is null and ${isEnd})`;
}

/** Attributes unattributed calls of a listing, and compares the listing with the mirror. Ignores erased people. */
async function attribute(tx: Transaction, day: ClosedDay, figure: Figure, ids: readonly string[]): Promise<Compared> {
  const { kind, name } = figure;
  const isUser = kind === 'user';
  const [found] = await query(
    tx,
    // For a user, the part taken in the call isn't known.
    sql<Compared & { starts: Date[] }>`with known as materialized (
       select c.call_id, c.started_at, c.is_erased or c.deleted_at is not null as is_gone, c.is_erased, c.call_id = any(${ids}) as is_listed, coalesce(${isOf(figure)}, false) as is_held
       from warehouse.calls c
       where c.started_at >= to_timestamp(${day.from}) and c.started_at < to_timestamp(${day.to}) or c.call_id = any(${ids})
     ), attributed as (
       insert into warehouse.call_attributions (call_id, kind, endpoint, role, started_at, user_id, source)
       select call_id, ${kind}, ${name}, ${isUser ? 'touched' : 'entered'}, started_at, ${isUser ? name : null}::bigint, 'search_filter'
       from known where ${kind !== 'status'} and is_listed and not is_held and not is_gone and started_at is not null
       on conflict do nothing returning call_id, started_at
     ), listed as (
       select call_id from unnest(${ids}::text[]) l (call_id) where call_id not in (select call_id from known where is_erased)
     ), held as (
       select call_id from known where is_held and not is_gone union select call_id from attributed
     )
     select (select count(*)::integer from listed) as theirs, (select count(*)::integer from held) as ours,
       array((table held except table listed) union all (table listed except table held) order by 1 limit ${maxCalls}) as "callIds",
       array(select started_at from attributed) as starts`,
  );
  const { starts = [], ...compared } = found ?? { theirs: 0, ours: 0, callIds: [] };
  await recordFollowing(tx, { calls: starts.map((each) => each.toISOString()) });
  return compared;
}

export type Attribution = ReturnType<typeof createAttribution>;

export function createAttribution({ db, service, log, notify }: AttributionDeps) {
  /** The calls that the service lists for a figure; undefined if it refuses. */
  async function list({ from, to }: ClosedDay, figure: Figure, signal: AbortSignal | undefined) {
    const calls = new Map<string, number | undefined>();
    for (let requests = 1, offset = 0; ; requests += 1) {
      // Section 4.6 doesn't say whether the ends of a window belong to it.
      const search = { start: from - 1, end: to, limit: 500, offset, filters: filtersOf(figure) };
      const answer = await service.calls.search(search, signal && { signal }).catch((error: unknown) => {
        if (error instanceof ServiceError && error.advice === 'refused') return undefined;
        throw error;
      });
      if (answer === undefined) return { ids: undefined, isComplete: false, requests };
      const before = calls.size;
      for (const call of answer.data.calls) calls.set(call.id, call.startTime === undefined ? from : secondOf(call));
      offset += answer.data.calls.length;
      const { total = calls.size } = answer.data;
      if (calls.size > before && (answer.data.total === undefined || offset < total)) continue;
      const ids = [...calls].flatMap(([id, second = from]) => (second >= from && second < to ? [id] : []));
      return { ids, isComplete: calls.size >= total, requests };
    }
  }

  /** Resolves to the differences, and to why some figures couldn't be asked. */
  async function askDay(day: ClosedDay, signal: AbortSignal | undefined) {
    const differences: (Figure & Compared)[] = [];
    const refused = new Set<string>();
    let problem: string | null = null;
    let requests = 0;
    for (const figure of await figuresOf(db, day)) {
      const { kind, name } = figure;
      if (refused.has(kind)) continue;
      if (requests >= maxRequests) return { differences, problem: 'more requests would be too many for a night' };
      const { ids, isComplete, requests: made } = await list(day, figure, signal);
      requests += made;
      if (ids === undefined || (name === unusedName && ids.length > 0)) {
        refused.add(kind);
        problem ??= `the service refuses or ignores a filter by ${kind}`;
        continue;
      }
      if (name === unusedName) continue;
      if (!isComplete) problem ??= `the service counts more calls than it lists by ${kind}`;
      const compared = await inTransaction(db, (tx) => attribute(tx, day, figure, ids));
      if (isComplete && compared.callIds.length > 0) differences.push({ ...figure, ...compared });
    }
    return { differences, problem };
  }

  return {
    /** Asks for one due day. Resolves to whether there was one. Rejects only if the database can't be reached. */
    async round(signal?: AbortSignal): Promise<boolean> {
      const day = await claimDay(db);
      if (!day) return false;
      try {
        const { differences, problem } = await askDay(day, signal);
        const isDone = day.isAgain || differences.length === 0;
        const callIds = isDone ? [] : [...new Set(differences.flatMap((each) => each.callIds))];
        const end = isDone
          ? sql`finished_at = now()`
          : sql`read_again_at = now(), claimed_until = now() + interval '1 hour'`;
        const due = await inTransaction(db, async (tx) => {
          await query(
            tx,
            sql`update ops.attribution_days set problem = ${problem}, differences = ${JSON.stringify(differences)}, ${end} where local_date = ${day.date}::date`,
          );
          return markDirty(
            tx,
            callIds.map((key) => ({ kind: 'call', key }) as const),
          );
        });
        notify(due);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (!signal?.aborted)
          log.warn(
            { err: error },
            'Calls could not be searched by queue, huntgroup and user; the day is asked again within the hour',
          );
      }
      return true;
    },
  };
}
