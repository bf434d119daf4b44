import { expect, vi } from 'vitest';
import { type Case, refusals, row } from '../case.ts';
import type { CaseContext } from '../harness/suite.ts';
import type { OperationId } from '../operations.ts';

const rfc3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
const patience = { timeout: 60_000, interval: 100 };
const gone = '1500000000.1';
const ofCalls = ['getCall', 'listRecordings', 'listTranscripts'] as const;

interface Shown {
  id: string;
  direction: string;
  status: string;
  statusCode: number;
  callerType: string;
  callerNumber: string;
  calledType: string;
  calledNumber: string;
  startTime: string;
  endTime?: string;
  durationSeconds: number;
  talkTimeSeconds: number;
  transferred: number;
  recorded: boolean;
  abandoned: boolean;
  calledBack?: string;
  repeated: number;
  legs: Shown[];
  uniqueId: string;
  callId: string;
  bridgedFromCallId?: string;
}

async function someCalls(context: CaseContext): Promise<Shown[]> {
  const end = Math.floor(Date.now() / 1000) + 60;
  const { status, data } = await context.ask('searchCalls', { body: { start: end - 30 * 86_400, end, limit: 500 } });
  expect(status).toBe(200);
  expect(data.calls.length).toBeGreaterThan(0);
  return data.calls;
}

async function callOf(context: CaseContext, event: Record<string, unknown>): Promise<Shown> {
  const { id } = await context.control.call(event);
  return (await context.ask('getCall', { path: { callid: id } })).data;
}

