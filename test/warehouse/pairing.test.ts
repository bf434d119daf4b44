import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { recording, transcript } from '../../src/api-client/entities/calls.ts';
import { pairTranscript } from '../../src/warehouse/artefacts.ts';
import { writeRecordings } from '../../src/warehouse/recordings.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import { migratedDatabase } from '../world/database.ts';
import { asRead, ignored, readNumber } from './reads.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const one = '1718000000.1';
const twelve = '1718000000.12';

describe('a transcript', () => {
  test.each([
    ['at the end of a name', 'out-17180000001.wav'],
    ['at its beginning', '17180000001-in.wav'],
    ['alone', '17180000001'],
    ['twice', '17180000001_17180000001.wav'],
  ])('belongs to the leg whose id stands %s', (_where, file) => {
    expect(pairTranscript(file, [one, twelve], 2)).toEqual({ pairing: 'exact', uniqueId: one });
  });

  test('of leg …12 does not belong to leg …1', () => {
    expect(pairTranscript('out-171800000012.wav', [one, twelve], 2)).toEqual({ pairing: 'exact', uniqueId: twelve });
  });

  test('of leg …12 does not belong to leg …1 while only that one is held', () => {
    expect(pairTranscript('out-171800000012.wav', [one], 2).uniqueId).toBeNull();
  });

  test('that names two legs belongs to none', () => {
    expect(pairTranscript('17180000001-171800000012.wav', [one, twelve], 1)).toEqual({
      pairing: 'ambiguous',
      uniqueId: null,
    });
  });

  test('without a name belongs to the only leg when it is the only transcript', () => {
    expect(pairTranscript(null, [one], 1)).toEqual({ pairing: 'single_leg', uniqueId: one });
    expect(pairTranscript(null, [one], 2).uniqueId).toBeNull();
    expect(pairTranscript(null, [one, twelve], 1).uniqueId).toBeNull();
    expect(pairTranscript(null, [], 1)).toEqual({ pairing: 'none', uniqueId: null });
  });

  test('of any name and any legs is paired without an error, and only to one of them', () => {
    fc.assert(
      fc.property(fc.string(), fc.uniqueArray(fc.string({ minLength: 1 })), fc.nat(3), (file, legs, count) => {
        const { uniqueId } = pairTranscript(legs[0] === undefined ? file : `${file}${legs[0]}`, legs, count);
        expect(uniqueId === null || legs.includes(uniqueId)).toBe(true);
      }),
    );
  });
});

test('transcripts are paired again when a leg arrives later', async () => {
  const callId = '1718000000.1';
  const transcripts = asRead(transcript, [
    { id: 1, callId, recording: 'a-17180000001.wav' },
    { id: 2, callId, recording: 'a-171800000012.wav' },
  ]);
  const pairs = () =>
    database.query('select transcript_id, leg_unique_id from warehouse.transcripts order by transcript_id');
  const records = (fetchSeq: number, ...uniqueIds: string[]) =>
    database.db.transaction().execute((tx) =>
      writeRecordings(tx, ignored, [
        {
          callId,
          recordings: asRead(
            recording,
            uniqueIds.map((uniqueId) => ({ uniqueId })),
          ),
          isComplete: true,
          state: 'complete',
          read: readNumber(fetchSeq),
        },
      ]),
    );
  await database.db
    .transaction()
    .execute((tx) =>
      writeTranscripts(tx, ignored, [
        { callId, transcripts, isComplete: true, state: 'complete', read: readNumber(1) },
      ]),
    );
  expect(await pairs()).toEqual([
    { transcript_id: '1', leg_unique_id: null },
    { transcript_id: '2', leg_unique_id: null },
  ]);
  await records(2, one);
  expect(await pairs()).toMatchObject([{ leg_unique_id: one }, {}]);
  await records(3, one, twelve);
  expect(await pairs()).toEqual([
    { transcript_id: '1', leg_unique_id: one },
    { transcript_id: '2', leg_unique_id: twelve },
  ]);
});
