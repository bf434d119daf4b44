import { type Database, query, type Transaction } from '../db/database.ts';
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
  /** Statements that Postgres didn't let us run. What they would limit stays unlimited. */
  readonly forAdministrator?: readonly string[];
  /** Others use the database, so everybody, including this role, keeps the right to create temporary tables. */
  readonly isDatabaseShared?: boolean;
}

/** Schemas with secrets, personal data or the daemon's own state. */
const hidden = ['warehouse', 'rollups', 'secrets', 'ops', 'bullmq'];

/**
 * Limits for a reporting role, in this database only. The role can change each of these for its session; only its
 * grants keep it from writing. If somebody has set other values with ALTER ROLE, they are kept.
 */
const settings: Readonly<Record<string, string>> = {
  statement_timeout: '1min',
  idle_in_transaction_session_timeout: '1min',
  default_transaction_read_only: 'on',
  search_path: 'reporting',
  // Reports read small rollups: JIT-compiling their many expressions takes longer than running them.
  jit: 'off',
};
const connectionLimit = 10;

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
  return db.transaction().execute(async (tx) => {
    await takeLock(tx, 'bi_role');
    const isCreated = await createUnlessHeld(tx, name);
    const [place] = await query<{ name: string }>(tx, 'select quote_ident(current_database()) as name', []);
    const database = place?.name ?? '';
    for (const statement of [
      `grant connect on database ${database} to ${name}`,
      `grant usage on schema reporting to ${name}`,
      `grant select on all tables in schema reporting to ${name}`,
      // Views are dropped and recreated when their text changes.
      `alter default privileges in schema reporting grant select on tables to ${name}`,
    ]) {
      await query(tx, statement, []);
    }
    await refuseWhoSeesMore(tx, name);
    const isDatabaseShared = await hasOthersRelations(tx);
    const statements = [
      ...(await limitsOf(tx, name, database)),
      ...(isDatabaseShared ? [] : await revokesOfPublic(tx, name, database)),
    ];
    if (!isDatabaseShared) {
      // Not listed as refused: `doctor` reports what only a superuser, who may not exist, could close.
      const open = await query<{ name: string }>(tx, selectOpenFunctions, []);
      for (const statement of closingStatements(open, await daemonRoles(tx))) await isAllowed(tx, statement);
    }
    const forAdministrator: string[] = [];
    for (const statement of statements) if (!(await isAllowed(tx, statement))) forAdministrator.push(statement);
    return {
      ...{ name, isCreated },
      ...(forAdministrator.length > 0 && { forAdministrator }),
      ...(isDatabaseShared && { isDatabaseShared }),
    };
  });
}

/**
 * Selects the role as which `/reports` reads. It can't log in, and is named after our own role, since all databases of a
 * server share their roles.
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

/**
 * Selects the functions with which anybody may store arbitrary data (large objects, messages in the write-ahead log),
 * or hold locks that others wait for (advisory locks, which BullMQ's backend takes). By default, Postgres lets every
 * role run them.
 */
export const selectOpenFunctions = `
  select p.oid::regprocedure::text as name from pg_catalog.pg_proc p
  where p.pronamespace = 'pg_catalog'::regnamespace and has_function_privilege('public', p.oid, 'execute')
    and p.proname ~ '^(lo_creat|lo_create|lo_from_bytea|lo_put|lo_truncate|lo_truncate64|lowrite|pg_logical_emit_message|pg_(try_)?advisory_(xact_)?lock(_shared)?)$'
  order by 1`;

/** Statements that revoke these functions from everybody except some roles. Only a superuser can run them. */
export function closingStatements(functions: readonly { readonly name: string }[], roles: readonly string[]): string[] {
  if (functions.length === 0) return [];
  const names = functions.map(({ name }) => name).join(', ');
  return [
    `grant execute on function ${names} to ${roles.join(', ')}`,
    `revoke execute on function ${names} from public`,
  ];
}

/** The roles that may use our schemas, quoted: they run the daemon. */
async function daemonRoles(db: Database | Transaction): Promise<string[]> {
  const rows = await query<{ name: string }>(
    db,
    `select quote_ident(rolname) as name from pg_roles
     where rolcanlogin and has_schema_privilege(oid, to_regnamespace('warehouse'), 'usage') order by 1`,
    [],
  );
  return rows.map(({ name }) => name);
}

