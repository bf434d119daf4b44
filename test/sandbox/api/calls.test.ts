import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { CallEvent } from '../../../src/sandbox/traffic/events.ts';
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

async function made(event: CallEvent): Promise<string> {
  return (await sandbox.emit.call({ announce: false, ...event })).id;
}

/** Ids of what is found on one day (UTC), newest first. */
async function found(day: string, filters: object, rest: object = {}): Promise<string[]> {
  const start = Date.parse(`${day}T00:00:00Z`) / 1000;
  const request = { start, end: start + 86_399, filters, limit: 500, ...rest };
  const { status, body } = await ask('POST', '/calls/search', request);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data.calls.map((call: { id: string }) => call.id);
}

test('an hour that is skipped holds no call, and one that comes twice holds those of both', async () => {
  const at = (startTime: string) => made({ startTime });
  const spring = [await at('2026-03-08T06:59:00Z'), await at('2026-03-08T07:00:00Z')];
  const autumn = [await at('2026-11-01T05:30:00Z'), await at('2026-11-01T06:30:00Z')];
  const hour = (day: string, start: string, end: string) =>
    found(day, { timeOfDay: { start, end } }, { timeZone: 'America/New_York' });
  expect(await hour('2026-03-08', '01:00', '01:59')).toEqual([spring[0]]);
  expect(await hour('2026-03-08', '02:00', '02:59')).toEqual([]);
  expect(await hour('2026-03-08', '03:00', '03:59')).toEqual([spring[1]]);
  expect(await hour('2026-11-01', '01:00', '01:59')).toEqual(autumn.toReversed());
});

test('a call that is changed is found as what it became', async () => {
  const day = '2026-05-10';
  const number = '12125550199';
  const lost = await made({ startTime: `${day}T09:00:00Z`, direction: 'inbound', abandoned: true, number });
  const back = await made({ startTime: `${day}T10:00:00Z`, direction: 'outbound', status: 'answered', number });
  const sorted = await found(day, {}, { sort: { field: 'calledBack', direction: 'desc' } });
  expect(sorted).toEqual([lost, back]);
  expect(await found(day, { numbers: [number], directions: ['inbound'] })).toEqual([lost]);
});
