import type { RawBuilder } from 'kysely';
import type { CallFilters, Service } from '../../api-client/client.ts';
import { type Database, inTransaction, query, sql } from '../../db/database.ts';
import type { OnAnswer } from '../../warehouse/drift.ts';
import { recordFollowing } from '../../warehouse/what-follows.ts';
import type { Kind, Window } from './windows.ts';

/** The names that a window has not been searched by yet, sorted. */
export async function namesOf(db: Database, window: Window): Promise<string[]> {
  const rows = await query(
    db,
    sql<{ name: string }>`select distinct name collate "C" as name from (${knownNames(window)}) known
     where name <> '' and (${window.reached}::text is null or name collate "C" > ${window.reached}) order by 1`,
  );
  return rows.map(({ name }) => name);
}

function knownNames({ kind, from, to }: Window): RawBuilder<unknown> {
  switch (kind) {
    case 'queue':
    case 'huntgroup':
      // The API does not list groups, so these are the ones that calls of about that time entered.
      return sql`select endpoint as name from rollups.queue_visits
        where kind = ${kind} and local_date between to_timestamp(${from})::date - 90 and to_timestamp(${to})::date + 1`;
    case 'user':
      return sql`select user_id::text as name from warehouse.users where deleted_at is null`;
    case 'extension':
      return sql`select endpoint as name from warehouse.user_endpoints
        where kind = ${kind} and valid_from < to_timestamp(${to}) and valid_to > to_timestamp(${from})`;
  }
}

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
/** Calls of one second have no order, so a pass may skip calls that another lists. */
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

/** A name that does not exist: a service that lists calls for it ignores the filter. */
export const unusedName = 'trunkline-nobody';

/** What the attribution of a call `c` to a name depends on. */
interface Attribution {
  /** A group was entered. Of a user or an extension it is not known how it took part. */
  readonly role: 'entered' | 'touched';
  readonly userId: RawBuilder<unknown>;
  /** Whether an attribution `a` of the call is to the same name. */
  readonly isSame: RawBuilder<unknown>;
  /** Whether the caller or the called party of the call has the name. */
  readonly isParty: RawBuilder<unknown>;
}

function attributionOf(kind: Kind, name: string): Attribution {
  const isSame = sql`a.kind = ${kind} and a.endpoint = ${name}`;
  switch (kind) {
    case 'queue':
    case 'huntgroup':
      return {
        role: 'entered',
        userId: sql`null`,
        isSame,
        isParty: sql`c.called_type = ${kind} and left(coalesce(nullif(c.called_number, ''), c.called_name), 200) = ${name}`,
      };
    case 'extension':
      return {
        role: 'touched',
        userId: sql`ops.user_at(${name}, c.started_at)`,
        isSame,
        isParty: sql`(c.caller_type = 'user' and c.caller_number = ${name} or c.called_type = 'user' and c.called_number = ${name})`,
      };
    case 'user':
      return {
        role: 'touched',
        userId: sql`${name}::bigint`,
        isSame: sql`a.user_id = ${name}::bigint`,
        isParty: sql`exists (
          select from warehouse.user_endpoints e
          where e.user_id = ${name}::bigint and e.kind in ('extension', 'dial_extension', 'sip_line')
            and e.valid_from <= c.started_at and c.started_at < e.valid_to
            and (c.caller_type = 'user' and c.caller_number = e.endpoint or c.called_type = 'user' and c.called_number = e.endpoint))`,
      };
  }
}

/** Attributes held calls to a name, unless their legs or parties do so already. Resolves to how many were attributed. */
export async function attribute(db: Database, kind: Kind, name: string, callIds: readonly string[]): Promise<number> {
  if (callIds.length === 0) return 0;
  const { role, userId, isSame, isParty } = attributionOf(kind, name);
  return recordAttributions(
    db,
    sql`insert into warehouse.call_attributions (call_id, kind, endpoint, role, started_at, user_id, source)
       select c.call_id, ${kind}, ${name}, ${role}, c.started_at, ${userId}, 'search_filter'
       from warehouse.calls c
       where c.call_id = any(${callIds}) and c.started_at is not null and c.deleted_at is null and not c.is_erased
         and not exists (select from warehouse.call_attributions a where a.call_id = c.call_id and ${isSame})
         and not (c.legs_fetched_at is null and coalesce(${isParty}, false))
       on conflict do nothing returning started_at`,
  );
}

/** Writes attributions, and marks the reports of their days. Resolves to how many were written. */
function recordAttributions(db: Database, change: RawBuilder<{ started_at: Date }>): Promise<number> {
  return inTransaction(db, async (tx) => {
    const rows = await query(tx, change);
    await recordFollowing(tx, { calls: rows.map(({ started_at }) => started_at.toISOString()) });
    return rows.length;
  });
}

/** Deletes `touched` rows of calls whose legs, read later, tell the role. */
export async function deleteSuperseded(db: Database): Promise<void> {
  await recordAttributions(
    db,
    sql`delete from warehouse.call_attributions t
       where t.role = 'touched' and t.started_at > now() - interval '8 days'
         and exists (
           select from warehouse.call_attributions a
           where a.call_id = t.call_id and a.role <> 'touched'
             and ((a.kind, a.endpoint) = (t.kind, t.endpoint) or t.kind = 'user' and a.user_id = t.user_id))
       returning t.started_at`,
  );
}