/** Creates a role that may log in, unless it exists, and says whether it did. */
async function createUnlessHeld(tx: Transaction, name: string): Promise<boolean> {
  const [held] = await query(tx, 'select from pg_roles where rolname = $1', [name]);
  if (held) return false;
  if (await isAllowed(tx, `create role ${name} login`)) {
    // Allows whoever runs a release to end sessions of this role that block it.
    const [own] = await query<{ super: boolean }>(
      tx,
      'select rolsuper as super from pg_roles where rolname = current_user',
      [],
    );
    if (own?.super === false) await isAllowed(tx, `grant ${name} to current_user`);
    return true;
  }
  throw new NoBiRole(
    `Postgres lets the role of DATABASE_URL create no roles: have an administrator run "create role ${name} login", then run this again.`,
  );
}

/** Statements that limit a role, unless somebody has set other limits. */
async function limitsOf(tx: Transaction, name: string, database: string): Promise<string[]> {
  const [role] = await query<{ limit: number; given: string[] }>(
    tx,
    `select rolconnlimit as limit, array(
       select split_part(setting, '=', 1) from pg_db_role_setting s cross join lateral unnest(s.setconfig) setting
       where s.setrole = r.oid and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))) as given
     from pg_roles r where rolname = $1`,
    [name],
  );
  const missing = Object.entries(settings).filter(([setting]) => !role?.given.includes(setting));
  return [
    ...missing.map(([setting, value]) => `alter role ${name} in database ${database} set ${setting} = '${value}'`),
    ...(role?.limit === -1 ? [`alter role ${name} connection limit ${connectionLimit}`] : []),
  ];
}

/** Whether the database contains anything that belongs neither to us nor to an extension. */
async function hasOthersRelations(tx: Transaction): Promise<boolean> {
  const rows = await query(
    tx,
    `select from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname <> all($1) and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
       and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
     limit 1`,
    [[...hidden, 'reporting']],
  );
  return rows.length > 0;
}

/**
 * Statements that revoke what Postgres grants to everybody: temporary tables, which can fill the disk, and, before
 * Postgres 15, tables in `public`. Roles that may use our schemas keep the right, because the daemon creates temporary
 * tables.
 */
async function revokesOfPublic(tx: Transaction, name: string, database: string): Promise<string[]> {
  const [right] = await query<{ temporary: boolean; create: boolean }>(
    tx,
    `select has_database_privilege($1, current_database(), 'temporary') as temporary,
       coalesce(has_schema_privilege($1, to_regnamespace('public'), 'create'), false) as create`,
    [name],
  );
  const revokes: string[] = [];
  if (right?.temporary) {
    revokes.push(`grant temporary on database ${database} to ${(await daemonRoles(tx)).join(', ')}`);
    revokes.push(`revoke temporary on database ${database} from public, ${name}`);
  }
  if (right?.create) revokes.push(`revoke create on schema public from public, ${name}`);
  return revokes;
}

/** Runs a statement. Does nothing if only an administrator may run it. */
async function isAllowed(tx: Transaction, statement: string): Promise<boolean> {
  await query(tx, 'savepoint limits', []);
  try {
    await query(tx, statement, []);
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === '42501')) throw error;
    await query(tx, 'rollback to savepoint limits', []);
    return false;
  }
}

/** Throws {@link NoBiRole} for a role that may use a hidden schema, or whatever the role of DATABASE_URL may. */
async function refuseWhoSeesMore(tx: Transaction, name: string): Promise<void> {
  const rows = await query<{ what: string }>(
    tx,
    `select 'is a superuser' as what from pg_roles where rolname = $1 and rolsuper
     union all
     select 'may do what ' || current_user || ' may' from pg_roles where rolname = $1 and pg_has_role($1, current_user, 'member')
     union all
     select 'may look into the schema ' || nspname from pg_namespace
     where nspname = any($2) and has_schema_privilege($1, nspname, 'usage')`,
    [name, hidden],
  );
  if (rows.length > 0) {
    throw new NoBiRole(
      `The role ${name} ${rows.map(({ what }) => what).join(', ')}. Take these rights from it, or name another role.`,
    );
  }
}
