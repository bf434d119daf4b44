import { beforeEach, describe, expect, test } from 'vitest';
import { createSealer } from '../../src/credentials/sealer.ts';
import type { Transaction } from '../../src/db/database.ts';
import { markDirty } from '../../src/inbox/targets.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { writeRecordings } from '../../src/warehouse/recordings.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { callId, shownCall, shownRecording, shownTranscript } from '../sync/call-service.ts';
import { locksHere } from '../world/database.ts';
import { until } from '../world.ts';
import {
  callReads,
  theirNumber as gone,
  ignored,
  ourLine as line,
  recordingsRead,
  textsRead,
  transcriptsRead,
} from './reads.ts';

const facts = await factsDatabase();
const { db, expectRows, query, value } = facts;

const noQueues = { forget: async () => 0 };
const sealer = createSealer('a key of thirty-two letters or more');

let seq = 10;
const next = () => ++seq;
const inTransaction = (work: (tx: Transaction) => Promise<unknown>) => db.transaction().execute(work);
const remember = (number = gone) =>
  query('insert into ops.erasures (number_hash) values (ops.erasure_hash($1)) on conflict do nothing', number);
const erase = (number = gone) => eraseNumber({ db, queues: noQueues, knownAfterMs: 0 }, number);

const mirrorCall = (id: string, more: object = {}) =>
  inTransaction((tx) => writeCalls(tx, ignored, callReads(next(), shownCall(id, more))));
const mirrorRecordings = (id: string, more: object = {}) => {
  const read = { ...recordingsRead(next(), id, [shownRecording(id, more)]), sealer };
  return inTransaction((tx) => writeRecordings(tx, ignored, [read]));
};
const mirrorTranscripts = (id: string, number: number) => {
  const segments = [{ start: 0, end: 1, speaker: 0, text: 'Hello' }];
  const read = transcriptsRead(next(), id, [shownTranscript(number, id, { segments })]);
  return inTransaction((tx) => writeTranscripts(tx, ignored, [read]));
};
const threadRead = (number: string, participants: readonly string[] = []) => {
  const text = { id: next(), direction: 'in', from: number, to: line, text: 'hi', sentAt: '2026-04-21T00:00:00Z' };
  return { ...textsRead(next(), [text], number), thread: { line, number, participants } };
};
const mirrorThread = (number: string, participants: readonly string[] = []) =>
  inTransaction((tx) => writeThreads(tx, ignored, [threadRead(number, participants)]));

/** Caller's name and number, called party's, what was dialled, the other party, our number, and whether it is erased. */
const parties = (id: string) =>
  expectRows(
    `select caller_name, caller_number, called_name, called_number, dialled_number, external_number, account_number, is_erased
     from warehouse.calls where call_id = $1`,
    id,
  );
const blank = `- | - | Reception | 101 | ${line} | - | ${line} | true`;
const held = (id: string) =>
  expectRows(
    `select (select count(*) from secrets.links where owner = $1) as links, (select count(*) from warehouse.transcripts where call_id = $1) as transcripts`,
    id,
  );

beforeEach(() => query('truncate ops.erasures, ops.sync_targets'));

