import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pairTranscript } from '../../src/warehouse/artefacts.ts';
import { writeRecordings } from '../../src/warehouse/recordings.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { ignored, recordingsRead, transcriptsRead } from './reads.ts';

const facts = await factsDatabase();

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

  test.each<[string, string | null, string[], number, string, string | null]>([
    ['of leg …12 does not belong to leg …1', 'out-171800000012.wav', [one, twelve], 2, 'exact', twelve],
    ['of leg …12 belongs to none while only …1 is held', 'out-171800000012.wav', [one], 2, 'ambiguous', null],
    ['that names two legs belongs to none', '17180000001-171800000012.wav', [one, twelve], 1, 'ambiguous', null],
    ['without a name belongs to the only leg as the only one', null, [one], 1, 'single_leg', one],
    ['without a name belongs to none of two', null, [one], 2, 'ambiguous', null],
    ['without a name belongs to no leg of two', null, [one, twelve], 1, 'none', null],
    ['without a name belongs to none without legs', null, [], 1, 'none', null],
  ])('%s', (_what, file, legs, count, pairing, uniqueId) => {
    expect(pairTranscript(file, legs, count)).toEqual({ pairing, uniqueId });
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
  const pairs = () => facts.expectRows('select transcript_id, leg_unique_id from warehouse.transcripts order by 1');
  const transaction = facts.db.transaction();
  const records = (fetchSeq: number, ...uniqueIds: string[]) => {
    const read = recordingsRead(
      fetchSeq,
      callId,
      uniqueIds.map((uniqueId) => ({ uniqueId })),
    );
    return transaction.execute((tx) => writeRecordings(tx, ignored, [read]));
  };
  const rows = ['a-17180000001.wav', 'a-171800000012.wav'].map((recording, at) => ({ id: at + 1, callId, recording }));
  await transaction.execute((tx) => writeTranscripts(tx, ignored, [transcriptsRead(1, callId, rows)]));
  await pairs().toEqual(['1 | -', '2 | -']);
  await records(2, one);
  await pairs().toEqual([`1 | ${one}`, expect.stringMatching(/^2 /)]);
  await records(3, one, twelve);
  await pairs().toEqual([`1 | ${one}`, `2 | ${twelve}`]);
});
