import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { user } from '../../src/api-client/entities/account-schemas.ts';
import { line } from '../../src/api-client/entities/text-schemas.ts';
import type { Transaction } from '../../src/db/database.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { lines } from '../../src/warehouse/lines.ts';
import { writeRecordings } from '../../src/warehouse/recordings.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import { users } from '../../src/warehouse/users.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { migratedDatabase } from '../world/database.ts';
import { asRead, callReads, ignored, readNumber, recordingsRead, textsRead, transcriptsRead } from './reads.ts';

/* One odd value must not keep an answer out of the mirror: the read would fail for ever. */

const database = await migratedDatabase();

let made = 0;
const callId = '1700000001.1';

/** The same text for each key of an answer. */
const all = (keys: string, odd: string) => Object.fromEntries([...keys.split(' '), odd].map((key) => [key, odd]));
const lists = (keys: string, odd: string) => Object.fromEntries(keys.split(' ').map((key) => [key, [odd]]));

/** One writer per kind of answer, with the same odd text in every text that the answer can hold. */
const writers: Record<string, (tx: Transaction, odd: string) => Promise<unknown>> = {
  call(tx, odd) {
    const texts = all('direction status callerType callerName callerNumber calledBack', odd);
    const legs = [all('uniqueId callId bridgedFromCallId status direction', odd)];
    return writeCalls(tx, ignored, callReads(made, { id: `1700000001.${made}`, ...texts, legs }));
  },
  recording(tx, odd) {
    const row = { uniqueId: callId, ...all('callId url from to', odd) };
    return writeRecordings(tx, ignored, [recordingsRead(made, callId, [row])]);
  },
  transcript(tx, odd) {
    const texts = all('callId recording shortSummary callPurpose agentName', odd);
    const segments = [{ start: 0, end: 1, speaker: 0, text: odd }];
    const customKpis = [{ name: odd, value: 1, note: odd }];
    const row = { id: made, ...texts, segments, bulletPoints: [odd], customKpis };
    return writeTranscripts(tx, ignored, [transcriptsRead(made, callId, [row])]);
  },
  thread(tx, odd) {
    const texts = { ...all('direction from to text blockReason', odd), ...lists('media groupParticipants', odd) };
    const row = { id: made, ...texts, delivery: { status: odd, error: odd } };
    return writeThreads(tx, ignored, [textsRead(made, [row])]);
  },
  users(tx, odd) {
    const texts = { ...all('username title extension', odd), ...lists('extensions lines numbers voicemails', odd) };
    return users.write(tx, ignored, { read: readNumber(made), rows: asRead(user, [{ id: made, ...texts }]) });
  },
  lines: (tx, odd) =>
    lines.write(tx, ignored, {
      read: readNumber(made),
      rows: asRead(line, [{ number: '15550000001', ...all('name', odd) }]),
    }),
};

const oddities = {
  NUL: 'before\0after',
  'half a character': 'before\ud83dafter',
  quotes: `'"\\{},$1;--`,
  nothing: '',
  'many characters': randomBytes(6_000).toString('base64url'),
  'many digits': BigInt(`0x${randomBytes(3_000).toString('hex')}`).toString(),
};

for (const [kind, write] of Object.entries(writers)) {
  test.each(Object.entries(oddities))(`${kind}: %s in every text keeps nothing out`, async (_name, odd) => {
    made += 1;
    await database.db.transaction().execute((tx) => write(tx, odd));
  });
}

test('an enormous transcript is mirrored, and its words can be searched', async () => {
  const words = Array.from({ length: 60_000 }, (_, at) => `w${at.toString(36)}`).join(' ');
  const row = { id: 900_001, callId, segments: [{ text: words }, { text: words }] };
  const read = transcriptsRead(made, callId, [row]);
  await database.db.transaction().execute((tx) => writeTranscripts(tx, ignored, [read]));
  // The random oddities can contain the same word.
  const found = await database.query<{ transcript_id: string }>(
    `select transcript_id from warehouse.transcript_bodies where words @@ 'w1a'::tsquery`,
  );
  expect(found).toContainEqual({ transcript_id: '900001' });
});
