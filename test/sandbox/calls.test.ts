import { expect, test } from 'vitest';
import type { CallEvent } from '../../src/sandbox/traffic/events.ts';
import { sandboxOfFile } from './client/caller.ts';

let clock = Date.parse('2026-03-04T15:00:00Z');
const { sandbox, ask } = await sandboxOfFile({ now: () => new Date(clock) });
const answered = { direction: 'inbound', status: 'answered', recorded: true, durationSeconds: 200 } as const;
const shown = async (id: string) => (await ask('GET', `/calls/${id}`)).body.data;

test('legs add up to the call, each from the one before', async () => {
  const made = await sandbox.emit.call({ ...answered, group: 'Service', transfers: 1 });
  const { legs, ...call } = await shown(made.id);
  expect(call).toMatchObject({ direction: 'inbound', status: 'answered', transferred: 1, statusCode: 2 });
  const ids = legs.map((leg: { uniqueId: string }) => leg.uniqueId);
  expect(ids).toEqual(made.legs);
  expect(legs[0]).toMatchObject({ uniqueId: made.id, callerType: 'external', calledType: 'ivr' });
  const before = legs.map((leg: { bridgedFromCallId?: string }) => leg.bridgedFromCallId);
  expect(before).toEqual([undefined, ...ids.slice(0, -1)]);
  const total = legs.reduce((sum: number, leg: { durationSeconds: number }) => sum + leg.durationSeconds, 0);
  expect([call.durationSeconds, total]).toEqual([200, 200]);
  expect(legs.at(-1).callId).toBe(ids.at(-1));
});

test('a provoked transcript holds what was given', async () => {
  const call = await sandbox.emit.call({ ...answered, transcriptAfterMs: null });
  expect(call.transcriptIds).toEqual([]);
  const words = { callSentiment: 'furious', shortSummary: 'Nothing worked.' };
  const made = await sandbox.emit.transcript({ callId: call.id, ...words });
  const { data } = (await ask('GET', `/calls/${call.id}/transcripts`)).body;
  expect(data).toHaveLength(made.transcriptIds.length);
  expect(data[0]).toMatchObject(words);
  const window = { start: clock / 1000 - 3_600, end: clock / 1000, filters: { callSentiment: ['furious'] } };
  expect((await ask('POST', '/calls/search', window)).body.data.calls).toMatchObject([{ id: call.id }]);
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
  const first = await shown(id);
  expect(first).toMatchObject({ status: 'missed', callerNumber: '101', durationSeconds: 65, legs: [] });
  expect(first).not.toHaveProperty('callerType');
  clock += 5_000;
  expect((await shown(id)).legs).toMatchObject([
    { callerType: 'external', calledType: 'ivr', status: 'answer', talkTimeSeconds: 20 },
    { callerType: 'ivr', calledType: 'user', status: 'noanswer', talkTimeSeconds: 0 },
    { callerType: 'ivr', calledType: 'mailbox', status: 'answer', talkTimeSeconds: 30 },
  ]);
  await sandbox.emit.call({ callId: id, status: 'voicemail', recorded: true });
  const voicemail = { id, status: 'voicemail', statusCode: 0, recorded: true, callerNumber: '101' };
  expect(await shown(id)).toMatchObject(voicemail);
});

const made = async (event: CallEvent) => (await sandbox.emit.call({ announce: false, ...event })).id;

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
  const during = (day: string, hour: string) =>
    found(day, { timeOfDay: { start: `${hour}:00`, end: `${hour}:59` } }, { timeZone: 'America/New_York' });
  const hours = [await during('2026-03-08', '01'), await during('2026-03-08', '02'), await during('2026-03-08', '03')];
  expect(hours).toEqual([[spring[0]], [], [spring[1]]]);
  expect(await during('2026-11-01', '01')).toEqual(autumn.toReversed());
});

test('a call that is changed is found as what it became', async () => {
  const [day, number] = ['2026-05-10', '12125550199'];
  const lost = await made({ startTime: `${day}T09:00:00Z`, direction: 'inbound', abandoned: true, number });
  const back = await made({ startTime: `${day}T10:00:00Z`, direction: 'outbound', status: 'answered', number });
  const sorted = await found(day, {}, { sort: { field: 'calledBack', direction: 'desc' } });
  expect(sorted).toEqual([lost, back]);
  expect(await found(day, { numbers: [number], directions: ['inbound'] })).toEqual([lost]);
});
