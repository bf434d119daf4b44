import { afterAll, expect, test } from 'vitest';
import { publishedTables } from '../../src/reporting/cdc-role.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

test('every table can be published: its rows have an identity, those of partitions and of the queues too', async () => {
  const unpublishable = await database.query(`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ops', 'warehouse', 'secrets', 'rollups', 'reporting', 'bullmq') and c.relkind in ('r', 'p')
      and c.relreplident <> 'f' and not exists (
        select from pg_index i where i.indrelid = c.oid
          and case c.relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident end)`);
  expect(unpublishable).toEqual([]);
});

// What a new column says leaves the database unless it is withheld: look at what changes here.
test('published.txt lists what change data capture publishes, and what only with --show-text', async () => {
  const [plain, withText] = await Promise.all([false, true].map((shown) => publishedTables(database.db, shown)));
  const lines = Object.entries(withText ?? {}).map(([table, columns]) => {
    const words = columns.filter((column) => !plain?.[table]?.includes(column));
    const others = columns.filter((column) => !words.includes(column));
    return `${table}: ${others.join(', ')}${words.length > 0 ? `\n  with --show-text: ${words.join(', ')}` : ''}`;
  });
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('../../migrations/published.txt');
});
