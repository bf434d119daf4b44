import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { CompiledQuery } from 'kysely';
import { type Database, inTransaction, limitLockWait, query, sql, type Transaction } from './database.ts';

const routinesFolder = new URL('../../migrations/routines/', import.meta.url);
const viewsFolder = new URL('../../migrations/views/', import.meta.url);

/** A file that is applied again whenever its text changes. */
interface Repeatable {
  readonly name: string;
  readonly text: string;
  readonly textHash: string;
}

/** A view of the schema `reporting`: a file of its name holds its statement, its comments and nothing else. */
export interface View extends Repeatable {
  /** Views that its text names. */
  readonly needs: readonly string[];
}

/** The names of the SQL files of a folder, without `.sql`, in order. */
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
 * Applies the files of functions and triggers whose text changed and returns their names. A function that a release no
 * longer has is dropped by a migration.
 */
export async function applyRoutines(tx: Transaction): Promise<string[]> {
  const rows = await query(
    tx,
    sql<{ file_name: string; text_hash: string }>`select file_name, text_hash from ops.routines`,
  );
  const applied = new Map(rows.map((row) => [row.file_name, row.text_hash]));
  const changed = (await readRepeatables(routinesFolder)).filter((each) => applied.get(each.name) !== each.textHash);
  // Functions call each other and read views, which are created later.
  await query(tx, sql`set local check_function_bodies = off`);
  for (const { name, text, textHash } of changed) {
    await tx.executeQuery(CompiledQuery.raw(text));
    await query(
      tx,
      sql`
        insert into ops.routines (file_name, text_hash) values (${name}, ${textHash})
        on conflict (file_name) do update set text_hash = excluded.text_hash, applied_at = now()`,
    );
  }
  return changed.map(({ name }) => name);
}

/**
 * Makes the views of this release that are missing or whose text differs from the one they were made from, with those that
 * stand on them, and drops those that it no longer has: all in one transaction. Returns what was made. Safe to run from
 * many processes at once. What was granted on them stays; what of somebody else's stands on one of them fails it, and is named.
 */
export async function applyViews(db: Database, isAhead: () => Promise<boolean>): Promise<string[]> {
  const views = sortByDependencies(await readViews());
  return inTransaction(db, async (tx) => {
    await query(tx, `select pg_advisory_xact_lock(hashtext('ops.views'))`, []);
    // A newer release may have migrated while this one waited.
    if (await isAhead()) return [];
    const held = await heldViews(tx);
    const stale = staleViews(views, held);
    const known = new Set(views.map(({ name }) => name));
    const dropped = [...namesOf(stale), ...[...held.keys()].filter((name) => !known.has(name))];
    if (dropped.length === 0) return [];
    await refuseForeignDependents(tx, dropped);
    const grants = await grantsOn(tx, namesOf(stale));
    await limitLockWait(tx);
    // One statement, so that the order among them does not matter.
    await query(tx, `drop view if exists ${dropped.map((name) => `reporting.${name}`).join(', ')}`, []);
    await query(tx, 'delete from ops.views where view_name = any($1)', [dropped]);
    for (const view of stale) await createView(tx, view);
    for (const grant of grants) await query(tx, grant, []);
    return namesOf(stale);
  });
}

async function refuseForeignDependents(tx: Transaction, names: readonly string[]): Promise<void> {
  const rows = await query<{ theirs: string }>(
    tx,
    `select distinct coalesce(n.nspname || '.' || v.relname, pg_describe_object(d.classid, d.objid, d.objsubid))
       || ', ' || ours.oid::regclass as theirs
     from pg_class ours
       join pg_depend d on d.deptype <> 'i' and (
         d.refclassid = 'pg_class'::regclass and d.refobjid = ours.oid or d.refclassid = 'pg_type'::regclass and d.refobjid = ours.reltype)
       left join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
       left join pg_class v on v.oid = r.ev_class
       left join pg_namespace n on n.oid = v.relnamespace
     where ours.oid in (select to_regclass('reporting.' || name) from unnest($1::text[]) name)
       and (n.nspname = 'reporting' and v.relname = any($1)) is not true`,
    [names],
  );
  if (rows.length === 0) return;
  throw new Error(
    `What is no part of this release stands on views that it changes (theirs, ours): ${rows.map(({ theirs }) => theirs).join('; ')}. Drop it, migrate, and make it again.`,
  );
}

/** What was granted on views to others than their owner, as the statements that grant it again. */
async function grantsOn(tx: Transaction, views: readonly string[]): Promise<string[]> {
  const rows = await query<{ statement: string }>(
    tx,
    `select format('grant %s on %s to %s%s', g.privilege_type, c.oid::regclass,
       case g.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end,
       case when g.is_grantable then ' with grant option' else '' end) as statement
     from pg_class c cross join lateral aclexplode(c.relacl) g
     where c.oid in (select to_regclass('reporting.' || name) from unnest($1::text[]) name) and g.grantee <> c.relowner`,
    [views],
  );
  return rows.map(({ statement }) => statement);
}

async function createView(tx: Transaction, { name, text, textHash }: View): Promise<void> {
  try {
    await tx.executeQuery(CompiledQuery.raw(text));
  } catch (error) {
    throw new Error(`The view reporting.${name} could not be made: ${(error as Error).message}`, { cause: error });
  }
  await query(tx, 'insert into ops.views (view_name, text_hash) values ($1, $2)', [name, textHash]);
}

function namesOf(views: readonly Repeatable[]): string[] {
  return views.map(({ name }) => name);
}

/** Every view after those that it stands on. Throws when two stand on each other. */
export function sortByDependencies(views: readonly View[]): View[] {
  const ordered: View[] = [];
  const left = [...views].sort((a, b) => (a.name < b.name ? -1 : 1));
  while (left.length > 0) {
    const at = left.findIndex(({ needs }) => needs.every((name) => !left.some((other) => other.name === name)));
    const [next] = at < 0 ? [] : left.splice(at, 1);
    if (!next) throw new Error(`These views stand on each other: ${left.map(({ name }) => name).join(', ')}`);
    ordered.push(next);
  }
  return ordered;
}

/** Which of the ordered views are to be made: those that differ from what is held, and what stands on them. */
export function staleViews(ordered: readonly View[], held: ReadonlyMap<string, string>): View[] {
  const stale = new Set<string>();
  for (const { name, textHash, needs } of ordered) {
    if (held.get(name) !== textHash || needs.some((other) => stale.has(other))) stale.add(name);
  }
  return ordered.filter(({ name }) => stale.has(name));
}

/** The hashes of the views that stand; one that somebody dropped by hand does not. */
async function heldViews(tx: Transaction): Promise<Map<string, string>> {
  const rows = await query<{ view_name: string; text_hash: string }>(
    tx,
    `select view_name, case when to_regclass('reporting.' || view_name) is null then '' else text_hash end as text_hash
     from ops.views`,
    [],
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
