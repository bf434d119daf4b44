import { type Database, query, type Transaction } from '../warehouse/database.ts';

/** The role cannot be made, or would see too much; the message says how to cure it. */
export class NoBiRole extends Error {
  override readonly name = 'NoBiRole';
  readonly code = 'no_bi_role';
}

export interface BiRole {
  readonly name: string;
  /** It was created here, without a password: nobody can log in with it before one is set. */
  readonly isCreated: boolean;
}

/** Schemas that hold secrets, personal data or the daemon's own state. */
const hidden = ['warehouse', 'secrets', 'ops', 'bullmq'];

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
    await query(tx, `select pg_advisory_xact_lock(hashtext('reporting.bi_role'))`, []);
    const isCreated = await createUnlessHeld(tx, name);
    const [place] = await query<{ database: string }>(tx, 'select quote_ident(current_database()) as database', []);
    for (const statement of [
      `grant connect on database ${place?.database} to ${name}`,
      `grant usage on schema reporting to ${name}`,
      `grant select on all tables in schema reporting to ${name}`,
      // Views are dropped and made anew when their text changes.
      `alter default privileges in schema reporting grant select on tables to ${name}`,
    ]) {
      await query(tx, statement, []);
    }
    await refuseWhoSeesMore(tx, name);
    return { name, isCreated };
  });
}

async function createUnlessHeld(tx: Transaction, name: string): Promise<boolean> {
  const [held] = await query(tx, 'select from pg_roles where rolname = $1', [name]);
  if (held) return false;
  const [self] = await query<{ can_create: boolean; role: string }>(
    tx,
    'select rolsuper or rolcreaterole as can_create, rolname as role from pg_roles where rolname = current_user',
    [],
  );
  if (!self?.can_create) {
    throw new NoBiRole(
      `Postgres lets ${self?.role ?? 'this user'} create no roles: have an administrator run "create role ${name} login", then run this again.`,
    );
  }
  await query(tx, `create role ${name} login`, []);
  await query(tx, `alter role ${name} set default_transaction_read_only = on`, []);
  await query(tx, `alter role ${name} set search_path = reporting`, []);
  // Reports read small rollups: compiling their many expressions takes longer than running them.
  await query(tx, `alter role ${name} set jit = off`, []);
  return true;
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
