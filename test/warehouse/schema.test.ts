import { readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { directory } from '../../src/warehouse/directory.ts';
import type { MirrorTable } from '../../src/warehouse/upsert.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();

const folder = new URL('../../src/warehouse/', import.meta.url);
const modules = await Promise.all(
  (await readdir(folder))
    .filter((file) => file.endsWith('.ts'))
    .map(async (file) => Object.values(await import(new URL(file, folder).href)) as unknown[]),
);
const tables = [...modules.flat(), ...Object.values(directory).map(({ table }) => table)].filter(isMirrorTable);

function isMirrorTable(value: unknown): value is MirrorTable {
  return typeof value === 'object' && value !== null && 'name' in value && 'columns' in value && 'key' in value;
}

const provenance = {
  ...{ content_hash: 'text', source: 'text', fetch_seq: 'bigint', deleted_reason: 'text' },
  ...{ fetched_at: 'timestamptz', first_seen_at: 'timestamptz', changed_at: 'timestamptz', deleted_at: 'timestamptz' },
};

async function columnsOf(table: string): Promise<Record<string, string>> {
  const rows = await database.query<{ name: string; type: string }>(
    `select a.attname as name, replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz') as type
     from pg_attribute a where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped`,
    table,
  );
  return Object.fromEntries(rows.map(({ name, type }) => [name, type]));
}

test('the mirror has its tables', () => {
  expect(tables.length).toBeGreaterThanOrEqual(7);
});

describe.each(tables.map((table) => [table.name, table] as const))('%s', (name, table) => {
  test('has the columns that its reads fill, with their types', async () => {
    expect(await columnsOf(name)).toMatchObject(table.columns);
  });

  test('says of every row where it comes from', async () => {
    expect(await columnsOf(name)).toMatchObject(provenance);
  });

  test('is keyed as its writer thinks', async () => {
    const rows = await database.query<{ columns: string[] }>(
      `select array(select a.attname::text from unnest(c.conkey) k join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k
         order by array_position(c.conkey, k)) as columns
       from pg_constraint c where c.conrelid = to_regclass($1) and c.contype = 'p'`,
      name,
    );
    expect(rows.map(({ columns }) => columns)).toEqual([table.key]);
  });
});

const open = `('warehouse', 'reporting')`;

test('every schema, table and view that readers may open has a comment', async () => {
  expect(
    await database.query(
      `select nspname as name from pg_namespace where nspname in ${open} and obj_description(oid, 'pg_namespace') is null
       union all
       select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname in ${open} and c.relkind in ('r', 'v', 'm', 'p')
         and obj_description(c.oid, 'pg_class') is null`,
    ),
  ).toEqual([]);
});

test('every column of them has a comment', async () => {
  expect(
    await database.query(
      `select c.oid::regclass || '.' || a.attname as name
       from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
       where n.nspname in ${open} and c.relkind in ('r', 'v', 'm', 'p')
         and a.attnum > 0 and not a.attisdropped and col_description(c.oid, a.attnum) is null`,
    ),
  ).toEqual([]);
});

test('names follow one convention', async () => {
  const endings: Record<string, RegExp> = {
    'timestamp with time zone': /(_at|_until|_after|^valid_(from|to)|_from|_to)$/,
    date: /_date$/,
    boolean: /^(is_|has_|needs_|reached_)/,
  };
  const rows = await database.query<{ name: string; column: string; type: string }>(
    `select table_name as name, column_name as column, data_type as type from information_schema.columns
     where table_schema in ('warehouse', 'ops', 'rollups', 'reporting')`,
  );
  expect(rows.filter(({ column, type }) => endings[type]?.test(column) === false)).toEqual([]);
});
