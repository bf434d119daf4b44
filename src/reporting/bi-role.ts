import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { takeLock } from '../db/locks.ts';
import { UserError } from '../shared/errors.ts';

/** The role can't be created, or could read too much. The message says how to fix it. */
export class NoBiRole extends UserError {
  readonly code = 'no_bi_role';
}

export interface BiRole {
  readonly name: string;
  /** It was created here without a password, so nobody can log in with it until one is set. */
  readonly isCreated: boolean;
}

/** Schemas with secrets, personal data or the daemon's own state. */
const hidden = ['warehouse', 'rollups', 'secrets', 'ops', 'bullmq'];

/**
 * Limits for a new role, in this database only. The role can change each for its session; its grants keep it from
 * writing.
 */
const limits: Readonly<Record<string, string>> = {
  statement_timeout: '1min',
  idle_in_transaction_session_timeout: '1min',
  default_transaction_read_only: 'on',
  search_path: 'reporting',
  // Reports read small rollups: JIT-compiling their many expressions takes longer than running them.
  jit: 'off',
};

/** Why a role can't have this name, in a sentence that suggests a valid one. Undefined if it can. */
export function faultOfRoleName(name: string): string | undefined {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(name) && !name.startsWith('pg_')) return undefined;
  return `"${name}" is no name for a role: take lower-case letters, digits and _, a letter first, and no pg_ before them.`;
}

/**
 * Lets a role read the schema `reporting`, including what later releases add, and nothing else of ours. Creates the
 * role if it doesn't exist. Safe to repeat. Throws {@link NoBiRole} for a role that could read more, and leaves it
 * unchanged.
 */
export async function grantBiRole(db: Database, name: string): Promise<BiRole> {
  const fault = faultOfRoleName(name);
  if (fault !== undefined) throw new NoBiRole(fault);
  return inTransaction(db, async (tx) => {
    await takeLock(tx, 'bi_role');
    await refuseWhoSeesMore(tx, name);
    const isCreated = await createUnlessHeld(tx, name);
    const [place] = await query(tx, sql<{ name: string }>`select current_database() as name`);
    const [role, database] = [sql.id(name), sql.id(place?.name ?? '')];
    await query(tx, sql`grant connect on database ${database} to ${role}`);
    await query(tx, sql`grant usage on schema reporting to ${role}`);
    await query(tx, sql`grant select on all tables in schema reporting to ${role}`);
    // Views are dropped and recreated when their text changes.
    await query(tx, sql`alter default privileges in schema reporting grant select on tables to ${role}`);
    for (const [setting, value] of isCreated ? Object.entries(limits) : []) {
      await query(tx, sql`alter role ${role} in database ${database} set ${sql.id(setting)} = ${sql.lit(value)}`);
    }
    return { name, isCreated };
  });
}

/**
 * Creates a role that may log in, unless it exists, and says whether it did. Whoever runs a release may end its
 * sessions.
 */
async function createUnlessHeld(tx: Transaction, name: string): Promise<boolean> {
  const [held] = await query(tx, sql`select from pg_roles where rolname = ${name}`);
  if (held) return false;
  await query(tx, sql`create role ${sql.id(name)} login connection limit 10`).catch((error: { code?: unknown }) => {
    if (error.code !== '42501') throw error;
    throw new NoBiRole(
      `Postgres lets the role of DATABASE_URL create no roles: have an administrator run "create role ${name} login", then run this again.`,
    );
  });
  await query(tx, sql`grant ${sql.id(name)} to current_user`);
  return true;
}

/**
 * Selects the role as which `/reports` reads. It can't log in, and is named after our own role, since all databases of
 * a server share their roles.
 */
export const selectReportsRole = `select rolname as name from pg_roles
  where rolname = left(current_user, 55) || '_reports' and pg_has_role(oid, 'member')`;

/** Creates the role of `/reports`, where Postgres lets us, and lets it read the schema `reporting`. Safe to repeat. */
export async function grantReportsRole(db: Database): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await takeLock(tx, 'bi_role');
    const statement = `do $$
      declare own text := quote_ident(left(current_user, 55) || '_reports');
      begin
        begin
          if to_regrole(own) is null then execute 'create role ' || own; end if;
        exception when duplicate_object or unique_violation then null; -- Another database of the server did it now.
        end;
        -- Since Postgres 16, whoever creates a role may not become it.
        if not (select rolsuper from pg_roles where rolname = current_user) then execute 'grant ' || own || ' to current_user'; end if;
        execute 'grant usage on schema reporting to ' || own;
        execute 'grant select on all tables in schema reporting to ' || own;
      exception when insufficient_privilege then null;
      end $$`;
    await query(tx, statement, []);
  });
}

/** Throws {@link NoBiRole} for a role that may use a hidden schema, or whatever the role of DATABASE_URL may. */
async function refuseWhoSeesMore(tx: Transaction, name: string): Promise<void> {
  const [found] = await query(
    tx,
    sql<{ schemas: string | null }>`
      select string_agg(nspname, ', ' order by nspname) as schemas from pg_roles r cross join pg_namespace
      where rolname = ${name} and nspname = any(${hidden}) and has_schema_privilege(r.oid, nspname, 'usage')`,
  );
  if (!found?.schemas) return;
  throw new NoBiRole(
    `The role ${name} may look into the schemas ${found.schemas}. Take these rights from it, or name another role.`,
  );
}
