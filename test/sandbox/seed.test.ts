import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Ask, caller } from './client/caller.ts';

const startedAt = Date.parse('2026-03-12T17:00:00Z');
const now = () => new Date(startedAt);
const window = { start: startedAt / 1000 - 15 * 86_400, end: startedAt / 1000, limit: 500 };

// biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
type Anything = any;
let sandbox: Sandbox;
let ask: Ask;
let calls: Anything[];

beforeAll(async () => {
  sandbox = await createSandbox({ seed: 7, now });
  ask = caller(sandbox);
  calls = (await ask('POST', '/calls/search', window)).body.data.calls;
});
afterAll(() => sandbox.close());

async function read(path: string): Promise<Anything> {
  return (await ask('GET', path)).body.data;
}

test('holds 400 calls of the last fourteen days, most of them in business hours', () => {
  expect(calls).toHaveLength(400);
  const hours = calls.map((call) => (new Date(call.startTime).getUTCHours() + 24 - 5) % 24);
  expect(hours.filter((hour) => hour >= 7 && hour <= 19).length).toBeGreaterThan(370);
  const statuses = Map.groupBy(calls, (call) => call.status);
  expect(statuses.get('answered')?.length).toBeGreaterThan(200);
  expect(statuses.get('missed')?.length).toBeGreaterThan(20);
  expect(statuses.get('voicemail')?.length).toBeGreaterThan(5);
  expect(calls.some((call) => call.transferred > 0)).toBe(true);
  expect(calls.some((call) => call.repeated > 0)).toBe(true);
  expect(calls.some((call) => call.callerType === 'user' && call.calledType === 'user')).toBe(true);
});

test('every recorded call has its recordings, and transcripts name their leg', async () => {
  const recorded = calls.filter((call) => call.recorded);
  expect(recorded.length).toBeGreaterThan(150);
  const absent = { summary: 0, score: 0 };
  for (const { id } of recorded) {
    const [{ legs }, recordings, transcripts] = await Promise.all(
      ['', '/recordings', '/transcripts'].map((part) => read(`/calls/${id}${part}`)),
    );
    expect(recordings.length).toBeGreaterThan(0);
    const legIds = legs.map((leg: Anything) => leg.uniqueId);
    for (const recording of recordings) expect(legIds).toContain(recording.uniqueId);
    for (const transcript of transcripts) {
      expect(transcript.callId).toBe(id);
      const files = recordings.map((recording: Anything) => recording.uniqueId.replace('.', ''));
      expect(files.filter((file: string) => transcript.recording.includes(file))).toHaveLength(1);
      const starts = transcript.segments.map((segment: Anything) => segment.start);
      expect(starts).toEqual(starts.toSorted((one: number, other: number) => one - other));
      if (transcript.shortSummary === undefined) absent.summary++;
      if (transcript.customerSatisfactionScore === undefined) absent.score++;
    }
  }
  expect(absent.summary).toBeGreaterThan(0);
  expect(absent.score).toBeGreaterThan(0);
});

test('called back leads from an abandoned call to a later outbound one to the same number', () => {
  const byId = new Map(calls.map((call) => [call.id, call]));
  const returned = calls.filter((call) => call.calledBack !== undefined);
  expect(returned.length).toBeGreaterThan(3);
  for (const call of returned) {
    expect(call).toMatchObject({ abandoned: true, status: 'missed', talkTimeSeconds: 0 });
    const back = byId.get(call.calledBack);
    expect(back).toMatchObject({ direction: 'outbound', calledNumber: call.callerNumber });
    expect(back.startTime > call.endTime).toBe(true);
  }
});

test('threads know every kind of message', async () => {
  const messages = (await allMessages(ask)).flatMap((thread) => thread.messages);
  expect(messages.length).toBeGreaterThan(150);
  expect(messages.some((message) => /[\u0590-\u05ff]/.test(message.text))).toBe(true);
  expect(messages.some((message) => /[\u0600-\u06ff]/.test(message.text))).toBe(true);
  expect(messages.some((message) => message.text.includes('¿'))).toBe(true);
  expect(messages.some((message) => message.text === '' && message.media.length > 0)).toBe(true);
  expect(messages.some((message) => message.scheduled && message.scheduledAt > '2026-03-12T17')).toBe(true);
  expect(messages.some((message) => message.blocked && message.blockReason !== '')).toBe(true);
  expect(messages.some((message) => message.delivery?.error)).toBe(true);
  expect(messages.some((message) => message.direction === 'out' && message.sentBy === undefined)).toBe(true);
  const { body } = await caller(sandbox, '/_sandbox')('GET', '/state');
  expect(body.data).toMatchObject({ users: 12, lines: 4, conversations: 60 });
});

test('the same seed and moment tell the same story, another seed another', async () => {
  const story = async (seed: number) => {
    const other = await createSandbox({ seed, now });
    try {
      const tell = caller(other);
      const found = await tell('POST', '/calls/search', window);
      const threads = JSON.stringify(await allMessages(tell)).replaceAll(other.url, '');
      return { calls: found.body.data, threads };
    } finally {
      await other.close();
    }
  };
  const [one, same, another] = [await story(3), await story(3), await story(4)];
  expect(same).toEqual(one);
  expect(another.calls).not.toEqual(one.calls);
  expect(another.threads).not.toEqual(one.threads);
});

test('a history of many calls goes back as far as a company of that size needs', async () => {
  const large = await createSandbox({ calls: 30_000, threads: 0, now });
  try {
    const search = caller(large);
    const count = async (from: number, to: number) => {
      const part = { start: startedAt / 1000 - from * 86_400, end: startedAt / 1000 - to * 86_400, limit: 1 };
      return (await search('POST', '/calls/search', part)).body.data.total;
    };
    expect(await count(31, 0)).toBe(30_000);
    for (const week of [1, 2, 3, 4]) {
      const held = await count(week * 7, week * 7 - 7);
      expect(held).toBeGreaterThan(5_000);
      expect(held).toBeLessThan(9_000);
    }
  } finally {
    await large.close();
  }
});

/** Threads of two on any line, with anyone who called: conversations cannot be listed. */
async function allMessages(tell: Ask): Promise<Anything[]> {
  const lines = (await tell('GET', '/sms/lines')).body.data;
  const found = (await tell('POST', '/calls/search', window)).body.data.calls;
  const numbers = new Set<string>(
    found
      .flatMap((call: Anything) => [call.callerNumber, call.calledNumber])
      .filter((number: string) => number.length > 6),
  );
  const paths = [...numbers].flatMap((number) => lines.map((line: Anything) => `${line.number}/${number}`));
  const threads = await Promise.all(
    paths.map(async (path) => (await tell('GET', `/sms/conversations/${path}`)).body.data),
  );
  return threads.filter((thread) => thread.messages.length > 0);
}
