import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { call, recording, transcript } from '../../src/api-client/entities/calls.ts';
import { message } from '../../src/api-client/entities/texts.ts';
import { createSealer } from '../../src/credentials/sealer.ts';
import type { Transaction } from '../../src/db/database.ts';
import { markDirty } from '../../src/inbox/targets.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { writeRecordings } from '../../src/warehouse/recordings.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { callId, shownCall, shownRecording, shownTranscript } from '../sync/call-service.ts';
import { locksHere, migratedDatabase } from '../world/database.ts';
import { until } from '../world.ts';
import { asRead, ignored, readNumber } from './reads.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
afterAll(() => database[Symbol.asyncDispose]());

const gone = '15550000002';
const line = '15550000001';
const noQueues = { forget: async () => 0 };

let seq = 10;
const read = () => readNumber(++seq);
const inTransaction = (work: (tx: Transaction) => Promise<unknown>) => db.transaction().execute(work);
const remember = (number = gone) =>
  query('insert into ops.erasures (number_hash) values (ops.erasure_hash($1)) on conflict do nothing', number);
const erase = (number = gone) => eraseNumber({ db, queues: noQueues, knownAfterMs: 0 }, number);

function mirrorCall(id: string, more: object = {}): Promise<unknown> {
  const [found] = asRead(call, [shownCall(id, more)]);
  if (!found) throw new Error('no call');
  return inTransaction((tx) => writeCalls(tx, ignored, [{ call: found, read: read() }]));
}

const mirrorRecordings = (id: string, more: object = {}) =>
  inTransaction((tx) =>
    writeRecordings(tx, ignored, [
      {
        callId: id,
        recordings: asRead(recording, [shownRecording(id, more)]),
        isComplete: true,
        state: 'complete',
        read: read(),
        sealer: createSealer('a key of thirty-two letters or more'),
      },
    ]),
  );

const mirrorTranscripts = (id: string, number: number, text = 'Hello') =>
  inTransaction((tx) =>
    writeTranscripts(tx, ignored, [
      {
        callId: id,
        transcripts: asRead(transcript, [
          shownTranscript(number, id, { segments: [{ start: 0, end: 1, speaker: 0, text }] }),
        ]),
        isComplete: true,
        state: 'complete',
        read: read(),
      },
    ]),
  );

const parties = async (id: string) =>
  (
    await query(
      `select caller_name, caller_number, called_name, called_number, dialled_number, external_number, account_number, is_erased
       from warehouse.calls where call_id = $1`,
      id,
    )
  )[0];

const blankCaller = { caller_name: null, caller_number: null, external_number: null, is_erased: true };

beforeEach(() => query('truncate ops.erasures, ops.sync_targets'));

