import { expect } from 'vitest';
import { type Case, cases, refusals, rows } from '../case.ts';
import { type Anything, ask, eventually, everything, rfc3339, sandbox, told } from '../service.ts';

const ofCalls = ['getCall', 'listRecordings', 'listTranscripts'] as const;
const ofId = (callid: string) => ({ path: { callid } });
const text = expect.any(String);
const texts = (...names: string[]) => Object.fromEntries(names.map((name) => [name, text]));
const parties = ['callerType', 'callerName', 'callerNumber', 'calledType', 'calledName', 'calledNumber'];
const recorded = { direction: 'inbound', status: 'answered', recorded: true } as const;

async function someCalls(): Promise<Anything[]> {
  const { calls } = await told('searchCalls', { body: { ...everything(), limit: 500 } });
  expect(calls.length).toBeGreaterThan(0);
  return calls;
}

async function callOf(event: Parameters<typeof sandbox.emit.call>[0]): Promise<Anything> {
  const { id } = await sandbox.emit.call(event);
  return told('getCall', ofId(id));
}

/** Sections 2.9 to 2.11 and 4.6: what a call shows of itself. */
export const calls: readonly Case[] = [
  ...cases('2.9 read', {
    async 'every call has an id that begins with its start, a direction, a status with its code, and two parties'() {
      const words = texts(...parties, 'dialledNumber', 'callerIdInternal', 'callerIdExternal');
      for (const call of await someCalls()) {
        expect(call.id).toMatch(/^\d{9,11}\.\d+$/);
        expect(call).toMatchObject({ ...words, startTime: rfc3339 });
        expect(Date.parse(call.startTime) / 1000).toBe(Number(call.id.split('.')[0]));
        expect(['inbound', 'outbound']).toContain(call.direction);
        const { statusCode: code } = call;
        const status = code === -1 ? 'missed' : code === 0 ? 'voicemail' : code >= 1 ? 'answered' : 'unknown';
        expect(call.status).toBe(status);
      }
    },
    async 'durations include ringing, and an end is so long after the start'() {
      for (const { status, startTime, endTime, durationSeconds, talkTimeSeconds } of await someCalls()) {
        expect(durationSeconds).toBeGreaterThanOrEqual(talkTimeSeconds);
        if (status === 'missed') expect(talkTimeSeconds).toBe(0);
        if (endTime === undefined) continue;
        expect((Date.parse(endTime) - Date.parse(startTime)) / 1000).toBe(durationSeconds);
      }
    },
  }),
  ...cases('2.9 control', {
    async 'a call without recorded end has none, an abandoned call is missed, a returned one names the other call'() {
      await sandbox.emit.call({ status: 'unknown' });
      const found = await someCalls();
      const directions = new Map(found.map(({ id, direction }) => [id, direction]));
      expect(found.some((call) => !('endTime' in call))).toBe(true);
      expect(new Set(found.filter(({ abandoned }) => abandoned).map(({ status }) => status))).toEqual(
        new Set(['missed']),
      );
      const returned = found.filter(({ calledBack }) => calledBack !== undefined);
      expect(returned.length).toBeGreaterThan(0);
      for (const { calledBack, abandoned } of returned) {
        expect([abandoned, directions.get(calledBack)]).toEqual([true, 'outbound']);
      }
      expect(found.some(({ repeated }) => repeated > 0)).toBe(true);
    },
    async "the dialled number of an inbound call is the account's"() {
      const [users, lines] = [await told('listUsers'), await told('listLines')];
      const own = [users.map(({ numbers }: Anything) => numbers), lines.map(({ number }: Anything) => number)];
      expect(own.flat(2)).toContain((await callOf({ direction: 'inbound' })).dialledNumber);
    },
    async 'extensions stand where both ends are inside'() {
      const call = await callOf({ direction: 'internal' });
      const extensions = (await told('listUsers')).flatMap((user: Anything) => user.extensions);
      expect([call.callerType, call.calledType]).toEqual(['user', 'user']);
      expect(extensions).toEqual(expect.arrayContaining([call.callerNumber, call.calledNumber]));
    },
    async 'one call has the fields of its summary and legs that chain'() {
      const { legs, ...summary } = await callOf({ direction: 'inbound', status: 'answered', transfers: 2 });
      expect((await someCalls()).find(({ id }) => id === summary.id)).toEqual(summary);
      expect(summary.transferred).toBe(2);
      expect(legs.length).toBeGreaterThan(2);
      const [first, ...others] = legs;
      expect(first).not.toHaveProperty('bridgedFromCallId');
      const ids = legs.map(({ uniqueId }: Anything) => uniqueId);
      for (const { bridgedFromCallId } of others) expect(ids).toContain(bridgedFromCallId);
    },
  }),
  ...cases('2.10 control', {
    async 'recordings name their legs, and their links play for anyone and stay the same'() {
      const made = await sandbox.emit.call({ ...recorded, transfers: 1, recordingAfterMs: 0 });
      const recordings: Anything[] = await told('listRecordings', ofId(made.id));
      expect(recordings.map(({ uniqueId }) => uniqueId)).toEqual(made.recordings);
      const { legs } = await told('getCall', ofId(made.id));
      const callIds = new Map(legs.map(({ uniqueId, callId }: Anything) => [uniqueId, callId]));
      for (const recording of recordings) {
        expect(recording).toMatchObject({ startTime: rfc3339, from: text, to: text });
        expect(recording.callId).toBe(callIds.get(recording.uniqueId));
        expect(recording.durationSeconds).toBeGreaterThanOrEqual(recording.talkTimeSeconds);
      }
      expect(new Set(recordings.map(({ callId }) => callId)).size).toBeGreaterThan(1);
      const audio = await fetch(recordings[0].url);
      expect([audio.status, audio.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^audio\//)]);
      expect(await told('listRecordings', ofId(made.id))).toEqual(recordings);
    },
  }),
  ...cases('4.6 control', {
    async 'recordings appear some time after the call'() {
      const { id } = await sandbox.emit.call({ ...recorded, recordingAfterMs: 400 });
      expect(await told('listRecordings', ofId(id))).toEqual([]);
      await eventually(async () => expect(await told('listRecordings', ofId(id))).not.toEqual([]));
    },
    async 'a call that was not recorded has neither recordings nor transcripts'() {
      const call = await callOf({ recorded: false });
      expect(call.recorded).toBe(false);
      for (const operation of ['listRecordings', 'listTranscripts'] as const) {
        expect(await told(operation, ofId(call.id))).toEqual([]);
      }
    },
  }),
  ...cases('2.11 control', {
    async 'transcripts stand in order of time, share the call, and name the audio of their leg'() {
      const wishes = { ...recorded, durationSeconds: 300, transfers: 1, recordingAfterMs: 0, transcriptAfterMs: 0 };
      const { id, recordings } = await sandbox.emit.call(wishes);
      const transcripts: Anything[] = await told('listTranscripts', ofId(id));
      expect(transcripts.length).toBeGreaterThan(0);
      expect(transcripts.length).toBeLessThanOrEqual(recordings.length);
      const [flag, list] = [expect.any(Boolean), expect.any(Array)];
      const always = { callId: id, actionRequired: flag, urgentActionRequired: flag, bulletPoints: list };
      const notes = texts('shortSummary', 'callPurpose', 'callSentiment', 'customerSatisfactionScoreNote');
      const scores = { customerSatisfactionScore: expect.any(Number), agentPerformanceScore: expect.any(Number) };
      for (const transcript of transcripts) {
        expect(transcript).toMatchObject(always);
        expect(Number.isInteger(transcript.id)).toBe(true);
        expect(recordings.some((leg) => transcript.recording.includes(leg.replace('.', '')))).toBe(true);
        const optional = Object.entries({ ...notes, ...scores }).filter(([field]) => field in transcript);
        expect(transcript).toMatchObject(Object.fromEntries(optional));
        const starts = transcript.segments.map(({ start }: Anything) => start);
        expect(starts).toEqual(starts.toSorted((one: number, other: number) => one - other));
        for (const { start, end, speaker, text } of transcript.segments) {
          expect(end).toBeGreaterThanOrEqual(start);
          expect([Number.isInteger(speaker), typeof text]).toEqual([true, 'string']);
        }
        const speakers = transcript.segments.map(({ speaker }: Anything) => speaker);
        if (transcript.agentSpeaker !== undefined) expect(speakers).toContain(transcript.agentSpeaker);
        for (const kpi of transcript.customKpis) expect(kpi).toMatchObject(texts('name', 'note'));
      }
    },
  }),
  ...ofCalls.flatMap((operation) => [
    ...rows('4.6 read', operation, {
      [`${operation} of a call that there is not is not_found`]: [ofId('1500000000.1'), '404 not_found'],
    }),
    ...refusals('4.6 read', operation, {
      [`${operation} refuses an id without dot`]: ofId('1500000000'),
      [`${operation} refuses an id that is a name`]: ofId('latest'),
    }),
  ]),
  ...cases('4.6 read', {
    async 'the refusal of a malformed call id names the shape that is expected'() {
      const { text } = await ask('getCall', ofId('latest'));
      expect(JSON.parse(text).error.message).toMatch(/timestamp|unix|\d{9,11}\.\d+/i);
    },
  }),
];
