/** Maximum connections to Postgres for each part of a process. Together they are DATABASE_POOL_SIZE. */
export interface ConnectionShares {
  /** For the whole process. */
  readonly total: number;
  /** For reads and writes of the mirror and of rules. */
  readonly main: number;
  /** With queues in Postgres: to add jobs, and to take and finish them. */
  readonly producers: number;
  readonly jobs: number;
}

/** The receiver stores deliveries through its own connections, so a delivery never waits for a page or a scrape. */
export const inboxConnections = 3;
/** Pages and reports read through connections of their own. */
export const pageConnections = 2;
/** Roll-ups are updated on a connection of their own. */
export const rollupConnections = 1;
const listeners = 1;

/** Divides the connections of one process (at least 8) among its parts. */
export function shareConnections(
  total: number,
  process: {
    readonly receives: boolean;
    readonly works: boolean;
    readonly queues: 'redis' | 'postgres';
  },
): ConnectionShares {
  const isQueueStore = process.queues === 'postgres';
  const producers = isQueueStore ? 1 : 0;
  const inbox = process.receives ? inboxConnections + pageConnections : 0;
  const rollups = process.works ? rollupConnections : 0;
  const rest = total - inbox - producers - rollups - (isQueueStore && process.works ? listeners : 0);
  const jobs = isQueueStore && process.works ? Math.max(1, Math.floor((rest - 1) / 2)) : 0;
  return { total, main: rest - jobs, producers, jobs };
}

/** A connection limit, and how many of its connections other programs use. */
export interface ConnectionLimit {
  /** Used within a sentence, for example `the role "app"`. */
  readonly whose: string;
  readonly max: number;
  readonly others: number;
}

/** Seconds without a report in `ops.processes` after which a process counts as dead, or as cut off from Postgres. */
export const goneAfterSeconds = 15;

/** Selects the session limits of the current role, tightest first. */
export const connectionLimits = `
  with session as (
    select a.usesysid, a.datid, a.application_name like 'trunkline%' as is_ours
    from pg_stat_activity a where a.backend_type = 'client backend'
  ),
  limits as (
    select 'the server' as whose,
      current_setting('max_connections')::integer - case when r.rolsuper then 0 else
        current_setting('superuser_reserved_connections')::integer
        + coalesce(current_setting('reserved_connections', true)::integer, 0) end as max,
      (select count(*) from session where not is_ours)::integer as others
    from pg_roles r where r.rolname = current_user
    union all
    select format('the role "%s"', r.rolname), r.rolconnlimit,
      (select count(*) from session where not is_ours and usesysid = r.oid)::integer
    from pg_roles r where r.rolname = session_user and r.rolconnlimit >= 0 and not r.rolsuper
    union all
    select format('the database "%s"', d.datname), d.datconnlimit,
      (select count(*) from session where not is_ours and datid = d.oid)::integer
    from pg_database d cross join pg_roles r
    where d.datname = current_database() and d.datconnlimit >= 0 and r.rolname = session_user and not r.rolsuper
  )
  select whose, max, others from limits order by max - others`;

/** Compares the connections that the processes may open with the tightest limit. No `remedy` if the limit suffices. */
export function judgeConnections(
  processes: readonly { readonly role: string; readonly connections: number }[],
  limit: ConnectionLimit,
): { readonly sentence: string; readonly remedy: string | undefined; readonly isTooMuch: boolean } {
  const needed = processes.reduce((sum, { connections }) => sum + connections, 0);
  const roles = Map.groupBy(processes, ({ role }) => role);
  const counted = [...roles]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([role, { length }]) => `${length} ${role}`)
    .join(' and ');
  const { whose, max, others } = limit;
  const isTooMuch = needed > max;
  const sentence = `${counted} open up to ${needed} connections; ${whose} allows ${max}, of which others hold ${others}.`;
  if (needed + others <= max) return { sentence, remedy: undefined, isTooMuch };
  return {
    sentence,
    isTooMuch,
    remedy: `Lower DATABASE_POOL_SIZE, run fewer processes, or raise the limit of ${whose}.`,
  };
}
