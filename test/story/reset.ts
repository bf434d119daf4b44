import type { TestDatabase } from '../world/database.ts';

/** What the running process relies on. */
const stays = ['ops.processes', 'ops.migrations', 'ops.routines', 'ops.views', 'ops.locks', 'ops.incarnation'];

interface Table {
  readonly oid: string;
  readonly name: string;
  readonly columns: string;
  readonly parents: readonly string[] | null;
}

/** Keeps the present rows. `restore` deletes all others, those that refer to others first, and puts the kept ones back. */
export async function keepRows({ query }: Pick<TestDatabase, 'query'>): Promise<{ restore(): Promise<void> }> {
  const tables = await query<Table>(
    `select c.oid::text, c.oid::regclass::text as name,
       (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
       (select array_agg(distinct k.confrelid::text) from pg_constraint k
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as parents
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('ops', 'warehouse', 'rollups', 'reporting', 'secrets') and c.relkind = 'r'
       and c.oid::regclass::text <> all($1) order by 2`,
    stays,
  );
  const left = new Map(tables.map((table) => [table.oid, table]));
  await query('create schema test_rows');
  await query('create table test_rows.tables (ordinal int, oid oid, name text, columns text, is_kept boolean)');
  for (let ordinal = 0; left.size > 0; ordinal += 1) {
    const table = [...left.values()].find(({ parents }) => !parents?.some((oid) => left.has(oid)));
    if (!table) throw new Error('tables refer to each other');
    left.delete(table.oid);
    const { oid, name, columns } = table;
    const row = 'insert into test_rows.tables select $1::int, $2::oid, $3, $4, exists';
    await query(`${row} (select from ${name})`, ordinal, oid, name, columns);
  }
  // A table that never had a row has no page.
  await query(`
    do $$ declare t record; begin
      for t in select * from test_rows.tables where is_kept loop
        execute format('create table test_rows.t%s as select %s from %s', t.oid, t.columns, t.name);
      end loop; end $$;
    create function test_rows.restore() returns void language plpgsql as $$ declare t record; begin
      for t in select * from test_rows.tables where pg_relation_size(oid) > 0 order by ordinal desc loop
        execute format('delete from %s', t.name);
      end loop;
      for t in select * from test_rows.tables where is_kept order by ordinal loop
        execute format('insert into %s (%s) overriding system value select %2$s from test_rows.t%s', t.name, t.columns, t.oid);
      end loop;
      -- Scans for due targets begin at the oldest that was pending: none may become due before it.
      update ops.sync_targets set due_at = now() + interval '1 minute', enqueued_at = '-infinity';
    end $$`);
  return { restore: async () => void (await query('select test_rows.restore()')) };
}
