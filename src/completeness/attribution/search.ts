import type { CallFilters, Service } from '../../api-client/client.ts';
import { type Database, query, retryDeadlock } from '../../db/database.ts';
import type { OnAnswer } from '../../warehouse/drift.ts';
import type { Kind, Window } from './windows.ts';

/** The names that a window has not been searched by yet, sorted. */
export async function namesOf(db: Database, { kind, from, to, reached }: Window): Promise<string[]> {
  const known: Readonly<Record<Kind, string>> = {
    // The API does not list groups. These are the ones that calls of about that time entered.
    queue: groupsOf,
    huntgroup: groupsOf,
    user: `select user_id::text as name from warehouse.users where deleted_at is null and $1 <> ''`,
    extension: `select endpoint as name from warehouse.user_endpoints where kind = $1 and valid_from < to_timestamp($3) and valid_to > to_timestamp($2)`,
  };
  const rows = await query<{ name: string }>(
    db,
    `select distinct name collate "C" as name from (${known[kind]}) known
     where name <> '' and to_timestamp($2) < to_timestamp($3) and ($4::text is null or name collate "C" > $4) order by 1`,
    [kind, from, to, reached],
  );
  return rows.map(({ name }) => name);
}

const groupsOf = `select endpoint as name from rollups.call_endpoint_rollup
  where kind = $1 and local_date between to_timestamp($2)::date - 90 and to_timestamp($3)::date + 1`;

/** Section 4.6 does not specify the values of a filter. A user is identified by the id "used everywhere else" (2.8). */
const filterOf: Readonly<Record<Kind, (name: string) => CallFilters>> = {
  queue: (name) => ({ queues: [name] }),
  huntgroup: (name) => ({ huntgroups: [name] }),
  user: (name) => ({ users: [name] }),
  extension: (name) => ({ extensions: [name] }),
};

export interface NameCalls {
  readonly callIds: readonly string[];
  /** Requests made. */
  readonly requests: number;
  /** How many more calls the service counts than it listed. */
  readonly unlisted: number;
}

/** The service caps larger limits (section 8). */
const pageSize = 500;
/** Calls of one second have no order, so a pass may leave out what another lists. */
const maxPasses = 3;

/** Lists the calls of a window that a name handled. Rejects with `ServiceError`. */
export async function listCallsOf(
  { service, onAnswer }: { service: Service; onAnswer: OnAnswer },
  { kind, from, to }: Window,
  name: string,
  signal?: AbortSignal,
): Promise<NameCalls> {
  const callIds = new Set<string>();
  let requests = 0;
  let unlisted = 0;

  /** Resolves to the service's total, if given. */
  async function pass(): Promise<number | undefined> {
    const passed = new Set<string>();
    for (let offset = 0; ; ) {
      // Section 4.6 does not say whether the ends of a window belong to it.
      const search = { start: from - 1, end: to, limit: pageSize, offset, filters: filterOf[kind](name) };
      const answer = await service.calls.search(search, signal && { signal });
      requests += 1;
      onAnswer('calls.search', answer);
      const { calls, total } = answer.data;
      const before = passed.size;
      for (const { id } of calls) {
        passed.add(id);
        callIds.add(id);
      }
      offset += calls.length;
      if (passed.size === before || (total !== undefined && offset >= total)) return total;
    }
  }

  for (let passes = 1; passes <= maxPasses; passes += 1) {
    unlisted = Math.max(0, ((await pass()) ?? 0) - callIds.size);
    if (unlisted === 0) break;
  }
  return { callIds: [...callIds], requests, unlisted };
}

/** A name that nobody has: a service that lists calls for it ignores the filter. */
export const unusedName = 'trunkline-nobody';

const ownEnds: Readonly<Record<Kind, string>> = {
  queue: `c.called_type = $2 and left(coalesce(nullif(c.called_number, ''), c.called_name), 200) = $3`,
  huntgroup: `c.called_type = $2 and left(coalesce(nullif(c.called_number, ''), c.called_name), 200) = $3`,
  extension: `c.caller_type = 'user' and c.caller_number = $3 or c.called_type = 'user' and c.called_number = $3`,
  user: `exists (
    select from warehouse.user_endpoints e
    where e.user_id = $3::text::bigint and e.kind in ('extension', 'dial_extension', 'sip_line')
      and e.valid_from <= c.started_at and c.started_at < e.valid_to
      and (c.caller_type = 'user' and c.caller_number = e.endpoint or c.called_type = 'user' and c.called_number = e.endpoint))`,
};

/**
 * Attributes held calls to a name, unless their legs or ends do so already. A group was `entered`; of a user or extension
 * only `touched` is known. Resolves to how many were attributed.
 */
export async function attribute(db: Database, kind: Kind, name: string, callIds: readonly string[]): Promise<number> {
  if (callIds.length === 0) return 0;
  const rows = await retryDeadlock(() =>
    query(
      db,
      `insert into warehouse.call_attributions (call_id, kind, endpoint, role, started_at, user_id, source)
       select c.call_id, $2::text, $3::text, case when $2::text in ('queue', 'huntgroup') then 'entered' else 'touched' end, c.started_at,
         ${kind === 'user' ? '$3::text::bigint' : kind === 'extension' ? 'ops.user_at($3, c.started_at)' : 'null'}, 'search_filter'
       from warehouse.calls c
       where c.call_id = any($1) and c.started_at is not null and c.deleted_at is null and not c.is_erased
         and not exists (
           select from warehouse.call_attributions a
           where a.call_id = c.call_id and (${kind === 'user' ? 'a.user_id = $3::text::bigint' : 'a.kind = $2 and a.endpoint = $3'}))
         and not (c.legs_fetched_at is null and coalesce(${ownEnds[kind]}, false))
       on conflict do nothing returning 1`,
      [callIds, kind, name],
    ),
  );
  return rows.length;
}

/** Deletes `touched` rows where legs that were read later say more. */
export async function deleteSuperseded(db: Database): Promise<void> {
  await retryDeadlock(() =>
    query(
      db,
      `delete from warehouse.call_attributions t
       where t.role = 'touched' and t.started_at > now() - interval '8 days'
         and exists (
           select from warehouse.call_attributions a
           where a.call_id = t.call_id and a.role <> 'touched'
             and ((a.kind, a.endpoint) = (t.kind, t.endpoint) or t.kind = 'user' and a.user_id = t.user_id))`,
      [],
    ),
  );
}
