import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { until } from '../world.ts';

/** The statement of docs/scale.md that begins with these words. */
export async function documented(words: string): Promise<string> {
  const page = await readFile(new URL('../../docs/scale.md', import.meta.url), 'utf8');
  const found = new RegExp(`^${words}[^;]*;`, 'm').exec(page);
  if (!found) throw new Error(`docs/scale.md has no statement "${words} …"`);
  return found[0];
}

/** Runs statements as whoever a connection string names. */
export async function run(url: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}

/**
 * Has a migrated database replicate the publication of another one, by the statements of docs/scale.md. Resolves when the
 * first copy of each table is complete.
 */
export async function subscribe(copyUrl: string, publisherUrl: string, options = ''): Promise<void> {
  const connection = `connection '${publisherUrl}'`;
  const created = (await documented('create subscription')).replace(/connection '[^']*'/, connection);
  await run(copyUrl, await documented('truncate'), created.replace(/;$/, `${options};`));
  await until(async () => {
    const waiting = await run(copyUrl, `select from pg_subscription_rel where srsubstate <> 'r'`);
    return waiting.length === 0;
  });
}

/** Resolves when a copy has everything that is committed at the publisher now. */
export async function caughtUp(publisherUrl: string): Promise<void> {
  const [now] = await run(publisherUrl, 'select pg_current_wal_flush_lsn()::text as lsn');
  await until(async () => {
    const [slot] = await run(
      publisherUrl,
      `select confirmed_flush_lsn >= '${now?.lsn}' as done from pg_replication_slots where slot_name = 'trunkline'`,
    );
    return slot?.done === true;
  });
}

/** Rows of a query that only one of two databases returns, at most three of each. */
async function onlyIn(urls: { publisher: string; copy: string }, query: string) {
  const ask = async (url: string) => (await run(url, query)).map((row) => String(Object.values(row)[0])).sort();
  const [published, copied] = await Promise.all([ask(urls.publisher), ask(urls.copy)]);
  if (published.join('\n') === copied.join('\n')) return undefined;
  const lacking = (rows: string[], others: string[]) => rows.filter((row) => !others.includes(row)).slice(0, 3);
  return { publisher: lacking(published, copied), copy: lacking(copied, published) };
}

/** What is published: the names of the tables, and their columns in SQL. */
async function publishedTables(publisherUrl: string): Promise<{ name: string; columns: string }[]> {
  const tables = await run(
    publisherUrl,
    `select schemaname || '.' || tablename as name, array_to_string(attnames, ', ') as columns
     from pg_publication_tables where pubname = 'trunkline' order by 1`,
  );
  if (tables.length < 40) throw new Error(`only ${tables.length} tables are published`);
  return tables.map(({ name, columns }) => ({ name: String(name), columns: String(columns) }));
}

/** Published tables whose rows differ in a copy, by their published columns. */
export async function tablesThatDiffer(urls: { publisher: string; copy: string }): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const { name, columns } of await publishedTables(urls.publisher)) {
    const difference = await onlyIn(urls, `select row(${columns})::text from ${name}`);
    if (difference) found[name] = difference;
  }
  return found;
}

/** Columns that grow by themselves, or are measured in texts that are not published. */
const leftOut: Readonly<Record<string, string>> = {
  conversation_state: 'waiting_seconds, waiting_business_seconds',
  fct_sms_message: 'body_length, estimated_segment_count',
};

/** Views of `reporting` whose figures differ in a copy, and those that have any; `data_quality` speaks of the daemon. */
export async function viewsThatDiffer(urls: { publisher: string; copy: string }) {
  const views = await run(
    urls.publisher,
    `select viewname as name from pg_views where schemaname = 'reporting' and viewname <> 'data_quality' order by 1`,
  );
  const differing: Record<string, unknown> = {};
  const answered: unknown[] = [];
  for (const { name } of views) {
    const without = leftOut[String(name)] ?? '';
    const difference = await onlyIn(
      urls,
      `select (to_jsonb(v) - '{${without}}'::text[])::text from reporting.${name} v`,
    );
    if (difference) differing[String(name)] = difference;
    if ((await run(urls.copy, `select from reporting.${name} limit 1`)).length > 0) answered.push(name);
  }
  return { answered, differing };
}
