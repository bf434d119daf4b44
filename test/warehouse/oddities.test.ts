import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { user } from '../../src/api-client/entities/account.ts';
import { call, recording, transcript } from '../../src/api-client/entities/calls.ts';
import { line, message } from '../../src/api-client/entities/texts.ts';
import type { Transaction } from '../../src/db/database.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { lines } from '../../src/warehouse/lines.ts';
import { writeRecordings } from '../../src/warehouse/recordings.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import { users } from '../../src/warehouse/users.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { migratedDatabase } from '../world/database.ts';
import { asRead, ignored, readNumber } from './reads.ts';

/* One odd value must not keep an answer out of the mirror: the read would fail for ever. */

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

let made = 0;
const whole = () => ({ isComplete: true, read: readNumber(1 + made) });

/** One writer per kind of answer, with the same odd text in every text that the answer can hold. */
const writers: Record<string, (tx: Transaction, odd: string) => Promise<unknown>> = {
  call: (tx, odd) =>
    writeCalls(
      tx,
      ignored,
      asRead(call, [
        {
          id: `1700000001.${made}`,
          direction: odd,
          status: odd,
          callerType: odd,
          callerName: odd,
          callerNumber: odd,
          calledBack: odd,
          [odd]: odd,
          legs: [{ uniqueId: odd, callId: odd, bridgedFromCallId: odd, status: odd, direction: odd }],
        },
      ]).map((each) => ({ call: each, read: whole().read })),
    ),
  recording: (tx, odd) =>
    writeRecordings(tx, ignored, [
      {
        ...whole(),
        callId: '1700000001.1',
        state: 'complete',
        recordings: asRead(recording, [
          { uniqueId: '1700000001.1', callId: odd, url: odd, from: odd, to: odd, [odd]: odd },
        ]),
      },
    ]),
  transcript: (tx, odd) =>
    writeTranscripts(tx, ignored, [
      {
        ...whole(),
        callId: '1700000001.1',
        state: 'complete',
        transcripts: asRead(transcript, [
          {
            id: made,
            callId: odd,
            recording: odd,
            segments: [{ start: 0, end: 1, speaker: 0, text: odd }],
            shortSummary: odd,
            bulletPoints: [odd],
            callPurpose: odd,
            agentName: odd,
            customKpis: [{ name: odd, value: 1, note: odd }],
            [odd]: odd,
          },
        ]),
      },
    ]),
  thread: (tx, odd) =>
    writeThreads(tx, ignored, [
      {
        ...whole(),
        thread: { line: '15550000001', number: '15550000002', participants: [] },
        messages: asRead(message, [
          {
            id: made,
            direction: odd,
            from: odd,
            to: odd,
            text: odd,
            media: [odd],
            delivery: { status: odd, error: odd },
            groupParticipants: [odd],
            blockReason: odd,
            [odd]: odd,
          },
        ]),
      },
    ]),
  users: (tx, odd) =>
    users.write(tx, ignored, {
      ...whole(),
      rows: asRead(user, [
        {
          id: made,
          username: odd,
          title: odd,
          extension: odd,
          extensions: [odd],
          lines: [odd],
          numbers: [odd],
          voicemails: [odd],
          [odd]: odd,
        },
      ]),
    }),
  lines: (tx, odd) =>
    lines.write(tx, ignored, { ...whole(), rows: asRead(line, [{ number: '15550000001', name: odd, [odd]: odd }]) }),
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
  const callId = '1700000009.1';
  await database.db.transaction().execute((tx) =>
    writeTranscripts(tx, ignored, [
      {
        ...whole(),
        callId,
        state: 'complete',
        transcripts: asRead(transcript, [{ id: 900_001, callId, segments: [{ text: words }, { text: words }] }]),
      },
    ]),
  );
  // The random oddities can contain the same word.
  const found = await database.query<{ transcript_id: string }>(
    `select transcript_id from warehouse.transcript_bodies where words @@ 'w1a'::tsquery`,
  );
  expect(found).toContainEqual({ transcript_id: '900001' });
});
