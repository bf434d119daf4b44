import { afterAll, expect, test } from 'vitest';
import { createDoubts } from '../../src/sync/doubts.ts';
import { migratedDatabase } from '../world/database.ts';
import { callId, callService, type ShownCall, shownCall, shownRecording } from './call-service.ts';
import { openDesk } from './desk.ts';
import { messages, threadService } from './thread-service.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const secondsAhead = (kind: string, key: string) =>
  database.value(
    `select extract(epoch from due_at - now())::float8 from ops.sync_targets
     where kind = $1 and key = $2 and dirty_version > clean_version`,
    kind,
    key,
  );

test('what answers usually give is looked for soon, and what they hardly ever give once, late', () => {
  const now = new Date('2026-04-21T18:00:00Z');
  const doubts = createDoubts({ looks: [60, 600, 86_400], now: () => now });
  const weigh = (lacking: string[], since = now) => doubts.lookAgain(doubts.weigh('calls.recordings', lacking), since);
  expect(weigh([])).toBeUndefined();
  expect(weigh(['to'])).toBe(60);
  expect(weigh(['to'], new Date(now.getTime() - 120_000))).toBe(480);
  expect(weigh(['to'], new Date(now.getTime() - 86_400_000))).toBeUndefined();
  for (let at = 0; at < 40; at += 1) weigh(['to']);
  expect(weigh(['to'])).toBe(86_400);
  expect(weigh(['to', 'from'])).toBe(60);
  for (let at = 0; at < 40; at += 1) weigh([]);
  expect(weigh(['to'])).toBe(60);
});

test.each([
  ['left out', undefined],
  ['null', null],
  ['of another type', { seconds: 20 }],
])('a value that came %s is mirrored when it comes, without a new event', async (_how, odd) => {
  const id = callId();
  const calls = new Map<string, ShownCall>();
  const desk = await openDesk(database);
  desk.service.answer = callService(calls);
  const shows = (more: object) => {
    calls.set(id, { call: { data: shownCall(id, more) }, recordings: { data: [shownRecording(id, more)] } });
  };
  shows({ talkTimeSeconds: odd });
  await desk.read('call', id);
  await desk.turn('recordings', id);
  shows({});
  for (const kind of ['call', 'recordings'] as const) {
    expect(await secondsAhead(kind, id)).toBeLessThan(60);
    await desk.pass({ kind, key: id });
    expect(await desk.turn(kind, id)).toBe('mirrored');
    expect(await secondsAhead(kind, id)).toBeUndefined();
  }
  expect(
    await database.query(
      'select c.talk_seconds as call, r.talk_seconds as recording from warehouse.calls c join warehouse.recordings r using (call_id) where call_id = $1',
      id,
    ),
  ).toEqual([{ call: 20, recording: 20 }]);
});

test('a value that an old message lacked is mirrored, though newer messages stand before it', async () => {
  const key = '15550000001/15550007777';
  const thread = messages(130);
  const desk = await openDesk(database);
  const page = { limit: 25 };
  desk.service.answer = threadService(
    () => thread.map((each) => (each.id === 3 ? { ...each, text: undefined } : each)),
    page,
  );
  await desk.read('thread', key);
  desk.service.answer = threadService(() => thread, page);
  expect(await secondsAhead('thread', key)).toBeLessThan(60);
  await desk.pass({ kind: 'thread', key });
  await desk.turn('thread', key);
  expect(
    await database.value(`select body from warehouse.sms_messages where number = '15550007777' and message_id = 3`),
  ).toBe('text 3');
  expect(await secondsAhead('thread', key)).toBeUndefined();
});
