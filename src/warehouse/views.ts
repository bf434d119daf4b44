import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { CompiledQuery } from 'kysely';
import { type Database, inTransaction, query, type Transaction, waitBriefly } from './database.ts';

const folder = new URL('../../migrations/views/', import.meta.url);

/** A view of the schema `reporting`: a file of its name holds its statement, its comments and nothing else. */
export interface View {
  readonly name: string;
  readonly text: string;
  readonly textHash: string;
  /** Views that its text names. */
  readonly needs: readonly string[];
}

/**
 * Makes the views of this release that are missing or whose text differs from the one they were made from, with those that
 * stand on them, and drops those that it no longer has: all in one transaction. Returns what was made. Safe to run from
 * many processes at once. A view of somebody else's that stands on one of them fails it, and says so.
 */
export async function applyViews(db: Database, isAhead: () => Promise<boolean>): Promise<string[]> {
  const views = inOrder(await readViews());
  return inTransaction(db, async (tx) => {
    await query(tx, `select pg_advisory_xact_lock(hashtext('ops.views'))`, []);
    // A newer release may have migrated while this one waited.
    if (await isAhead()) return [];
    const held = await heldViews(tx);
    const stale = staleViews(views, held);
    const known = new Set(views.map(({ name }) => name));
    const dropped = [...stale.map(({ name }) => name), ...[...held.keys()].filter((name) => !known.has(name))];
    if (dropped.length === 0) return [];
    await refuseWhatStandsOn(tx, dropped);
    await waitBriefly(tx);
    // One statement, so that the order among them does not matter.
    await query(tx, `drop view if exists ${dropped.map((name) => `reporting.${name}`).join(', ')}`, []);
    await query(tx, 'delete from ops.views where view_name = any($1)', [dropped]);
    for (const view of stale) await make(tx, view);
    return stale.map(({ name }) => name);
  });
}

async function refuseWhatStandsOn(tx: Transaction, names: readonly string[]): Promise<void> {
  const rows = await query<{ theirs: string }>(
    tx,
    `select distinct n.nspname || '.' || v.relname || ', ' || d.refobjid::regclass as theirs
     from pg_depend d
       join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
       join pg_class v on v.oid = r.ev_class
       join pg_namespace n on n.oid = v.relnamespace
     where d.refobjid in (select to_regclass('reporting.' || name) from unnest($1::text[]) name)
       and not (n.nspname = 'reporting' and v.relname = any($1))`,
    [names],
  );
  if (rows.length === 0) return;
  throw new Error(
    `Views that are no part of this release stand on some that it changes (theirs, ours): ${rows.map(({ theirs }) => theirs).join('; ')}. Drop them, migrate, and make them again.`,
  );
}

async function make(tx: Transaction, { name, text, textHash }: View): Promise<void> {
  try {
    await tx.executeQuery(CompiledQuery.raw(text));
  } catch (error) {
    throw new Error(`The view reporting.${name} could not be made: ${(error as Error).message}`, { cause: error });
  }
  await query(tx, 'insert into ops.views (view_name, text_hash) values ($1, $2)', [name, textHash]);
}

async function readViews(): Promise<View[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'));
  const names = files.map((file) => file.slice(0, -'.sql'.length));
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')));
  return names.map((name, at) => {
    const text = texts[at] ?? '';
    const needs = names.filter((other) => other !== name && new RegExp(`\\breporting\\.${other}\\b`).test(text));
    return { name, text, textHash: hash('sha256', text, 'base64url'), needs };
  });
}

/** Every view after those that it stands on. Throws when two stand on each other. */
export function inOrder(views: readonly View[]): View[] {
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
