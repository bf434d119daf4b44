import { type Database, query, sql } from '../db/database.ts';
import { mediaRow } from '../warehouse/messages.ts';
import { recordingRow } from '../warehouse/recordings.ts';
import { subscriptionRow } from '../warehouse/subscriptions.ts';
import { type KeySettings, linkSealer, type Sealer, tokenSealer, WrongEncryptionKey } from './sealer.ts';

interface LinkTable {
  readonly name: string;
  /** Its primary key, with types. */
  readonly key: readonly (readonly [column: string, type: string])[];
  rowOf(...key: string[]): string;
}

const linkTables: readonly LinkTable[] = [
  {
    name: 'secrets.recording_urls',
    key: [
      ['call_id', 'text'],
      ['unique_id', 'text'],
    ],
    rowOf: (callId = '', uniqueId = '') => recordingRow(callId, uniqueId),
  },
  {
    name: 'secrets.message_media',
    key: [
      ['conversation_id', 'bigint'],
      ['message_id', 'bigint'],
      ['ordinal', 'smallint'],
    ],
    rowOf: (conversationId = '', messageId = '', ordinal = '') => mediaRow(conversationId, messageId, Number(ordinal)),
  },
  { name: 'secrets.webhook_urls', key: [['subscription_id', 'bigint']], rowOf: (id = '') => subscriptionRow(id) },
];

const batchSize = 500;

/** Seals with the current key every value sealed with the previous one, or unsealed. Resolves to the number of values. */
export async function reseal(db: Database, settings: KeySettings, signal: AbortSignal): Promise<number> {
  const [links, tokens] = [linkSealer(settings), tokenSealer(settings)];
  let count = tokens ? await resealTokens(db, tokens) : 0;
  for (const table of links ? linkTables : []) {
    for await (const sealed of resealLinks(db, table, links as Sealer)) {
      count += sealed;
      if (signal.aborted) return count;
    }
  }
  return count;
}

async function* resealLinks(db: Database, { name, key, rowOf }: LinkTable, sealer: Sealer): AsyncGenerator<number> {
  const columns = key.map(([column]) => column);
  const last = key.map(([, type], at) => `$${at + 2}::${type}`);
  const given = key.map(([, type], at) => `$${at + 3}::${type}[]`);
  let after: string[] | undefined;
  for (;;) {
    const rows = await query<{ key: string[]; url: string }>(
      db,
      `select array[${columns.map((column) => `${column}::text`).join()}] as key, url from ${name}
       where not starts_with(url, $1) ${after ? `and (${columns.join()}) > (${last.join()})` : ''}
       order by ${columns.join()} limit ${batchSize}`,
      [sealer.linkBeginning, ...(after ?? [])],
    );
    const found = rows.flatMap(({ key: values, url }) => {
      const opened = openedLink(sealer, url, rowOf(...values));
      return opened === undefined ? [] : [{ values, url, sealed: sealer.sealLink(opened, rowOf(...values)) }];
    });
    await query(
      db,
      `update ${name} t set url = r.sealed
       from unnest($1::text[], $2::text[], ${given.join()}) as r (url, sealed, ${columns.join()})
       where ${columns.map((column) => `t.${column} = r.${column}`).join(' and ')} and t.url = r.url`,
      [
        found.map(({ url }) => url),
        found.map(({ sealed }) => sealed),
        ...columns.map((_, at) => found.map(({ values }) => values[at])),
      ],
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
    // Reported where the tokens are used.
    if (error instanceof WrongEncryptionKey) return 0;
    throw error;
  }
}

/** The number of stored values not sealed with the current key. */
export async function countToReseal(db: Database, settings: KeySettings): Promise<number> {
  const [links, tokens] = [linkSealer(settings), tokenSealer(settings)];
  const counts = linkTables.map(({ name }) => `(select count(*) from ${name} where not starts_with(url, $1))`);
  const [row] = await query<{ count: number }>(
    db,
    `select (${counts.join(' + ')} + (select count(*) from secrets.oauth_tokens where substring(access_token for $3) <> $2))::int as count`,
    [links?.linkBeginning ?? '', tokens?.beginning ?? Buffer.alloc(0), tokens?.beginning.length ?? 0],
  );
  return row?.count ?? 0;
}
