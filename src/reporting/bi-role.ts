import { type Database, query, type Transaction } from '../db/database.ts';
import { takeLock } from '../db/locks.ts';
import { UserError } from '../shared/errors.ts';

/** The role cannot be made, or would see too much; the message says how to remedy it. */
export class NoBiRole extends UserError {
  readonly code = 'no_bi_role';
}

export interface BiRole {
  readonly name: string;
  /** It was created here, without a password: nobody can log in with it before one is set. */
  readonly isCreated: boolean;
  /** Statements that Postgres did not allow us: what they limit is not limited. */
  readonly forAdministrator?: readonly string[];
  /** Others use the database, so everybody keeps the right to make temporary tables, this role too. */
  readonly isDatabaseShared?: boolean;
}

/** Schemas that hold secrets, personal data or the daemon's own state. */
const hidden = ['warehouse', 'rollups', 'secrets', 'ops', 'bullmq'];

/**
 * What a report may use, in this database alone. The role can change each of these for its session: its grants are what
 * keeps it from writing. Whoever wants other values sets them with ALTER ROLE; they are kept.
 */
const settings: Readonly<Record<string, string>> = {
  statement_timeout: '1min',
  idle_in_transaction_session_timeout: '1min',
  default_transaction_read_only: 'on',
  search_path: 'reporting',
  // Reports read small rollups: compiling their many expressions takes longer than running them.
  jit: 'off',
};
const connectionLimit = 10;

/** Why a name cannot be that of a role, in a sentence that says what could; undefined when it can. */
export function faultOfRoleName(name: string): string | undefined {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(name) && !name.startsWith('pg_')) return undefined;
  return `"${name}" is no name for a role: take lower-case letters, digits and _, a letter first, and no pg_ before them.`;
}

/**
 * Lets a role read the schema `reporting`, what later releases add to it included, and nothing else of ours; creates it
 * when there is none of that name. Safe to repeat. Throws {@link NoBiRole} for a role that could read more, and leaves it as
 * it is.
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
      // Views are dropped and made again when their text changes.
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
      // Not for the list: `doctor` tells of what no superuser may be there to close.
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
 * Selects the functions by which everybody may store what they like (large objects, messages in the write-ahead log), or hold what others wait for (advisory
 * locks, which BullMQ's backend takes): Postgres lets every role run them.
 */
export const selectOpenFunctions = `
  select p.oid::regprocedure::text as name from pg_catalog.pg_proc p
  where p.pronamespace = 'pg_catalog'::regnamespace and has_function_privilege('public', p.oid, 'execute')
    and p.proname ~ '^(lo_creat|lo_create|lo_from_bytea|lo_put|lo_truncate|lo_truncate64|lowrite|pg_logical_emit_message|pg_(try_)?advisory_(xact_)?lock(_shared)?)$'
  order by 1`;

/** The statements that close them for everybody but some roles. Postgres lets a superuser alone run them. */
export function closingStatements(functions: readonly { readonly name: string }[], roles: readonly string[]): string[] {
  if (functions.length === 0) return [];
  const names = functions.map(({ name }) => name).join(', ');
  return [
    `grant execute on function ${names} to ${roles.join(', ')}`,
    `revoke execute on function ${names} from public`,
  ];
}

/** What a superuser should run, since a role for reports may write or hold something; undefined when none may. */
export async function statementsForSuperuser(db: Database): Promise<readonly string[] | undefined> {
  const [roles] = await query<{ readers: string[] }>(
    db,
    `select array(select rolname from pg_roles r
       where r.rolcanlogin and not r.rolsuper and has_schema_privilege(r.oid, to_regnamespace('reporting'), 'usage')
         and not has_schema_privilege(r.oid, to_regnamespace('ops'), 'usage')) as readers`,
    [],
  );
  if (!roles || roles.readers.length === 0) return undefined;
  const open = await query<{ name: string }>(db, selectOpenFunctions, []);
  const daemons = await daemonRoles(db);
  return open.length === 0 ? undefined : closingStatements(open, daemons);
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

async function createUnlessHeld(tx: Transaction, name: string): Promise<boolean> {
  const [held] = await query(tx, 'select from pg_roles where rolname = $1', [name]);
  if (held) return false;
  if (await isAllowed(tx, `create role ${name} login`)) {
    // Whoever runs a release may then end sessions of the role that hold it up.
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

/** The statements that limit a role where nobody has set other limits. */
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

/** Whether anything stands in the database that is neither ours nor of an extension. */
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
 * The statements that take from everybody what Postgres grants to everybody: temporary tables, which fill the disk, and until
 * Postgres 15 tables in `public`. Who may use our schemas runs the daemon, which makes temporary tables, and keeps the right.
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

/** Runs a statement, unless Postgres lets an administrator alone do it. */
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
