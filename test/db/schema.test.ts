import { afterAll, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const command = 'npm test -- test/db/schema.test.ts -u';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
  readonly identity: string;
  readonly generated: string;
  readonly default: string | null;
  readonly comment: string;
}

interface Table {
  readonly name: string;
  readonly comment: string;
  /** How it is partitioned, if it is. */
  readonly partitioned: string | null;
  readonly options: string[] | null;
  readonly columns: Column[];
  readonly constraints: string[];
  readonly indexes: string[];
  readonly triggers: string[];
}

const tables = await database.query<Table>(`
  select c.oid::regclass::text as name, obj_description(c.oid, 'pg_class') as comment, c.reloptions as options, pg_get_partkeydef(c.oid) as partitioned,
    (select jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'isNullable', not a.attnotnull,
        'identity', a.attidentity, 'generated', a.attgenerated, 'default', pg_get_expr(d.adbin, d.adrelid),
        'comment', col_description(c.oid, a.attnum)) order by a.attnum)
      from pg_attribute a left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
    array(select 'constraint ' || conname || ' ' || pg_get_constraintdef(k.oid) from pg_constraint k
      where conrelid = c.oid and contype in ('p', 'u', 'f', 'c') order by contype <> 'p', conname collate "C") as constraints,
    array(select pg_get_indexdef(i.indexrelid) from pg_index i join pg_class x on x.oid = i.indexrelid
      where i.indrelid = c.oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
      order by x.relname collate "C") as indexes,
    array(select pg_get_triggerdef(t.oid) from pg_trigger t where t.tgrelid = c.oid and not tgisinternal
      order by t.tgname collate "C") as triggers
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('ops', 'warehouse', 'secrets', 'rollups', 'reporting') and c.relkind in ('r', 'p') and not c.relispartition
  order by n.nspname collate "C", c.relname collate "C"`);

test('every table can be published: its rows have an identity, those of partitions and of the queues too', async () => {
  const unpublishable = await database.query(`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ops', 'warehouse', 'secrets', 'rollups', 'reporting', 'bullmq') and c.relkind in ('r', 'p')
      and c.relreplident <> 'f' and not exists (
        select from pg_index i where i.indrelid = c.oid
          and case c.relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident end)`);
  expect(unpublishable).toEqual([]);
});

const shortType = (type: string) =>
  type.replace(/timestamp with time zone/, 'timestamptz').replace(/ without time zone/, '');

function typeOf(column: Column): string {
  const types: Readonly<Record<string, string>> = {
    bigint: 'Numeric',
    numeric: 'Numeric',
    integer: 'number',
    smallint: 'number',
    'double precision': 'number',
    boolean: 'boolean',
    timestamptz: 'Timestamp',
    date: 'Timestamp',
    jsonb: 'Json',
    bytea: 'Buffer',
    interval: 'Interval',
    'text[]': 'string[]',
    'bigint[]': 'string[]',
    'integer[]': 'number[]',
  };
  const type = `${types[shortType(column.type)] ?? 'string'}${column.isNullable ? ' | null' : ''}`;
  if (column.identity === 'a' || column.generated !== '') return `Computed<${type}>`;
  return column.default === null ? type : `Defaulted<${type}>`;
}

test('src/db/schema.ts has the types of the tables', async () => {
  const members = tables.map(({ name, columns }) => {
    const lines = columns.map((column) => `    ${column.name}: ${typeOf(column)};`);
    return [`  '${name}': {`, ...lines, '  };'].join('\n');
  });
  const text = `// Generated from the migrated database by \`${command}\`.
import type { ColumnType } from 'kysely';

type Numeric = ColumnType<string, string | number, string | number>;
type Timestamp = ColumnType<Date, Date | string, Date | string>;
type Json = ColumnType<unknown, unknown, unknown>;
type Interval = ColumnType<unknown, string, string>;
/** May be left out of an insert. */
type Defaulted<T> = T extends ColumnType<infer S, infer I, infer U> ? ColumnType<S, I | undefined, U> : ColumnType<T, T | undefined, T>;
/** Filled in by Postgres alone. */
type Computed<T> = T extends ColumnType<infer S, unknown, unknown> ? ColumnType<S, never, never> : ColumnType<T, never, never>;

export interface Schema {
${members.join('\n')}
}
`;
  await expect(text).toMatchFileSnapshot('../../src/db/schema.ts');
});

test('migrations/schema.sql shows the tables', async () => {
  const sections = tables.map((table) => {
    const columns = table.columns.map((column) => {
      const filled = column.generated ? ` generated always as (${column.default?.replace(/\s+/g, ' ')}) stored` : '';
      const standard = column.default === null || column.generated ? filled : ` default ${column.default}`;
      const identity = column.identity === 'a' ? ' generated always as identity' : '';
      const definition = `${column.name} ${shortType(column.type)}${column.isNullable ? '' : ' not null'}${identity}${standard}`;
      return { definition, comment: column.comment };
    });
    const lines = [...columns, ...table.constraints.map((definition) => ({ definition, comment: undefined }))];
    return [
      `-- ${table.comment}`,
      `create table ${table.name} (`,
      ...lines.map(
        ({ definition, comment }, at) =>
          `  ${definition}${at < lines.length - 1 ? ',' : ''}${comment === undefined ? '' : ` -- ${comment}`}`,
      ),
      `)${table.partitioned ? ` partition by ${table.partitioned}` : ''}${table.options ? ` with (${table.options.join(', ')})` : ''};`,
      ...[...table.indexes, ...table.triggers].map((statement) => `${statement};`),
    ].join('\n');
  });
  const head = `-- All tables of the migrated database, for reading: generated by \`${command}\`.
-- Functions are in routines/, views in views/.`;
  await expect(`${[head, ...sections].join('\n\n')}\n`).toMatchFileSnapshot('../../migrations/schema.sql');
});
