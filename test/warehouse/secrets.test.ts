import { afterAll, beforeAll, expect, test } from 'vitest';
import { user } from '../../src/api-client/entities/account.ts';
import { call, recording, transcript } from '../../src/api-client/entities/calls.ts';
import { line, message } from '../../src/api-client/entities/texts.ts';
import { createSealer } from '../../src/credentials/sealer.ts';
import type { Transaction } from '../../src/db/database.ts';
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
import { asRead, ignored, readNumber } from './reads.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

/** Every address in the answers below holds this word. */
const bearer = 'BEARERURL';
const url = (what: string) => `https://files.example/${what}?signature=${bearer}`;
const callId = '1700000001.1';
const read = readNumber(1);
const links = createSealer('a key of thirty-two letters or more');
const whole = { isComplete: true, read, sealer: links } as const;

// Keys that no specification names, as a newer service may add them.
const odd = {
  downloadUrl: url('a'),
  links: { self: url('b'), audio: [url('c')] },
  media: [url('d')],
  note: `  ${url('e')}`,
  player: { src: `Listen at ${url('f')} or call us` },
  mediaUrls: [`files.example/h?signature=${bearer}`],
};

const writes: ((tx: Transaction) => Promise<unknown>)[] = [
  (tx) =>
    writeCalls(
      tx,
      ignored,
      asRead(call, [{ id: callId, legs: [{ uniqueId: callId, ...odd }], ...odd }]).map((each) => ({
        call: each,
        read,
      })),
    ),
  (tx) =>
    writeRecordings(tx, ignored, [
      {
        ...whole,
        callId,
        state: 'complete',
        recordings: asRead(recording, [{ uniqueId: callId, url: url('recording'), ...odd }]),
      },
    ]),
  (tx) =>
    writeTranscripts(tx, ignored, [
      {
        ...whole,
        callId,
        state: 'complete',
        transcripts: asRead(transcript, [{ id: 1, callId, segments: [{ text: 'hello' }], ...odd }]),
      },
    ]),
  (tx) =>
    writeThreads(tx, ignored, [
      {
        ...whole,
        thread: { line: '15550000001', number: '15550000002', participants: [] },
        messages: asRead(message, [
          { id: 1, text: 'a photo', ...odd, attachments: [{ href: url('i') }], media: [url('media')] },
        ]),
      },
    ]),
  (tx) => users.write(tx, ignored, { ...whole, rows: asRead(user, [{ id: 1, avatar: url('j'), ...odd }]) }),
  (tx) =>
    lines.write(tx, ignored, { ...whole, rows: asRead(line, [{ number: '15550000001', hook: url('k'), ...odd }]) }),
];

beforeAll(async () => {
  for (const write of writes) await database.db.transaction().execute(write);
});

test('bearer addresses are kept sealed, where only the daemon reads', async () => {
  const held = await database.query<{ kind: 'recording' | 'file'; owner: string; part: string; link: string }>(
    'select kind, owner, part, link from secrets.links order by kind',
  );
  expect(held.map(({ kind, link, ...place }) => links.open(link, belongingOf(kind, place)))).toEqual([
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
