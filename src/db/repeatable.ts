import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { CompiledQuery } from 'kysely';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { withComments } from './comments.ts';
import { type Database, inTransaction, limitLockWait, query, sql, type Transaction } from './database.ts';
import { takeLock } from './locks.ts';

const routinesFolder = new URL('../../migrations/routines/', import.meta.url);
const viewsFolder = new URL('../../migrations/views/', import.meta.url);

/** A file that is applied again whenever its text changes. */
interface Repeatable {
  readonly name: string;
  readonly text: string;
  readonly textHash: string;
}

/** A view of the schema `reporting`. Its file contains only its statement and its comments. */
export interface View extends Repeatable {
  /** The views that the text of this view names. */
  readonly needs: readonly string[];
}

/** The sorted names of the SQL files in a folder, without `.sql`. */
export async function namesIn(folder: URL): Promise<string[]> {
  const files = await readdir(folder);
  return files.flatMap((file) => (file.endsWith('.sql') ? [file.slice(0, -'.sql'.length)] : [])).sort();
}

async function readRepeatables(folder: URL): Promise<Repeatable[]> {
  return Promise.all(
    (await namesIn(folder)).map(async (name) => {
      const text = await readFile(new URL(`${name}.sql`, folder), 'utf8');
      return { name, text, textHash: hash('sha256', text, 'base64url') };
    }),
  );
}

/**
 * Applies the function and trigger files with a changed text, and returns their names. A migration drops old functions.
 */
export async function applyRoutines(tx: Transaction): Promise<string[]> {
  const rows = await query(
    tx,
    sql<{ file_name: string; text_hash: string }>`select file_name, text_hash from ops.routines`,
  );
  const applied = new Map(rows.map((row) => [row.file_name, row.text_hash]));
  const changed = (await readRepeatables(routinesFolder)).filter((each) => applied.get(each.name) !== each.textHash);
  // Functions may call each other, and read views that are created later.
  await query(tx, sql`set local check_function_bodies = off`);
  for (const { name, text, textHash } of changed) {
    await tx.executeQuery(CompiledQuery.raw(withComments(text)));
    await query(
      tx,
      sql`
        insert into ops.routines (file_name, text_hash) values (${name}, ${textHash})
        on conflict (file_name) do update set text_hash = excluded.text_hash`,
    );
  }
  return changed.map(({ name }) => name);
}

/**
 * Creates or replaces missing and changed views, including the views that depend on them, and drops views that this
 * release doesn't have. All in one transaction; many processes may run it at once. Returns the created views and keeps
 * grants. Replaces a view in place if it only has new columns at its end, so objects of others can usually depend on
 * it. Drops it first if its columns changed in any other way. Throws `ViewsBlocked` if such an object depends on a view
 * that has to be dropped.
 */
export async function applyViews(db: Database, isAhead: () => Promise<boolean>): Promise<string[]> {
  const views = sortByDependencies(await readViews());
  return inTransaction(db, async (tx) => {
    // A newer release may have migrated meanwhile: it may not use this lock, or it ran while this process waited for
    // it.
    if (await isAhead()) return [];
    await takeLock(tx, 'views');
    if (await isAhead()) return [];
    const held = await heldViews(tx);
    const stale = staleViews(views, held);
    const known = new Set(views.map(({ name }) => name));
    const removed = [...held.keys()].filter((name) => !known.has(name));
    if (stale.length + removed.length === 0) return [];
    const grants = await grantsOn(tx, namesOf(stale));
    await limitLockWait(tx);
    const dropped = new Set(removed);
    for (let irreplaceable = await replaceViews(tx, stale, dropped); irreplaceable; ) {
      for (const name of withDependents(stale, irreplaceable)) dropped.add(name);
      irreplaceable = await replaceViews(tx, stale, dropped);
    }
    for (const grant of grants) await query(tx, sql.raw(grant));
    return namesOf(stale);
  });
}

const invalidDefinition = '42P16';
/** Error codes that callers act on: columns that can't be kept, a lock, a deadlock. */
const handledCodes = new Set<unknown>([invalidDefinition, '55P03', '40P01', '40001']);

/** Drops and creates views. Undoes everything and returns a view that isn't dropped, if its columns can't be kept. */
async function replaceViews(tx: Transaction, views: readonly View[], dropped: ReadonlySet<string>) {
  await query(tx, sql`savepoint views`);
  const names = [...dropped];
  await refuseForeignDependents(tx, names);
  // In one statement, so their order doesn't matter.
  const tables = names.map((name) => sql.table(`reporting.${name}`));
  if (names.length > 0) await query(tx, sql`drop view if exists ${sql.join(tables)}`);
  await query(tx, sql`delete from ops.views where view_name = any(${[...names, ...namesOf(views)]})`);
  for (const view of views) {
    try {
      await createView(tx, view);
    } catch (error) {
      if ((error as { code?: unknown }).code !== invalidDefinition || dropped.has(view.name)) throw error;
      await query(tx, sql`rollback to savepoint views`);
      return view.name;
    }
  }
  return undefined;
}