describe('a call', () => {
  test('of a caller who was erased is mirrored without the caller', async () => {
    await remember();
    const id = callId();
    await mirrorCall(id);
    expect(await parties(id)).toEqual({
      ...blankCaller,
      called_name: 'Reception',
      called_number: '101',
      dialled_number: line,
      account_number: line,
    });
    expect(await value(`select extra from warehouse.calls where call_id = $1`, id)).toBeNull();
  });

  test('that is erased looks as one that is read after the erasure', async () => {
    const legs = [
      {
        uniqueId: '1.1',
        callerName: 'WIRELESS CALLER',
        callerNumber: `+${gone}`,
        calledName: 'Sales',
        calledNumber: '200',
      },
      { uniqueId: '1.2', callerName: 'Sales', callerNumber: '200', calledName: 'WIRELESS CALLER', calledNumber: '300' },
      { uniqueId: '1.3', callerName: 'Nobody', callerNumber: '400', calledName: 'Sales', calledNumber: '200' },
    ];
    const more = { callerIdExternal: `"WIRELESS CALLER" <${gone}>`, callerIdInternal: 'WIRELESS CALLER', legs };
    const id = callId();
    await mirrorCall(id, more);
    await erase();
    const columns = `caller_name, caller_number, called_name, called_number`;
    const picture = async () => [
      await query(
        `select ${columns}, caller_id_internal, caller_id_external, external_number from warehouse.calls where call_id = $1`,
        id,
      ),
      await query(`select ${columns} from warehouse.call_legs where call_id = $1 order by ordinal`, id),
    ];
    const erased = await picture();
    await mirrorCall(id, more);
    expect(await picture()).toEqual(erased);
    expect(erased[1]).toEqual([
      { caller_name: null, caller_number: null, called_name: 'Sales', called_number: '200' },
      { caller_name: 'Sales', caller_number: '200', called_name: null, called_number: '300' },
      { caller_name: 'Nobody', caller_number: '400', called_name: 'Sales', called_number: '200' },
    ]);
  });

  test('stays blank when a later read shows less of who it was', async () => {
    const id = callId();
    await mirrorCall(id);
    await erase();
    await mirrorCall(id, { callerNumber: undefined, callerName: 'Wanda Caller' });
    expect(await parties(id)).toMatchObject(blankCaller);
  });

  test('that a leg brought to somebody who was erased keeps its other party', async () => {
    const id = callId();
    await mirrorCall(id, {
      callerNumber: '15550000009',
      legs: [{ uniqueId: '2.1', calledNumber: gone, calledName: 'Wanda' }],
    });
    await mirrorRecordings(id);
    await erase();
    expect(await parties(id)).toMatchObject({ external_number: '15550000009', is_erased: true });
    expect(await query('select called_name, called_number from warehouse.call_legs where call_id = $1', id)).toEqual([
      { called_name: null, called_number: null },
    ]);
    expect(await value('select count(*)::integer from secrets.links where owner = $1', id)).toBe(0);
  });

  test('of others is as it was', async () => {
    await remember('15550000099');
    const id = callId();
    await mirrorCall(id);
    await mirrorRecordings(id);
    await mirrorTranscripts(id, 901);
    expect(await parties(id)).toMatchObject({ caller_number: gone, external_number: gone, is_erased: false });
    expect(await value('select count(*)::integer from secrets.links where owner = $1', id)).toBe(1);
    expect(await value('select full_text from warehouse.transcript_bodies where transcript_id = 901')).toBe('Hello');
  });
});

describe('what belongs to an erased call', () => {
  test('is not mirrored: of a recording that it exists, of a transcript nothing', async () => {
    await remember();
    const id = callId();
    await mirrorCall(id);
    await mirrorRecordings(id);
    await mirrorTranscripts(id, 902);
    expect(await query('select from_endpoint, to_endpoint from warehouse.recordings where call_id = $1', id)).toEqual([
      { from_endpoint: null, to_endpoint: null },
    ]);
    expect(await value('select count(*)::integer from secrets.links where owner = $1', id)).toBe(0);
    expect(await value('select count(*)::integer from warehouse.transcripts where call_id = $1', id)).toBe(0);
    expect(
      await query(
        'select recording_count, recordings_state, transcript_count, transcripts_state from warehouse.calls where call_id = $1',
        id,
      ),
    ).toEqual([
      { recording_count: 1, recordings_state: 'complete', transcript_count: 0, transcripts_state: 'complete' },
    ]);
  });

  test('goes when it came before its call', async () => {
    await remember();
    const id = callId();
    await mirrorRecordings(id);
    await mirrorTranscripts(id, 903);
    expect(await value('select count(*)::integer from warehouse.transcripts where call_id = $1', id)).toBe(1);
    await mirrorCall(id);
    expect(await value('select count(*)::integer from warehouse.transcripts where call_id = $1', id)).toBe(0);
    expect(await value('select count(*)::integer from secrets.links where owner = $1', id)).toBe(0);
  });

  test('goes when only its recording names who it was', async () => {
    await remember();
    const id = callId();
    await mirrorCall(id, { callerNumber: '15550000009' });
    await mirrorTranscripts(id, 904);
    await mirrorRecordings(id, { from: gone });
    expect(await parties(id)).toMatchObject({ is_erased: true });
    expect(await value('select count(*)::integer from warehouse.transcripts where call_id = $1', id)).toBe(0);
  });
});

