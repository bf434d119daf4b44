import type { Pool } from 'pg';
import { belongingOf } from '../../../src/warehouse/links.ts';
import { type Deployment, links } from '../deployment/deployment.ts';
import { textMark } from '../load/traffic.ts';

/** Shorter utterances ("Right.") say nothing about anybody, and can stand anywhere. */
const tellingLength = 30;

const reports = 'what the BI role reads';

/** Says which secret, address or words of a person stand where they must not, without saying them. */
export async function leaks(deployment: Deployment): Promise<string[]> {
  const forbidden = { ...deployment.secrets, 'a text': textMark, ...(await warehouseSecrets(deployment)) };
  const places = await publicPlaces(deployment);
  return Object.entries(places).flatMap(([place, content]) =>
    Object.entries(forbidden).flatMap(([what, words]) => {
      // What an analysis sums up is made to be reported on.
      if (what === 'a summary' && place === reports) return [];
      return [words].flat().some((word) => content.includes(word)) ? [`${what} in ${place}`] : [];
    }),
  );
}

async function warehouseSecrets({ database }: Deployment): Promise<Record<string, string[]>> {
  const linksOf = async (kind: 'recording' | 'file') => {
    const text = 'select owner, part, link from secrets.links where kind = $1';
    const { rows } = await database.query<{ owner: string; part: string; link: string }>(text, [kind]);
    return rows.map(({ link, ...place }) => {
      const url = links.open(link, belongingOf(kind, place));
      if (url === undefined) throw new Error(`a link of ${kind} ${place.owner} does not open`);
      return url;
    });
  };
  const wordsOf = async (sql: string) => (await database.query<{ words: string }>(sql)).rows.map(({ words }) => words);
  const utterances = await wordsOf('select full_text as words from warehouse.transcript_bodies');
  return {
    'a recording URL': await linksOf('recording'),
    'a media URL': await linksOf('file'),
    'the signature of a link': ['signature='],
    'what was said': [...new Set(utterances.flatMap((text) => text.split('\n')))].filter(isTelling),
    'a summary': (await wordsOf(`select coalesce(short_summary, '') as words from warehouse.transcripts`)).filter(
      isTelling,
    ),
  };
}

function isTelling(words: string): boolean {
  return words.length >= tellingLength;
}

async function publicPlaces(deployment: Deployment): Promise<Record<string, string>> {
  const { webs, workers, postgres, redis, database, addresses, secrets } = deployment;
  const metrics = await Promise.all(
    addresses.map((address) =>
      fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${secrets['admin token']}` } }).then(
        (response) => response.text(),
        () => '',
      ),
    ),
  );
  return {
    ...Object.fromEntries([...webs, ...workers].map(({ name, output }) => [`the log of ${name}`, output])),
    'the log of Postgres': await postgres.log(),
    'the queues in Postgres': await contentOf(database, 'bullmq'),
    [reports]: `${await contentOf(database, 'reporting')}\n${await contentOf(database, 'rollups')}`,
    'the metrics': metrics.join('\n'),
    ...(redis && { Redis: await redis.history() }),
  };
}

/** Every row of every table and view of a schema. */
async function contentOf(database: Pool, schema: string): Promise<string> {
  const { rows } = await database.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = to_regnamespace($1) and relkind in ('r', 'p', 'v', 'm')`,
    [schema],
  );
  const lines: string[] = [];
  for (const { name } of rows) {
    const table = await database.query<{ line: string }>(`select t::text as line from ${schema}."${name}" t`);
    lines.push(...table.rows.map(({ line }) => line));
  }
  return lines.join('\n');
}
