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
