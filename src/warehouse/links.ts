import { hotQuery, relation, sql, type Transaction } from '../db/database.ts';

/** The tables with sealed links in the schema `secrets`: the columns of each primary key, with their types. */
export const linkTables = {
  recording_urls: { call_id: 'text', unique_id: 'text' },
  message_media: { conversation_id: 'bigint', message_id: 'bigint', ordinal: 'smallint' },
  webhook_urls: { subscription_id: 'bigint' },
} as const;

export type LinkTable = keyof typeof linkTables;

/** Encrypts a URL and binds it to its row: see {@link linkRow}. */
export type SealLink = (url: string, row: string) => string;

interface Link {
  /** The values of the primary key, in order. */
  readonly key: readonly (string | number)[];
  readonly url: string | undefined;
  /** Undefined: links aren't stored. */
  readonly sealLink: SealLink | undefined;
}

/** Identifies the row of a link: `recording_urls call leg`. */
export function linkRow(table: LinkTable, ...key: Link['key']): string {
  return [table, ...key].join(' ');
}

/** Stores sealed links. If there are several for one row, the last one. */
export async function storeLinks(tx: Transaction, table: LinkTable, links: readonly Link[]): Promise<void> {
  const sealed = new Map<string, { readonly key: Link['key']; readonly url: string }>();
  for (const { key, url, sealLink } of links) {
    const row = linkRow(table, ...key);
    if (url && sealLink) sealed.set(row, { key, url: sealLink(url, row) });
  }
  if (sealed.size === 0) return;
  const types = Object.entries(linkTables[table]);
  const columns = types.map(
    ([column, type], at) => [column, [type, (link: Pick<Link, 'key'>) => link.key[at]]] as const,
  );
  const names = sql.raw(Object.keys(linkTables[table]).join(', '));
  await hotQuery(
    tx,
    sql`
      insert into ${sql.table(`secrets.${table}`)} as t (${names}, url)
      select ${names}, url from ${relation('l', [...sealed.values()], { url: 'text', ...Object.fromEntries(columns) })}
      order by ${names}
      on conflict (${names}) do update set url = excluded.url where t.url <> excluded.url`,
  );
}
