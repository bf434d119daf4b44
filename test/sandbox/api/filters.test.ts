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

test('an empty list, an empty search and a range without ends rule out nothing', async () => {
  const day = '2026-05-04';
  const all = [
    await made({ startTime: `${day}T10:00:00Z`, direction: 'outbound' }),
    await made({ startTime: `${day}T09:00:00Z`, status: 'missed' }),
  ];
  const lists = ['numbers', 'extensions', 'queues', 'huntgroups', 'users', 'directions', 'statuses', 'callPurpose'];
  const excludes = ['numbersExclude', 'extensionsExclude', 'queuesExclude', 'huntgroupsExclude', 'callSentiment'];
  for (const name of [...lists, ...excludes]) expect(await found(day, { [name]: [] }), name).toEqual(all);
  for (const name of ['duration', 'talkTime', 'waitTime', 'timeOfDay']) {
    expect(await found(day, { [name]: {} }), name).toEqual(all);
  }
  expect(await found(day, { search: '' })).toEqual(all);
});

test('an exclude takes from what the includes left, also what both name', async () => {
  const day = '2026-05-05';
  const [service, sales] = [
    await made({ startTime: `${day}T10:00:00Z`, direction: 'inbound', status: 'answered', group: 'Service' }),
    await made({ startTime: `${day}T09:00:00Z`, direction: 'inbound', status: 'answered', group: 'Sales' }),
  ];
  expect(await found(day, { queues: ['Service', 'Sales'] })).toEqual([service, sales]);
  expect(await found(day, { queues: ['Service', 'Sales'], queuesExclude: ['601'] })).toEqual([sales]);
  expect(await found(day, { queues: ['Service'], queuesExclude: ['Service'] })).toEqual([]);
});

test('the direction of the request and that of the filters both count', async () => {
  const day = '2026-05-06';
  const out = await made({ startTime: `${day}T10:00:00Z`, direction: 'outbound' });
  const into = await made({ startTime: `${day}T09:00:00Z`, direction: 'inbound' });
  expect(await found(day, { directions: ['inbound', 'outbound'] }, { direction: 'inbound' })).toEqual([into]);
  expect(await found(day, { directions: ['outbound'] })).toEqual([out]);
  expect(await found(day, { directions: ['outbound'] }, { direction: 'inbound' })).toEqual([]);
});

test('both ends of a range of seconds count, and either may be left out', async () => {
  const day = '2026-05-07';
  const id = await made({ startTime: `${day}T10:00:00Z`, status: 'answered', durationSeconds: 200 });
  const { body } = await ask('GET', `/calls/${id}`);
  const { durationSeconds: duration, talkTimeSeconds: talkTime } = body.data;
  for (const [name, value] of Object.entries({ duration, talkTime, waitTime: duration - talkTime })) {
    const hits = async (start?: number, end?: number) => {
      const range = { ...(start !== undefined && { start: `${start}` }), ...(end !== undefined && { end: `${end}` }) };
      return (await found(day, { [name]: range })).length;
    };
    expect([await hits(value), await hits(undefined, value), await hits(value, value)], name).toEqual([1, 1, 1]);
    expect([await hits(value + 1), await hits(undefined, value - 1)], name).toEqual([0, 0]);
    expect(await hits(value, value - 1), name).toBe(0);
  }
});

test('a time of day belongs to the time zone, holds both its minutes, and wraps around midnight', async () => {
  const day = '2026-05-08';
  const at = (time: string) => made({ startTime: `${day}T${time}Z` });
  const [morning, noon, evening] = [await at('05:59:59'), await at('12:00:00'), await at('22:00:00')];
  const during = (start: string, end: string, timeZone = 'UTC') =>
    found(day, { timeOfDay: { start, end } }, { timeZone });
  expect(await during('22:00', '05:59')).toEqual([evening, morning]);
  expect(await during('22:01', '05:58')).toEqual([]);
  expect(await during('12:00', '12:00')).toEqual([noon]);
  expect(await during('08:00', '08:00', 'America/New_York')).toEqual([noon]);
  expect(await during('00:00', '04:00', 'Asia/Kolkata')).toEqual([evening]);
  expect(await found(day, { timeOfDay: { start: '12:01' } })).toEqual([evening]);
  expect(await found(day, { timeOfDay: { end: '12:00' } })).toEqual([noon, morning]);
});

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

test('a search minds no case and looks at names and numbers of both sides', async () => {
  const day = '2026-05-09';
  const number = '12125550188';
  const into = { startTime: `${day}T10:00:00Z`, direction: 'inbound', number, callerName: 'ÉMILE Zola' } as const;
  const id = await made(into);
  for (const search of ['émile', 'ZOLA', 'le z', '5550188']) expect(await found(day, { search }), search).toEqual([id]);
  expect(await found(day, { search: 'zola ' })).toEqual([]);
  expect(await found(day, { numbers: ['(212) 555-0188'] })).toEqual([id]);
  expect(await found(day, { numbersExclude: ['+1 212 555 0188'] })).toEqual([]);
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
