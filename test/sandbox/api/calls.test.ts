import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;
let clock = Date.parse('2026-03-04T15:00:00Z');

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0, now: () => new Date(clock) });
  ask = caller(sandbox);
});
afterAll(() => sandbox.close());

const answered = { direction: 'inbound', status: 'answered', recorded: true, durationSeconds: 200 } as const;

test('legs chain from the first and add up to the call', async () => {
  const made = await sandbox.emit.call({ ...answered, group: 'Service', transfers: 1 });
  const { body } = await ask('GET', `/calls/${made.id}`);
  const { legs, ...call } = body.data;
  expect(call).toMatchObject({ id: made.id, direction: 'inbound', status: 'answered', transferred: 1, statusCode: 2 });
  expect(call.durationSeconds).toBe(200);
  expect(legs.map((leg: { uniqueId: string }) => leg.uniqueId)).toEqual(made.legs);
  expect(legs[0]).toMatchObject({ uniqueId: made.id, callerType: 'external', calledType: 'ivr' });
  expect(legs[0]).not.toHaveProperty('bridgedFromCallId');
  for (const [index, leg] of legs.slice(1).entries()) expect(leg.bridgedFromCallId).toBe(legs[index].uniqueId);
  const total = legs.reduce((sum: number, leg: { durationSeconds: number }) => sum + leg.durationSeconds, 0);
  expect(total).toBe(200);
  expect(legs.at(-1).callId).toBe(legs.at(-1).uniqueId);
});

test('recordings and transcripts appear in their time', async () => {
  const made = await sandbox.emit.call({
    ...answered,
    transfers: 0,
    recordingAfterMs: 5_000,
    transcriptAfterMs: 9_000,
  });
  const read = async (what: string) => (await ask('GET', `/calls/${made.id}/${what}`)).body.data;
  expect([await read('recordings'), await read('transcripts')]).toEqual([[], []]);

  clock += 5_000;
  const [recording] = await read('recordings');
  expect(recording).toMatchObject({ uniqueId: made.recordings[0], callId: made.id });
  expect((await fetch(recording.url)).headers.get('content-type')).toBe('audio/wav');
  expect(await read('transcripts')).toEqual([]);

  clock += 4_000;
  const [transcript] = await read('transcripts');
  expect(transcript).toMatchObject({ id: made.transcriptIds[0], callId: made.id });
  expect(transcript.recording).toContain(recording.uniqueId.replace('.', ''));
});

test('late artefacts come as late as the fault says', async () => {
  sandbox.faults({ kind: 'lateArtefacts', recordingMs: 60_000, transcriptMs: 90_000 });
  const made = await sandbox.emit.call({ ...answered, recordingAfterMs: 0, transcriptAfterMs: 0 });
  sandbox.faults();
  const count = async (what: string) => (await ask('GET', `/calls/${made.id}/${what}`)).body.data.length;
  clock += 59_000;
  expect(await count('recordings')).toBe(0);
  clock += 2_000;
  expect([(await count('recordings')) > 0, await count('transcripts')]).toEqual([true, 0]);
  clock += 30_000;
  expect(await count('transcripts')).toBe(made.transcriptIds.length);
});

test('an answered call back is credited to the abandoned call', async () => {
  const number = '12125550177';
  const lost = await sandbox.emit.call({ direction: 'inbound', status: 'missed', abandoned: true, number });
  expect((await ask('GET', `/calls/${lost.id}`)).body.data).not.toHaveProperty('calledBack');
  clock += 600_000;
  const back = await sandbox.emit.call({ direction: 'outbound', status: 'answered', number, durationSeconds: 60 });
  expect((await ask('GET', `/calls/${lost.id}`)).body.data.calledBack).toBe(back.id);
});

test('a provoked transcript holds what was given', async () => {
  const call = await sandbox.emit.call({ ...answered, transcriptAfterMs: null });
  expect(call.transcriptIds).toEqual([]);
  const made = await sandbox.emit.transcript({
    callId: call.id,
    callSentiment: 'furious',
    shortSummary: 'Nothing worked.',
  });
  const { body } = await ask('GET', `/calls/${call.id}/transcripts`);
  expect(body.data).toHaveLength(made.transcriptIds.length);
  expect(body.data[0]).toMatchObject({ callSentiment: 'furious', shortSummary: 'Nothing worked.' });

  const window = { start: clock / 1000 - 3_600, end: clock / 1000, filters: { callSentiment: ['furious'] } };
  const found = await ask('POST', '/calls/search', window);
  expect(found.body.data.calls).toMatchObject([{ id: call.id }]);
});

test('a call takes the way that it is given, shows its legs late, and can end again as something else', async () => {
  const { id } = await sandbox.emit.call({
    direction: 'inbound',
    status: 'missed',
    legs: [
      { calledType: 'ivr', talkSeconds: 20 },
      { calledType: 'user', status: 'noanswer', ringSeconds: 15 },
      { calledType: 'mailbox', talkSeconds: 30 },
    ],
    legsAfterMs: 5_000,
    shown: { callerType: null, callerNumber: '101' },
  });
  const shown = async () => (await ask('GET', `/calls/${id}`)).body.data;
  const first = await shown();
  expect(first).toMatchObject({ status: 'missed', callerNumber: '101', durationSeconds: 65, legs: [] });
  expect(first).not.toHaveProperty('callerType');
  clock += 5_000;
  expect((await shown()).legs).toMatchObject([
    { callerType: 'external', calledType: 'ivr', status: 'answer', talkTimeSeconds: 20 },
    { callerType: 'ivr', calledType: 'user', status: 'noanswer', talkTimeSeconds: 0 },
    { callerType: 'ivr', calledType: 'mailbox', status: 'answer', talkTimeSeconds: 30 },
  ]);
  await sandbox.emit.call({ callId: id, status: 'voicemail', recorded: true });
  expect(await shown()).toMatchObject({ id, status: 'voicemail', statusCode: 0, recorded: true, callerNumber: '101' });
});
