import { Redis } from 'ioredis';
import type { TestDatabase } from '../world/database.ts';
import type { World } from '../world.ts';

/**
 * Where some letters or digits are held, however they are written: columns of any table of the database, the queues' too,
 * and keys of the Redis that holds the queues.
 */
export function placesWith({ query, context }: World, words: string): Promise<string[]> {
  return placesIn({ query, redisUrl: context.settings.redisUrl }, words);
}

type Places = Pick<TestDatabase, 'query'> & { readonly redisUrl: string | undefined };

/** The same for stores without a world. */
export async function placesIn(stores: Places, words: string): Promise<string[]> {
  const wanted = words.replace(/[^0-9a-z]/gi, '').toLowerCase();
  return [...(await columnsWith(stores, wanted)), ...(await keysWith(stores, wanted))].sort();
}

async function columnsWith({ query }: Places, wanted: string): Promise<string[]> {
  const columns = await query<{ table: string; column: string }>(
    `select a.attrelid::regclass::text as "table", quote_ident(a.attname) as "column"
     from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
     where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast') and c.relkind = 'r'
       and a.attnum > 0 and not a.attisdropped and format_type(a.atttypid, null) ~ 'text|json|char|tsvector|bigint|numeric'`,
  );
  // Whole rows first, in one look: few tables hold anything, and their columns alone are looked at one by one.
  const tables = [...new Set(columns.map(({ table }) => table))];
  const suspects = new Set(await placesThatHold(tables.map((table) => [table, table, 'held::text'])));
  return placesThatHold(
    columns
      .filter(({ table }) => suspects.has(table))
      .map(({ table, column }) => [`${table}.${column}`, table, `held.${column}::text`]),
  );

  /** The names of those places, each a name, a table and a text of its rows, in which the words stand. */
  async function placesThatHold(places: readonly (readonly [string, string, string])[]): Promise<string[]> {
    if (places.length === 0) return [];
    const looks = places.map(
      ([name, table, text]) => `select '${name}' as name where exists (select from ${table} as held
        where lower(regexp_replace(${text}, '[^0-9a-zA-Z]', '', 'g')) like '%' || $1 || '%')`,
    );
    const found = await query<{ name: string }>(looks.join(' union all '), wanted);
    return found.map(({ name }) => name);
  }
}

async function keysWith({ redisUrl }: Places, wanted: string): Promise<string[]> {
  if (redisUrl === undefined) return [];
  const redis = new Redis(redisUrl);
  try {
    const keys = await redis.keys('*');
    const held = await Promise.all(keys.map(async (key) => `${key} ${JSON.stringify(await contentOf(redis, key))}`));
    const isFound = (text: string) =>
      text
        .replace(/[^0-9a-z]/gi, '')
        .toLowerCase()
        .includes(wanted);
    return keys.filter((_, at) => isFound(held[at] ?? '')).map((key) => `redis ${key}`);
  } finally {
    redis.disconnect();
  }
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key);
    case 'hash':
      return redis.hgetall(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    case 'zset':
      return redis.zrange(key, '0', '-1');
    case 'stream':
      return redis.xrange(key, '-', '+');
    default:
      return undefined;
  }
}

/** A call that is recorded, and transcribed at once. */
export const recorded = {
  status: 'answered',
  recorded: true,
  durationSeconds: 90,
  recordingAfterMs: 0,
  transcriptAfterMs: 0,
} as const;