describe('a call', () => {
  test('of a caller who was erased is mirrored without the caller', async () => {
    await remember();
    const id = callId();
    await mirrorCall(id);
    await parties(id).toEqual([blank]);
    expect(await value(`select extra from warehouse.calls where call_id = $1`, id)).toBeNull();
  });

  test('that is erased looks as one that is read after the erasure', async () => {
    const leg = (
      uniqueId: string,
      callerName: string,
      callerNumber: string,
      calledName: string,
      calledNumber: string,
    ) => ({
      ...{ uniqueId, callerName, callerNumber, calledName, calledNumber },
    });
    const legs = [
      leg('1.1', 'WIRELESS CALLER', `+${gone}`, 'Sales', '200'),
      leg('1.2', 'Sales', '200', 'WIRELESS CALLER', '300'),
      leg('1.3', 'Nobody', '400', 'Sales', '200'),
    ];
    const more = { callerIdExternal: `"WIRELESS CALLER" <${gone}>`, callerIdInternal: 'WIRELESS CALLER', legs };
    const id = callId();
    await mirrorCall(id, more);
    await erase();
    const columns = 'caller_name, caller_number, called_name, called_number';
    const ids = 'caller_id_internal, caller_id_external, external_number';
    const ofLegs = () =>
      expectRows(`select ${columns} from warehouse.call_legs where call_id = $1 order by ordinal`, id);
    const picture = () => facts.lines(`select ${columns}, ${ids} from warehouse.calls where call_id = $1`, id);
    const erased = await picture();
    const kept = ['- | - | Sales | 200', 'Sales | 200 | - | 300', 'Nobody | 400 | Sales | 200'];
    await ofLegs().toEqual(kept);
    await mirrorCall(id, more);
    expect(await picture()).toEqual(erased);
    await ofLegs().toEqual(kept);
  });

  test('that was dialled to somebody who was erased is mirrored without the name of the called', async () => {
    await remember();
    const id = callId();
    await mirrorCall(id, {
      callerNumber: '15550000009',
      dialledNumber: gone,
      calledNumber: '101',
      calledName: 'Wanda',
    });
    await parties(id).toEqual([expect.stringMatching(/ \| 15550000009 \| - \| 101 \| - \| .* \| true$/)]);
  });

  test('stays blank when a later read shows less of who it was', async () => {
    const id = callId();
    await mirrorCall(id);
    await erase();
    await mirrorCall(id, { callerNumber: undefined, callerName: 'Wanda Caller' });
    await parties(id).toEqual([blank]);
  });

  test('that a leg brought to somebody who was erased keeps its other party', async () => {
    const id = callId();
    const legs = [{ uniqueId: '2.1', calledNumber: gone, calledName: 'Wanda' }];
    await mirrorCall(id, { callerNumber: '15550000009', legs });
    await mirrorRecordings(id);
    await erase();
    await parties(id).toEqual([expect.stringMatching(/ \| 15550000009 \| 15550000001 \| true$/)]);
    await expectRows('select called_name, called_number from warehouse.call_legs where call_id = $1', id).toEqual([
      '- | -',
    ]);
    await held(id).toEqual(['0 | 0']);
  });

  test('of others is as it was', async () => {
    await remember('15550000099');
    const id = callId();
    await mirrorCall(id);
    await mirrorRecordings(id);
    await mirrorTranscripts(id, 901);
    await parties(id).toEqual([
      expect.stringMatching(/ \| 15550000002 \| Reception .* \| 15550000002 \| 15550000001 \| false$/),
    ]);
    await held(id).toEqual(['1 | 1']);
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
    await expectRows('select from_endpoint, to_endpoint from warehouse.recordings where call_id = $1', id).toEqual([
      '- | -',
    ]);
    await held(id).toEqual(['0 | 0']);
    const counts = 'recording_count, recordings_state, transcript_count, transcripts_state';
    await expectRows(`select ${counts} from warehouse.calls where call_id = $1`, id).toEqual([
      '1 | complete | 0 | complete',
    ]);
  });

  test('goes when it came before its call', async () => {
    await remember();
    const id = callId();
    await mirrorRecordings(id);
    await mirrorTranscripts(id, 903);
    await held(id).toEqual(['1 | 1']);
    await mirrorCall(id);
    await held(id).toEqual(['0 | 0']);
  });

  test('goes when only its recording names who it was', async () => {
    await remember();
    const id = callId();
    await mirrorCall(id, { callerNumber: '15550000009' });
    await mirrorTranscripts(id, 904);
    await mirrorRecordings(id, { from: gone });
    await parties(id).toEqual([expect.stringMatching(/ \| true$/)]);
    expect(await value('select count(*)::integer from warehouse.transcripts where call_id = $1', id)).toBe(0);
  });
});

describe('a thread', () => {
  const threads = () => value('select count(*)::integer from warehouse.sms_conversations');

  test('with somebody who was erased is not mirrored, nor is a group', async () => {
    await remember();
    await mirrorThread(gone);
    await mirrorThread('15550000001', ['15550000001', gone]);
    expect(await threads()).toBe(0);
  });

  test('of a group goes with any of its members', async () => {
    await mirrorThread('15550000001', ['15550000001', gone]);
    expect(await threads()).toBe(1);
    await erase();
    expect(await threads()).toBe(0);
  });

  test('with somebody who was erased is never made due', async () => {
    await remember();
    const keys = [`${line}/${gone}`, `${line}/15550000001/15550000001,${gone}`, `${line}/15550000003`];
    const bumps = keys.map((key) => ({ kind: 'thread', key }) as const);
    await markDirty(db, bumps);
    expect(await query('select key from ops.sync_targets')).toEqual([{ key: `${line}/15550000003` }]);
  });

  test('that is being written when somebody is erased goes with the others', async () => {
    let erasing: Promise<unknown> = Promise.resolve();
    const waiting = `select count(*)::integer from ${locksHere} where relation = 'ops.erasures'::regclass and not granted`;
    await inTransaction(async (tx) => {
      await writeThreads(tx, ignored, [threadRead(gone)]);
      erasing = erase();
      await until(async () => (await value(waiting)) !== 0);
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
      await query('truncate ops.erasures, warehouse.sms_messages, warehouse.sms_conversations, warehouse.calls');
      const mirrorAll = async () => {
        for (const number of [held, stranger]) {
          await mirrorCall(callId(), { callerNumber: number });
          await mirrorThread(number);
        }
      };
      const kept = () => expectRows('select number from warehouse.sms_conversations');
      const calls = () => expectRows('select external_number, is_erased from warehouse.calls order by 1');
      await mirrorAll();
      await erase(asked);
      await kept().toEqual([stranger]);
      await calls().toEqual([`${stranger} | false`, '- | true']);
      await mirrorAll();
      await kept().toEqual([stranger]);
      await calls().toEqual([`${stranger} | false`, `${stranger} | false`, '- | true', '- | true']);
    }
  });
});
