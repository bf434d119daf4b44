import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { callTemplates } from '../../../src/sandbox/seed/transcripts.ts';
import type { CallEvent } from '../../../src/sandbox/traffic/events.ts';
import { type Ask, caller } from '../client/caller.ts';

let clock = Date.parse('2026-12-01T12:00:00Z');
let sandbox: Sandbox;
let ask: Ask;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0, now: () => new Date(clock) });
  ask = caller(sandbox);
});
afterAll(() => sandbox.close());

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

test('transcripts are searched from the moment they are finished', async () => {
  const id = await made({
    ...{ startTime: '2026-12-01T11:00:00Z', direction: 'inbound', status: 'answered', recorded: true, transfers: 0 },
    ...{ durationSeconds: 600, transcriptAfterMs: 60_000 },
  });
  const search = () => found('2026-12-01', { callPurpose: callTemplates.map(({ purpose }) => purpose) });
  expect(await search()).toEqual([]);
  clock += 60_000;
  expect(await search()).toEqual([id]);
  await sandbox.emit.transcript({ callId: id, callPurpose: 'Praise' });
  expect(await search()).toEqual([]);
  expect(await found('2026-12-01', { callPurpose: ['Praise'] })).toEqual([id]);
  expect(await found('2026-12-01', { callPurpose: ['praise', 'Unused'] })).toEqual([]);
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
