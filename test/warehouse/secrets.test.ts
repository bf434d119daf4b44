import { beforeAll, expect, test } from 'vitest';
import { user } from '../../src/api-client/entities/account-schemas.ts';
import { line } from '../../src/api-client/entities/text-schemas.ts';
import { createSealer } from '../../src/credentials/sealer.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { redactUrls } from '../../src/warehouse/extra.ts';
import { lines } from '../../src/warehouse/lines.ts';
import { belongingOf } from '../../src/warehouse/links.ts';
import { writeRecordings } from '../../src/warehouse/recordings.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import { users } from '../../src/warehouse/users.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { growthOf } from '../busy.ts';
import { migratedDatabase } from '../world/database.ts';
import { asRead, callReads, ignored, readNumber, recordingsRead, textsRead, transcriptsRead } from './reads.ts';

const database = await migratedDatabase();

/** Every address in the answers below holds this word. */
const bearer = 'BEARERURL';
const url = (what: string) => `https://files.example/${what}?signature=${bearer}`;
const callId = '1700000001.1';
const read = readNumber(1);
const sealer = createSealer('a key of thirty-two letters or more');

// Keys that no specification names, as a newer service may add them.
const odd = {
  ...{ downloadUrl: url('a'), links: { self: url('b'), audio: [url('c')] }, media: [url('d')], note: `  ${url('e')}` },
  ...{ player: { src: `Listen at ${url('f')} or call us` }, mediaUrls: [`files.example/h?signature=${bearer}`] },
};

beforeAll(async () => {
  const answer = { id: 1, callId, uniqueId: callId, ...odd };
  const withSegments = { ...answer, segments: [{ text: 'hello' }] };
  const texts = { ...answer, text: 'a photo', attachments: [{ href: url('i') }], media: [url('media')] };
  await database.db.transaction().execute(async (tx) => {
    await writeCalls(tx, ignored, callReads(1, { ...answer, id: callId, legs: [answer] }));
    const recordings = recordingsRead(1, callId, [{ ...answer, url: url('recording') }]);
    await writeRecordings(tx, ignored, [{ ...recordings, sealer }]);
    await writeTranscripts(tx, ignored, [transcriptsRead(1, callId, [withSegments])]);
    await writeThreads(tx, ignored, [{ ...textsRead(1, [texts]), sealer }]);
    await users.write(tx, ignored, { read, rows: asRead(user, [{ ...answer, avatar: url('j') }]) });
    const lineRows = asRead(line, [{ ...odd, number: '15550000001', hook: url('k') }]);
    await lines.write(tx, ignored, { read, rows: lineRows });
  });
});

test('bearer addresses are kept sealed, where only the daemon reads', async () => {
  const held = await database.query<{ kind: 'recording' | 'file'; owner: string; part: string; link: string }>(
    'select kind, owner, part, link from secrets.links order by kind',
  );
  expect(held.map(({ kind, link, ...place }) => sealer.open(link, belongingOf(kind, place)))).toEqual([
    url('media'),
    url('recording'),
  ]);
});

test('no bearer address stands in clear in any table', async () => {
  const tables = await database.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('warehouse', 'ops', 'rollups', 'reporting', 'secrets') and c.relkind in ('r', 'v', 'm')`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await database.query<{ row: string }>(
      `select t::text as row from ${name} t where t::text like $1`,
      `%${bearer}%`,
    );
    found.push(...rows.map(({ row }) => `${name}: ${row}`));
  }
  expect(found).toEqual([]);
});

test('keys of an answer that have no column are kept, but for their addresses', async () => {
  expect(await database.value('select extra from warehouse.transcripts where extra is not null')).toMatchObject({
    links: { self: '[redacted]' },
  });
  expect(await database.value('select extra from warehouse.sms_lines where extra is not null')).toMatchObject({
    hook: '[redacted]',
    links: { self: '[redacted]' },
  });
});

test('addresses are removed in proportion to a text, which may look like one endless scheme', () => {
  const growth = growthOf((times) => redactUrls({ note: `${'scheme.'.repeat(4_000 * times)} ://` }));
  expect(growth).toBeLessThan(80);
  expect(redactUrls({ note: `${'s'.repeat(40)}://host/${bearer}` })).not.toEqual({
    note: expect.stringContaining(bearer),
  });
});
