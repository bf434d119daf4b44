import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Ask, sandboxOfTest } from './client/caller.ts';

const startedAt = Date.parse('2026-03-12T17:00:00Z');
const window = { start: startedAt / 1000 - 15 * 86_400, end: startedAt / 1000, limit: 500 };

// biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
type Anything = any;

const seeded = (seed: number) => sandboxOfTest({ seed, calls: 400, threads: 60, now: () => new Date(startedAt) });
const callsOf = async (ask: Ask): Promise<Anything[]> => (await ask('POST', '/calls/search', window)).body.data.calls;

/** Conversations cannot be listed, so the store says which there are. */
async function messagesOf({ store }: Sandbox, ask: Ask): Promise<Anything[]> {
  const paths = new Set([...store.messages.values()].map(({ line, number }) => `${line}/${number}`));
  const threads = await Promise.all([...paths].map((path) => ask('GET', `/sms/conversations/${path}`)));
  return threads.flatMap(({ body }) => body.data.messages);
}

test('400 calls of the last fourteen days, most in business hours, and threads with every kind of message', async () => {
  const { sandbox, ask, control } = await seeded(7);
  const calls = await callsOf(ask);
  expect(calls).toHaveLength(400);
  const hours = calls.map(({ startTime }) => (new Date(startTime).getUTCHours() + 24 - 5) % 24);
  expect(hours.filter((hour) => hour >= 7 && hour <= 19).length).toBeGreaterThan(370);
  const many = (fits: (one: Anything) => boolean, of = calls) => of.filter(fits).length;
  expect(many(({ status }) => status === 'answered')).toBeGreaterThan(200);
  expect(many(({ status }) => status === 'missed')).toBeGreaterThan(20);
  expect(many(({ status }) => status === 'voicemail')).toBeGreaterThan(5);
  const messages = await messagesOf(sandbox, ask);
  expect(messages.length).toBeGreaterThan(150);
  const kinds: Record<string, number> = {
    'transferred calls': many(({ transferred }) => transferred > 0),
    'repeated calls': many(({ repeated }) => repeated > 0),
    'internal calls': many(({ callerType, calledType }) => callerType === 'user' && calledType === 'user'),
    Hebrew: many(({ text }) => /[\u0590-\u05ff]/.test(text), messages),
    Arabic: many(({ text }) => /[\u0600-\u06ff]/.test(text), messages),
    Spanish: many(({ text }) => text.includes('¿'), messages),
    'pictures alone': many(({ text, media }) => text === '' && media.length > 0, messages),
    scheduled: many(({ scheduled, scheduledAt }) => scheduled && scheduledAt > '2026-03-12T17', messages),
    blocked: many(({ blocked, blockReason }) => blocked && blockReason !== '', messages),
    undelivered: many(({ delivery }) => delivery?.error, messages),
    'of no user': many(({ direction, sentBy }) => direction === 'out' && sentBy === undefined, messages),
  };
  expect(Object.keys(kinds).filter((kind) => kinds[kind] === 0)).toEqual([]);
  expect((await control('GET', '/state')).body.data).toMatchObject({ users: 12, lines: 4, conversations: 60 });
});

test('the same seed and moment tell the same story, another seed another', async () => {
  const story = async (seed: number) => {
    const { ask, sandbox } = await seeded(seed);
    const calls = await callsOf(ask);
    return { calls, texts: JSON.stringify(await messagesOf(sandbox, ask)).replaceAll(sandbox.url, '') };
  };
  const [one, same, another] = [await story(3), await story(3), await story(4)];
  expect(same).toEqual(one);
  expect(another.calls).not.toEqual(one.calls);
  expect(another.texts).not.toEqual(one.texts);
});
