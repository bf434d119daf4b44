import { type Database, query, sql } from './database.ts';

/** A session or prepared transaction that a migration waits for. */
export interface Blocker {
  /** Null for a prepared transaction. */
  readonly pid: number | null;
  readonly role: string | null;
  readonly application: string | null;
  /** Start of its transaction; null if Postgres hides it from our role. */
  readonly since: Date | null;
}

/** Describes it within a sentence: `"bi" (metabase, pid 4711)`. */
export function blockerName({ pid, role, application }: Omit<Blocker, 'since'>): string {
  if (pid === null) return `a prepared transaction${role === null ? '' : ` of "${role}"`}`;
  return `"${role ?? 'unknown'}" (${application ? `${application}, ` : ''}pid ${pid})`;
}

/** The command that ends it. */
export function blockerRemedy(blockers: readonly Pick<Blocker, 'pid'>[]): string {
  const pids = blockers.flatMap(({ pid }) => pid ?? []);
  if (pids.length < blockers.length) {
    return 'Run `select gid from pg_prepared_xacts`, then `rollback prepared` with the gid.';
  }
  return `Ask whoever it is, or run ${pids.map((pid) => `\`select pg_terminate_backend(${pid})\``).join(' and ')}.`;
}

/**
 * Ends sessions that hold locks in our schemas or advisory locks and whose role may use `reporting`, but not `ops`.
 * Returns their names. Rejects if our role may not end them.
 */
export async function endReaders(db: Database): Promise<string[]> {
  const holders = await readLockHolders(db);
  const ended = await query(
    db,
    sql<Blocker>`
      select a.pid, a.usename as role, nullif(a.application_name, '') as application
      from pg_stat_activity a where a.pid = any(${holders.flatMap(({ pid }) => pid ?? [])}::integer[])
        and case when has_schema_privilege(a.usesysid, 'reporting', 'usage')
          and not has_schema_privilege(a.usesysid, 'ops', 'usage') then pg_terminate_backend(a.pid) else false end`,
  );
  return ended.map(blockerName);
}

/**
 * Sessions that have held locks in our schemas, or advisory locks, for more than a second: one of them blocked a
 * statement of ours. At most three, oldest transaction first.
 */
export function readLockHolders(db: Database): Promise<Blocker[]> {
  return query(
    db,
    sql<Blocker>`
      select a.pid, a.usename as role, nullif(a.application_name, '') as application, a.xact_start as since
      from pg_stat_activity a
      where a.datname = current_database() and a.pid <> pg_backend_pid()
        and coalesce(a.xact_start < now() - interval '1 second', true)
        and exists (
          select from pg_locks l left join pg_class c on c.oid = l.relation left join pg_namespace n on n.oid = c.relnamespace
          where l.pid = a.pid and l.granted and l.database = (select oid from pg_database where datname = current_database())
            and (l.locktype = 'advisory'
              or n.nspname in ('warehouse', 'secrets', 'ops', 'rollups', 'reporting', 'bullmq')))
      order by a.xact_start nulls last limit 3`,
  );
}
