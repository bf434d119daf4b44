import { type Database, query, relation, sql } from '../db/database.ts';
import { type LinkTable, linkRow, linkTables } from '../warehouse/links.ts';
import { type KeySettings, linkSealer, type Sealer, tokenSealer, WrongEncryptionKey } from './sealer.ts';

const batchSize = 500;
const linkTableNames = Object.keys(linkTables) as LinkTable[];

/** Seals with the current key every value sealed with the previous one, or unsealed. Resolves to the number of values. */
export async function reseal(db: Database, settings: KeySettings, signal: AbortSignal): Promise<number> {
  const [links, tokens] = [linkSealer(settings), tokenSealer(settings)];
  let count = tokens ? await resealTokens(db, tokens) : 0;
  for (const table of links ? linkTableNames : []) {
    for await (const sealed of resealLinks(db, table, links as Sealer)) {
      count += sealed;
      if (signal.aborted) return count;
    }
  }
  return count;
}

async function* resealLinks(db: Database, name: LinkTable, sealer: Sealer): AsyncGenerator<number> {
  const key: Readonly<Record<string, 'text' | 'bigint' | 'smallint'>> = linkTables[name];
  const columns = Object.keys(key);
  const rowOf = (values: readonly string[]) => linkRow(name, ...values);
  const [table, names] = [sql.table(`secrets.${name}`), sql.raw(columns.join())];
  let after: string[] | undefined;
  for (;;) {
    const isNext = after
      ? sql`(${names}) > (${sql.join(columns.map((column, at) => sql`${after?.[at]}::${sql.raw(key[column] ?? '')}`))})`
      : sql`true`;
    const rows = await query(
      db,
      sql<{ key: string[]; url: string }>`
       select array[${sql.raw(columns.map((column) => `${column}::text`).join())}] as key, url from ${table}
       where not starts_with(url, ${sealer.linkBeginning}) and ${isNext} order by ${names} limit ${batchSize}`,
    );
    const found = rows.flatMap(({ key: values, url }) => {
      const opened = openedLink(sealer, url, rowOf(values));
      return opened === undefined ? [] : [{ values, url, sealed: sealer.sealLink(opened, rowOf(values)) }];
    });
    const keyColumns = columns.map((column, at) => [
      column,
      [key[column] ?? 'text', (row: { values: string[] }) => row.values[at]] as const,
    ]);
    await query(
      db,
      sql`update ${table} t set url = r.sealed
       from ${relation('r', found, { url: 'text', sealed: 'text', ...Object.fromEntries(keyColumns) })}
       where (${sql.raw(columns.map((column) => `t.${column}`).join())}) = (${sql.raw(columns.map((column) => `r.${column}`).join())})
         and t.url = r.url`,
    );
    yield found.length;
    after = rows.at(-1)?.key;
    if (rows.length < batchSize) return;
  }
}

/** Undefined when no configured key opens it. */
function openedLink(sealer: Sealer, url: string, row: string): string | undefined {
  if (!url.startsWith('sealed:')) return url;
  try {
    return sealer.openLink(url, row);
  } catch (error) {
    if (error instanceof WrongEncryptionKey) return undefined;
    throw error;
  }
}

async function resealTokens(db: Database, sealer: Sealer): Promise<number> {
  const [row] = await query(
    db,
    sql<{
      version: string;
      access: Buffer;
      refresh: Buffer;
    }>`select version, access_token as access, refresh_token as refresh from secrets.oauth_tokens
     where substring(access_token for ${sealer.beginning.length}) <> ${sealer.beginning}`,
  );
  if (row === undefined) return 0;
  try {
    const access = sealer.open(row.access, 'oauth_tokens.access_token');
    const refresh = sealer.open(row.refresh, 'oauth_tokens.refresh_token');
    const updated = await query(
      db,
      sql`update secrets.oauth_tokens set access_token = ${sealer.seal(access, 'oauth_tokens.access_token')},
           refresh_token = ${sealer.seal(refresh, 'oauth_tokens.refresh_token')}
       where version = ${row.version} and access_token = ${row.access} returning version`,
    );
    return updated.length;
  } catch (error) {
    // Reported when the tokens are used.
    if (error instanceof WrongEncryptionKey) return 0;
    throw error;
  }
}

/** The number of stored values not sealed with the current key. */
export async function countToReseal(db: Database, settings: KeySettings): Promise<number> {
  const [links, tokens] = [linkSealer(settings), tokenSealer(settings)];
  const beginning = tokens?.beginning ?? Buffer.alloc(0);
  const counts = linkTableNames.map(
    (name) =>
      sql`(select count(*) from ${sql.table(`secrets.${name}`)} where not starts_with(url, ${links?.linkBeginning ?? ''}))`,
  );
  const [row] = await query(
    db,
    sql<{ count: number }>`select (${sql.join(counts, sql` + `)} + (
       select count(*) from secrets.oauth_tokens where substring(access_token for ${beginning.length}) <> ${beginning}))::int as count`,
  );
  return row?.count ?? 0;
}