describe('a thread', () => {
  const mirrorThread = (number: string, participants: readonly string[] = []) =>
    inTransaction((tx) =>
      writeThreads(tx, ignored, [
        {
          thread: { line, number, participants },
          messages: asRead(message, [
            { id: ++seq, direction: 'in', from: number, to: line, text: 'hi', sentAt: '2026-04-21T00:00:00Z' },
          ]),
          isComplete: true,
          read: read(),
        },
      ]),
    );
  const threads = async () => value('select count(*)::integer from warehouse.sms_conversations');

  test('with somebody who was erased is not mirrored, nor is a group', async () => {
    await remember();
    await mirrorThread(gone);
    await mirrorThread('15550000001', ['15550000001', gone]);
    expect(await threads()).toBe(0);
  });

  test('with somebody who was erased is never made due', async () => {
    await remember();
    const keys = [`${line}/${gone}`, `${line}/15550000001/15550000001,${gone}`, `${line}/15550000003`];
    const bumps = keys.map((key) => ({ kind: 'thread', key }) as const);
    await markDirty(db, bumps, { activeMs: 0, refusedMs: 0 });
    expect(await query('select key from ops.sync_targets')).toEqual([{ key: `${line}/15550000003` }]);
  });

  test('that is being written when somebody is erased goes with the others', async () => {
    let erasing: Promise<unknown> = Promise.resolve();
    await inTransaction(async (tx) => {
      await writeThreads(tx, ignored, [
        {
          thread: { line, number: gone, participants: [] },
          messages: asRead(message, [{ id: ++seq, text: 'hi', sentAt: '2026-04-21T00:00:00Z' }]),
          isComplete: true,
          read: read(),
        },
      ]);
      erasing = erase();
      await until(
        async () =>
          (await value(
            `select count(*) from ${locksHere} where relation = 'ops.erasures'::regclass and not granted`,
          )) !== '0',
      );
    });
    await erasing;
    expect(await threads()).toBe(0);
  });
});

describe('a person with two forms of one number', () => {
  test.each([
    ['5215512345678', '525512345678', '15512345678'],
    ['5491123456789', '541123456789', '541123456780'],
    ['5511987654321', '551187654321', '551137654321'],
  ])('goes in both, whether %s or %s is erased, and %s stays', async (one, another, stranger) => {
    for (const [asked, held] of [
      [one, another],
      [another, one],
    ] as const) {
      await query('truncate ops.erasures, warehouse.sms_messages, warehouse.sms_conversations');
      const mirrorAll = async () => {
        const ids = [callId(), callId()];
        for (const [at, number] of [held, stranger].entries()) {
          const messages = asRead(message, [{ id: ++seq, direction: 'in', from: number, to: line, text: 'Hello' }]);
          const thread = { line, number, participants: [] };
          await mirrorCall(ids[at] ?? '', { callerNumber: number });
          await inTransaction((tx) =>
            writeThreads(tx, ignored, [{ thread, messages, isComplete: false, read: read() }]),
          );
        }
        return await Promise.all(ids.map(parties));
      };
      const kept = [blankCaller, { external_number: stranger, is_erased: false }];
      await mirrorAll();
      await erase(asked);
      const numbers = `select array_agg(number) from warehouse.sms_conversations`;
      expect(await value(numbers)).toEqual([stranger]);
      expect(await value('select count(*)::int from warehouse.calls where external_number = $1', held)).toBe(0);
      expect(await mirrorAll()).toMatchObject(kept);
      expect(await value(numbers)).toEqual([stranger]);
    }
  });
});
