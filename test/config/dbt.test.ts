import { afterAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

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
          columns: relation.columns.map((column) => ({ ...described(column), data_type: column.data_type })),
        })),
      },
    ],
  };
  return `# Made from the comments of the schema reporting; \`node test/run.ts test/config/dbt.test.ts -u\` makes it again.\n${stringify(file, { lineWidth: 0 })}`;
}

test('dbt’s sources are the schema reporting as its comments describe it', async () => {
  const text = await sources();
  expect(text).toContain('name: call_daily');
  expect(text).not.toContain('description: ""');
  await expect(text).toMatchFileSnapshot('../../config/dbt/sources.yml');
});