/** Sections 2.9 and 4.6: what a call shows of itself. */
export const calls: readonly Case[] = [
  {
    name: 'every call has an id that begins with its start, a direction, a status with its code, and two parties',
    section: '2.9',
    operations: ['searchCalls'],
    needs: 'read',
    async run(context) {
      const words = [
        'callerType',
        'callerName',
        'callerNumber',
        'calledType',
        'calledName',
        'calledNumber',
        'dialledNumber',
      ];
      const text = Object.fromEntries(
        [...words, 'callerIdInternal', 'callerIdExternal'].map((name) => [name, expect.any(String)]),
      );
      for (const call of await someCalls(context)) {
        expect(call.id).toMatch(/^\d{9,11}\.\d+$/);
        expect(call).toMatchObject({ ...text, startTime: rfc3339 });
        expect(Date.parse(call.startTime) / 1000).toBe(Number(call.id.split('.')[0]));
        expect(['inbound', 'outbound']).toContain(call.direction);
        const { statusCode: code } = call;
        const status = code === -1 ? 'missed' : code === 0 ? 'voicemail' : code >= 1 ? 'answered' : 'unknown';
        expect(call.status).toBe(status);
      }
    },
  },
  {
    name: 'durations include ringing, and an end is so long after the start',
    section: '2.9',
    operations: ['searchCalls'],
    needs: 'read',
    async run(context) {
      for (const call of await someCalls(context)) {
        expect(call.durationSeconds).toBeGreaterThanOrEqual(call.talkTimeSeconds);
        if (call.status === 'missed') expect(call.talkTimeSeconds).toBe(0);
        if (call.endTime === undefined) continue;
        expect((Date.parse(call.endTime) - Date.parse(call.startTime)) / 1000).toBe(call.durationSeconds);
      }
    },
  },
  {
    name: 'a call without recorded end has none, an abandoned call is missed, a returned one names the other call',
    section: '2.9',
    operations: ['searchCalls'],
    needs: 'control',
    async run(context) {
      await context.control.call({ status: 'unknown' });
      const found = await someCalls(context);
      const ids = new Map(found.map((call) => [call.id, call]));
      expect(found.filter((call) => !('endTime' in call)).length).toBeGreaterThan(0);
      const abandoned = found.filter((call) => call.abandoned);
      expect(abandoned.length).toBeGreaterThan(0);
      expect(abandoned.every(({ status }) => status === 'missed')).toBe(true);
      const returned = found.filter(({ calledBack }) => calledBack !== undefined);
      expect(returned.length).toBeGreaterThan(0);
      for (const { calledBack, abandoned: isAbandoned } of returned) {
        expect([isAbandoned, ids.get(calledBack ?? '')?.direction]).toEqual([true, 'outbound']);
      }
      expect(found.some(({ repeated }) => repeated > 0)).toBe(true);
    },
  },
  {
    name: "the dialled number of an inbound call is the account's",
    section: '2.9',
    operations: ['getCall'],
    needs: 'control',
    async run(context) {
      const [users, lines] = [(await context.bare('listUsers')).data, (await context.bare('listLines')).data];
      const own = [
        ...users.flatMap(({ numbers }: { numbers: string[] }) => numbers),
        ...lines.map(({ number }: { number: string }) => number),
      ];
      const { dialledNumber } = (await callOf(context, { direction: 'inbound' })) as Shown & { dialledNumber: string };
      expect(own).toContain(dialledNumber);
    },
  },
  {
    name: 'extensions stand where both ends are inside',
    section: '2.9',
    operations: ['getCall'],
    needs: 'control',
    async run(context) {
      const call = await callOf(context, { direction: 'internal' });
      const { data } = await context.bare('listUsers');
      const extensions = data.flatMap((user: { extensions: string[] }) => user.extensions);
      expect([call.callerType, call.calledType]).toEqual(['user', 'user']);
      expect(extensions).toEqual(expect.arrayContaining([call.callerNumber, call.calledNumber]));
    },
  },
  {
    name: 'one call has the fields of its summary and legs that chain',
    section: '2.9',
    operations: ['getCall', 'searchCalls'],
    needs: 'control',
    async run(context) {
      const call = await callOf(context, { direction: 'inbound', status: 'answered', transfers: 2 });
      const { legs, ...summary } = call;
      expect((await someCalls(context)).find(({ id }) => id === call.id)).toEqual(summary);
      expect(summary.transferred).toBe(2);
      expect(legs.length).toBeGreaterThan(2);
      const [first, ...others] = legs;
      expect(first).not.toHaveProperty('bridgedFromCallId');
      const ids = new Set(legs.map(({ uniqueId }) => uniqueId));
      expect(others.every(({ bridgedFromCallId = '' }) => ids.has(bridgedFromCallId))).toBe(true);
    },
  },
  {
    name: 'recordings name their legs, and their links play for anyone and stay the same',
    section: '2.10',
    operations: ['listRecordings'],
    needs: 'control',
    async run(context) {
      const made = await context.control.call({
        direction: 'inbound',
        status: 'answered',
        recorded: true,
        transfers: 1,
        recordingAfterMs: 0,
      });
      const path = { callid: made.id };
      const { status, data } = await context.ask('listRecordings', { path });
      expect(status).toBe(200);
      expect(data.map(({ uniqueId }: Shown) => uniqueId)).toEqual(made.recordings);
      const { legs } = (await context.ask('getCall', { path })).data as Shown;
      const callIds = new Map(legs.map(({ uniqueId, callId }) => [uniqueId, callId]));
      for (const recording of data) {
        expect(recording).toMatchObject({ startTime: rfc3339, from: expect.any(String), to: expect.any(String) });
        expect(recording.callId).toBe(callIds.get(recording.uniqueId));
        expect(recording.durationSeconds).toBeGreaterThanOrEqual(recording.talkTimeSeconds);
      }
      expect(new Set(data.map(({ callId }: Shown) => callId)).size).toBeGreaterThan(1);
      const audio = await fetch(data[0].url);
      expect([audio.status, audio.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^audio\//)]);
      expect((await context.ask('listRecordings', { path })).data).toEqual(data);
    },
  },
  {
    name: 'recordings appear some time after the call',
    section: '4.6',
    operations: ['listRecordings'],
    needs: 'control',
    async run(context) {
      const { id } = await context.control.call({
        direction: 'inbound',
        status: 'answered',
        recorded: true,
        recordingAfterMs: 400,
      });
      const path = { callid: id };
      expect(await context.ask('listRecordings', { path })).toMatchObject({ status: 200, data: [] });
      await vi.waitFor(
        async () => expect((await context.ask('listRecordings', { path })).data).not.toEqual([]),
        patience,
      );
    },
  },
  {
    name: 'a call that was not recorded has neither recordings nor transcripts',
    section: '4.6',
    operations: ['listRecordings', 'listTranscripts'],
    needs: 'control',
    async run(context) {
      const { id, recorded } = await callOf(context, { recorded: false });
      expect(recorded).toBe(false);
      for (const operation of ['listRecordings', 'listTranscripts'] as const) {
        expect(await context.ask(operation, { path: { callid: id } })).toMatchObject({ status: 200, data: [] });
      }
    },
  },
  {
    name: 'transcripts stand in order of time, share the call, and name the audio of their leg',
    section: '2.11',
    operations: ['listTranscripts'],
    needs: 'control',
    async run(context) {
      const wishes = { direction: 'inbound', status: 'answered', recorded: true, durationSeconds: 300, transfers: 1 };
      const { id, recordings } = await context.control.call({ ...wishes, recordingAfterMs: 0, transcriptAfterMs: 0 });
      const { status, data } = await context.ask('listTranscripts', { path: { callid: id } });
      expect(status).toBe(200);
      expect(data.length).toBeGreaterThan(0);
      expect(data.length).toBeLessThanOrEqual(recordings.length);
      for (const transcript of data) {
        expect([transcript.callId, Number.isInteger(transcript.id)]).toEqual([id, true]);
        expect(recordings.some((leg) => transcript.recording.includes(leg.replace('.', '')))).toBe(true);
        const starts = transcript.segments.map(({ start }: { start: number }) => start);
        expect(starts).toEqual(starts.toSorted((one: number, other: number) => one - other));
        for (const segment of transcript.segments) {
          expect(segment.end).toBeGreaterThanOrEqual(segment.start);
          expect([Number.isInteger(segment.speaker), typeof segment.text]).toEqual([true, 'string']);
        }
        expect(transcript).toMatchObject({ bulletPoints: expect.any(Array), customKpis: expect.any(Array) });
        expect([typeof transcript.actionRequired, typeof transcript.urgentActionRequired]).toEqual([
          'boolean',
          'boolean',
        ]);
        const optional = {
          shortSummary: 'string',
          callPurpose: 'string',
          callSentiment: 'string',
          customerSatisfactionScore: 'number',
          agentPerformanceScore: 'number',
          customerSatisfactionScoreNote: 'string',
        };
        for (const [field, type] of Object.entries(optional)) {
          if (field in transcript) expect([field, typeof transcript[field]]).toEqual([field, type]);
        }
        const speakers = new Set(transcript.segments.map(({ speaker }: { speaker: number }) => speaker));
        if (transcript.agentSpeaker !== undefined) expect(speakers).toContain(transcript.agentSpeaker);
        for (const kpi of transcript.customKpis)
          expect(kpi).toMatchObject({ name: expect.any(String), note: expect.any(String) });
      }
    },
  },
  ...ofCalls.flatMap((operation: OperationId): Case[] => {
    return [
      row({
        name: `${operation} of a call that there is not is not_found`,
        section: '4.6',
        operation,
        needs: 'read',
        request: { path: { callid: gone } },
        expect: { status: 404, type: 'not_found' },
      }),
      ...refusals({ operation, needs: 'read', section: '4.6' }, [
        [`${operation} refuses an id without dot`, { path: { callid: '1500000000' } }],
        [`${operation} refuses an id that is a name`, { path: { callid: 'latest' } }],
      ]),
    ];
  }),
  {
    name: 'the refusal of a malformed call id names the shape that is expected',
    section: '4.6',
    operations: ['getCall'],
    needs: 'read',
    only: 'bare',
    async run(context) {
      const { text = '' } = await context.bare('getCall', { path: { callid: 'latest' } });
      expect(JSON.parse(text).error.message).toMatch(/timestamp|unix|\d{9,11}\.\d+/i);
    },
  },
];