/** A view, and the ordered views that depend on it. */
function withDependents(ordered: readonly View[], name: string): Set<string> {
  const found = new Set([name]);
  for (const view of ordered) if (view.needs.some((other) => found.has(other))) found.add(view.name);
  return found;
}

/** Objects of others depend on views that have to be dropped. */
export class ViewsBlocked extends UserError {
  constructor(dependents: readonly string[]) {
    super(
      `Other objects depend on views of reporting whose columns this release changes (object, view): ${dependents.join('; ')}.`,
      { remedy: `Drop them, run ${toType('migrate')}, and create them again.` },
    );
  }
}

let viewsOfRelease: Promise<View[]> | undefined;

/** Reporting views that are missing or belong to another release. */
export async function outdatedViews(db: Database | Transaction): Promise<string[]> {
  viewsOfRelease ??= readViews().then(sortByDependencies);
  return namesOf(staleViews(await viewsOfRelease, await heldViews(db)));
}

async function refuseForeignDependents(tx: Transaction, names: readonly string[]): Promise<void> {
  const rows = await query(
    tx,
    sql<{
      theirs: string;
    }>`select distinct coalesce(n.nspname || '.' || v.relname, pg_describe_object(d.classid, d.objid, d.objsubid))
       || ', ' || ours.oid::regclass as theirs
     from pg_class ours
       join pg_depend d on d.deptype <> 'i' and (
         d.refclassid = 'pg_class'::regclass and d.refobjid = ours.oid or d.refclassid = 'pg_type'::regclass and d.refobjid = ours.reltype)
       left join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
       left join pg_class v on v.oid = r.ev_class
       left join pg_namespace n on n.oid = v.relnamespace
     where ours.oid in (select to_regclass('reporting.' || name) from unnest(${names}::text[]) name)
       and (n.nspname = 'reporting' and v.relname = any(${names})) is not true`,
  );
  if (rows.length === 0) return;
  throw new ViewsBlocked(rows.map(({ theirs }) => theirs));
}

/** Statements that restore grants on views to roles other than their owner. */
async function grantsOn(tx: Transaction, views: readonly string[]): Promise<string[]> {
  const rows = await query(
    tx,
    sql<{ statement: string }>`select format('grant %s on %s to %s%s', g.privilege_type, c.oid::regclass,
       case g.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end,
       case when g.is_grantable then ' with grant option' else '' end) as statement
     from pg_class c cross join lateral aclexplode(c.relacl) g
     where c.oid in (select to_regclass('reporting.' || name) from unnest(${views}::text[]) name) and g.grantee <> c.relowner`,
  );
  return rows.map(({ statement }) => statement);
}

async function createView(tx: Transaction, { name, text, textHash }: View): Promise<void> {
  try {
    await tx.executeQuery(CompiledQuery.raw(withComments(text).replace(/^create view /m, 'create or replace view ')));
  } catch (error) {
    if (handledCodes.has((error as { code?: unknown }).code)) throw error;
    throw new Error(`The view reporting.${name} could not be created: ${(error as Error).message}`, { cause: error });
  }
  await query(tx, sql`insert into ops.views (view_name, text_hash) values (${name}, ${textHash})`);
}

function namesOf(views: readonly Repeatable[]): string[] {
  return views.map(({ name }) => name);
}

/** Sorts views so that each follows the ones it depends on. Throws if two depend on each other. */
export function sortByDependencies(views: readonly View[]): View[] {
  const ordered: View[] = [];
  const left = [...views].sort((a, b) => (a.name < b.name ? -1 : 1));
  while (left.length > 0) {
    const at = left.findIndex(({ needs }) => needs.every((name) => !left.some((other) => other.name === name)));
    const [next] = at < 0 ? [] : left.splice(at, 1);
    if (!next) throw new Error(`These views depend on each other: ${left.map(({ name }) => name).join(', ')}`);
    ordered.push(next);
  }
  return ordered;
}

/** The ordered views to create: those whose text differs from the stored one, and those that depend on them. */
export function staleViews(ordered: readonly View[], held: ReadonlyMap<string, string>): View[] {
  const stale = new Set<string>();
  for (const { name, textHash, needs } of ordered) {
    if (held.get(name) !== textHash || needs.some((other) => stale.has(other))) stale.add(name);
  }
  return ordered.filter(({ name }) => stale.has(name));
}

/** Text hashes of the existing views. Empty if somebody dropped one by hand. */
async function heldViews(tx: Database | Transaction): Promise<Map<string, string>> {
  const rows = await query(
    tx,
    sql<{
      view_name: string;
      text_hash: string;
    }>`select view_name, case when to_regclass('reporting.' || view_name) is null then '' else text_hash end as text_hash
     from ops.views`,
  );
  return new Map(rows.map((row) => [row.view_name, row.text_hash]));
}

async function readViews(): Promise<View[]> {
  const views = await readRepeatables(viewsFolder);
  const names = namesOf(views);
  return views.map((view) => ({
    ...view,
    needs: names.filter((other) => other !== view.name && new RegExp(`\\breporting\\.${other}\\b`).test(view.text)),
  }));
}
