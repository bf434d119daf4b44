import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { inherited } from '../inherited.ts';
import { migratedDatabase } from '../world/database.ts';
import { seededWarehouse } from './warehouse.ts';

const folder = new URL('../../config/dbt/', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8');
const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

type DataTest = 'unique' | 'not_null' | Readonly<Record<string, DataTestOptions>>;
interface DataTestOptions {
  readonly values?: readonly string[];
  readonly to?: string;
  readonly field?: string;
  readonly config?: { readonly where?: string };
}

const key: readonly DataTest[] = ['unique', 'not_null'];
const pointsAt = (dimension: string, field: string): DataTest => ({
  relationships: { to: `source('trunkline', '${dimension}')`, field },
});

/** What dbt tests of the sources: the dimensions and small totals; the facts are tested by the staging models, day by day. */
const sourceTests: Readonly<Record<string, readonly DataTest[]>> = {
  'dim_user.user_key': key,
  'dim_queue.queue_key': key,
  'dim_queue.kind': [{ accepted_values: { values: ['queue', 'huntgroup'] } }],
  'dim_number.number_key': key,
  'dim_contact.contact_key': key,
  'dim_date.date_key': key,
  'agent_hourly.user_key': [pointsAt('dim_user', 'user_key')],
  'agent_hourly.direction': [{ accepted_values: { values: ['inbound', 'outbound', 'internal', 'unknown'] } }],
  'call_hourly.date_key': ['not_null', pointsAt('dim_date', 'date_key')],
  'call_hourly.number_key': ['not_null', pointsAt('dim_number', 'number_key')],
  'queue_daily.queue_key': ['not_null', pointsAt('dim_queue', 'queue_key')],
  'sms_daily.line_key': ['not_null', pointsAt('dim_number', 'number_key')],
};

/** The rollups are even with the facts every some seconds, whether anybody calls or not. */
const freshness = {
  loaded_at_field: 'counted_at',
  freshness: {
    filter: `check_name = 'reports'`,
    warn_after: { count: 1, period: 'hour' },
    error_after: { count: 1, period: 'day' },
  },
};

interface Described {
  readonly name: string;
  readonly description: string | null;
  readonly data_type: string;
}

/** The relations of the schema `reporting` as dbt names them, described by their comments. */
async function sources(): Promise<string> {
  const schema = String(await database.value(`select obj_description('reporting'::regnamespace)`));
  const relations = await database.query<Described & { readonly columns: readonly Described[] }>(
    `select c.relname as name, obj_description(c.oid) as description,
       (select json_agg(json_build_object('name', a.attname, 'description', col_description(c.oid, a.attnum),
          'data_type', format_type(a.atttypid, a.atttypmod)) order by a.attnum)
        from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
     from pg_class c where c.relnamespace = 'reporting'::regnamespace and c.relkind in ('r', 'v') order by c.relname`,
  );
  const described = ({ name, description }: Described) => ({ name, description: description ?? '' });
  const file = {
    version: 2,
    sources: [
      {
        name: 'trunkline',
        schema: 'reporting',
        description: schema,
        tables: relations.map((relation) => ({
          ...described(relation),
          ...(relation.name === 'data_quality' && freshness),
          columns: relation.columns.map((column) => {
            const tests = sourceTests[`${relation.name}.${column.name}`];
            return { ...described(column), data_type: column.data_type, ...(tests && { data_tests: tests }) };
          }),
        })),
      },
    ],
  };
  return `# Made from the comments of the schema reporting; \`node test/run.ts test/config/dbt.test.ts -u\` makes it again.\n${stringify(file, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

test('dbt’s sources are the schema reporting as its comments describe it', async () => {
  const text = await sources();
  expect(text).toContain('name: call_hourly');
  expect(text).not.toContain('description: ""');
  const tested = parse(text).sources[0].tables.flatMap(({ name, columns }: { name: string; columns: TestedColumn[] }) =>
    columns.filter((column) => column.data_tests).map((column) => `${name}.${column.name}`),
  );
  expect(tested.sort()).toEqual(Object.keys(sourceTests).sort());
  await expect(text).toMatchFileSnapshot('../../config/dbt/models/sources.yml');
});

interface TestedColumn {
  readonly name: string;
  readonly data_tests?: readonly DataTest[];
}
interface Model {
  readonly name: string;
  readonly text: string;
  readonly needs: readonly string[];
}
interface TestedTable {
  readonly name: string;
  readonly columns: readonly TestedColumn[];
}

const files = readdirSync(new URL('models/', folder), { recursive: true, encoding: 'utf8' }).sort();
const models: readonly Model[] = files.flatMap((file) => {
  if (!file.endsWith('.sql')) return [];
  const text = read(`models/${file}`);
  const needs = [...text.matchAll(/\{\{ ref\('(\w+)'\) \}\}/g)].map(([, name]) => name ?? '');
  return [{ name: path.basename(file, '.sql'), text, needs }];
});
const described: readonly TestedTable[] = files.flatMap((file) =>
  file.endsWith('.yml') ? (parse(read(`models/${file}`)).models ?? []) : [],
);

/** As dbt fills in what these models use of Jinja; anything else stays, and fails. */
function filled(text: string, schema: string): string {
  const vars: Record<string, unknown> = parse(read('dbt_project.yml')).vars;
  return text
    .replace(/^\{\{ config\([^)]*\) \}\}\n/, '')
    .replace(/(?:\{\{ )?source\('trunkline', '(\w+)'\)(?: \}\})?/g, 'reporting.$1')
    .replace(/\{\{ ref\('(\w+)'\) \}\}/g, `${schema}.$1`)
    .replace(/\{\{ var\('(\w+)'\) \}\}/g, (_, name: string) => String(vars[name]));
}

/** The rows that fail a test of dbt’s own, as dbt asks for them. */
function failuresOf(relation: string, column: string, given: DataTest, schema: string): string {
  const [kind, options = {}] = typeof given === 'string' ? [given] : (Object.entries(given)[0] ?? ['']);
  const where = options.config?.where ?? 'true';
  const rows = `(select * from ${relation} where ${filled(where, schema)}) x`;
  switch (kind) {
    case 'unique':
      return `select ${column} from ${rows} where ${column} is not null group by 1 having count(*) > 1`;
    case 'not_null':
      return `select from ${rows} where ${column} is null`;
    case 'accepted_values':
      return `select ${column} from ${rows} where ${column} not in (${options.values?.map((each) => `'${each}'`).join(', ')})`;
    case 'relationships':
      return `select x.${column} from ${rows} left join ${filled(options.to ?? '', schema)} t on t.${options.field} = x.${column}
        where x.${column} is not null and t.${options.field} is null`;
    default:
      throw new Error(`${kind} is no test that dbt brings with it`);
  }
}

const warehouse = await seededWarehouse();
afterAll(() => warehouse[Symbol.asyncDispose]());

describe('the package', () => {
  const schema = 'analytics';
  const { query } = warehouse.facts;

  beforeAll(async () => {
    await query(`create schema ${schema}`);
    const made = new Set<string>();
    while (made.size < models.length) {
      const next = models.find(({ name, needs }) => !made.has(name) && needs.every((each) => made.has(each)));
      if (!next) throw new Error('a model needs one that is not there, or itself');
      const text = filled(next.text, schema);
      expect(text, next.name).not.toMatch(/\{[{%]/);
      await query(`create view ${schema}.${next.name} as ${text}`);
      made.add(next.name);
    }
  });

  test.each(models)('$name is described, has the columns that are, and rows', async ({ name }) => {
    const description = described.find((each) => each.name === name);
    const [row] = await query<Record<string, unknown>>(`select * from ${schema}.${name} limit 1`);
    expect(Object.keys(row ?? {})).toEqual(
      expect.arrayContaining(description?.columns.map((each) => each.name) ?? ['described']),
    );
  });

  const tables: readonly (TestedTable & { readonly place: string })[] = [
    ...described.map((each) => ({ ...each, place: schema })),
    ...parse(read('models/sources.yml')).sources[0].tables.map((each: TestedTable) => ({
      ...each,
      place: 'reporting',
    })),
  ];
  const tests = tables.flatMap(({ name, place, columns }) =>
    columns.flatMap((column) =>
      (column.data_tests ?? []).map((given) => {
        const kind = typeof given === 'string' ? given : Object.keys(given)[0];
        return {
          about: `${name}.${column.name} ${kind}`,
          text: failuresOf(`${place}.${name}`, column.name, given, schema),
        };
      }),
    ),
  );
  test.each(tests)('no row fails $about', async ({ text }) => {
    expect(await query(text)).toEqual([]);
  });

  test('names nothing that is not there', () => {
    const names = new Set([...models.map(({ name }) => name)]);
    expect(described.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([]);
    const project = parse(read('dbt_project.yml'));
    expect(Object.keys(project.models[project.name]).sort()).toEqual(
      [...new Set(files.filter((file) => file.includes('/')).map((file) => path.dirname(file)))].sort(),
    );
    expect(parse(read('profiles.yml'))[project.profile].outputs.default.type).toBe('postgres');
  });
});

const dbt = process.env.DBT ?? 'dbt';
const hasDbt = spawnSync(dbt, ['--version']).status === 0;

// Where dbt is not installed, the tests above run each of its queries and tests as dbt would.
test.skipIf(!hasDbt)('dbt parses and builds it, and finds the sources fresh', { timeout: 300_000 }, async () => {
  const target = await mkdtemp(path.join(tmpdir(), 'dbt-'));
  const { hostname, port, username, password, pathname } = new URL(warehouse.facts.url);
  const run = (...words: string[]) =>
    spawnSync(dbt, [...words, '--target-path', target, '--log-path', target], {
      cwd: folder,
      encoding: 'utf8',
      env: {
        ...inherited,
        ...{ DBT_PROFILES_DIR: '.', PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password },
        ...{ PGDATABASE: pathname.slice(1), DBT_SCHEMA: 'built_by_dbt' },
      },
    });
  try {
    for (const words of [['parse'], ['build'], ['source', 'freshness']]) {
      const { status, stdout, stderr } = run(...words);
      expect(status, `${stdout}${stderr}`).toBe(0);
    }
  } finally {
    await rm(target, { recursive: true, force: true });
  }
});
