import { afterAll, expect, test } from 'vitest';
import { createDoubts } from '../../src/sync/looks/doubts.ts';
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

async function nextOwed(
  key: string,
): Promise<{ kind: 'call' | 'recordings' | 'transcripts'; seconds: number } | undefined> {
  const [next] = await database.query<{ kind: 'call' | 'recordings' | 'transcripts'; seconds: number }>(
    `select kind, extract(epoch from due_at - now())::float8 as seconds from ops.sync_targets
     where key = $1 and dirty_version > clean_version order by due_at limit 1`,
    key,
  );
  return next;
}

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

test('counts and flags that some answers lack are no longer looked for soon after a few of them', () => {
  const now = new Date('2026-04-21T18:00:00Z');
  const doubts = createDoubts({ looks: [60, 600, 86_400], now: () => now });
  const weigh = (lacking: string[]) => doubts.lookAgain(doubts.weigh('calls.get', lacking), now);
  expect(weigh(['call.recorded'])).toBe(60);
  for (let at = 0; at < 10; at += 1) weigh(at % 2 === 0 ? [] : ['call.recorded']);
  expect(weigh(['call.recorded'])).toBe(86_400);
  expect(weigh(['call.recorded', 'call.startTime'])).toBe(60);
});

test('what a row lacks again when it was looked for is not looked for soon any more', () => {
  const since = new Date('2026-04-21T18:00:00Z');
  let now = since;
  const doubts = createDoubts({ looks: [60, 600, 86_400], now: () => now });
  const at = (seconds: number, key: string, lacking: string[]) => {
    now = new Date(since.getTime() + seconds * 1_000);
    return doubts.lookAgainAt({ operation: 'calls.get', key, lacking, since });
  };
  expect(at(0, 'a', ['call.recorded'])).toBe(60);
  // A second hint is no look.
  expect(at(20, 'a', ['call.recorded'])).toBe(40);
  expect(at(0, 'b', ['call.startTime'])).toBe(60);
  expect(at(0, 'c', ['call.recorded'])).toBe(60);
  expect(at(60, 'a', ['call.recorded'])).toBeUndefined();
  expect(at(60, 'b', ['call.startTime'])).toBe(86_340);
  expect(at(60, 'c', ['call.recorded', 'call.startTime'])).toBe(540);
  expect(at(86_400, 'b', ['call.startTime'])).toBeUndefined();
  expect(at(70, 'c', [])).toBeUndefined();
});

test('a service that leaves out what is false, zero or empty is asked little more for its missed calls', async () => {
  let later = 0;
  const looks = [60, 120, 300, 900, 3_600, 21_600, 86_400];
  const desk = await openDesk(database, { now: () => new Date(Date.now() + later * 1_000), looks });
  const calls = new Map<string, ShownCall>();
  desk.service.answer = callService(calls);
  const written = (call: object) =>
    Object.fromEntries(Object.entries(call).filter(([, value]) => value !== false && value !== 0 && value !== ''));
  const requests: number[] = [];
  for (let at = 0; at < 16; at += 1) {
    later = 0;
    const id = callId();
    const missed = { recorded: false, status: 'missed', statusCode: -1, talkTimeSeconds: 0 };
    calls.set(
      id,
      at % 2 === 0
        ? { call: { data: written(shownCall(id)) }, recordings: { data: [shownRecording(id)] } }
        : { call: { data: written(shownCall(id, missed)) } },
    );
    const before = desk.service.asked.length;
    await desk.read('call', id);
    for (let next = await nextOwed(id); next !== undefined; next = await nextOwed(id)) {
      later += Math.max(0, next.seconds);
      await desk.pass({ kind: next.kind, key: id });
      await desk.turn(next.kind, id);
    }
    if (at % 2 === 1) requests.push(desk.service.asked.length - before);
  }
  expect(Math.max(...requests)).toBeLessThanOrEqual(5);
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
