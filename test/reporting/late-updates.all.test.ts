import { afterAll, expect, test } from 'vitest';
import type { CallSummary } from '../../src/api-client/client.ts';
import { user } from '../../src/api-client/entities/account-schemas.ts';
import { call, recording, transcript } from '../../src/api-client/entities/call-schemas.ts';
import { message } from '../../src/api-client/entities/text-schemas.ts';
import { inTransaction, type Transaction } from '../../src/db/database.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import { markCallsGone } from '../../src/warehouse/calls.ts';
import { markThreadsGone, writeThreads } from '../../src/warehouse/conversations.ts';
import { directory } from '../../src/warehouse/directory.ts';
import { hasErasures } from '../../src/warehouse/erasure/erased.ts';
import { writeRecordings } from '../../src/warehouse/recordings.ts';
import { writeTranscripts } from '../../src/warehouse/transcripts.ts';
import { beginRead, type Provenance } from '../../src/warehouse/upsert.ts';
import { type Follow, following } from '../../src/warehouse/what-follows.ts';
import { refreshFacts, writeCalls } from '../../src/warehouse/write-calls.ts';
import { isCampaign } from '../faults/figures.ts';
import { createRandom } from '../faults/random.ts';
import { asRead } from '../warehouse/reads.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { db, expectRows, query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

/** `npm run faults` makes as many as a busy day. */
const updateCount = isCampaign ? 10_000 : 300;
const { pick, between } = createRandom('late updates');

const rollups = [
  ...['call_rollup', 'call_agent_rollup', 'queue_visits', 'missed_call_returns', 'transcript_agents', 'action_items'],
  ...['sms_turns', 'sms_day_rollup'],
];

/** Mirrors what one read found. */
type Found = (tx: Transaction, follow: Follow, read: Provenance) => Promise<unknown>;

async function write(found: Found): Promise<void> {
  const read = await beginRead(db, 'test');
  await inTransaction(db, async (tx) => {
    await hasErasures(tx);
    await following(tx, (follow) => found(tx, follow, read));
  });
}

const callOf =
  (row: object): Found =>
  (tx, follow, read) =>
    writeCalls(
      tx,
      follow,
      asRead<CallSummary>(call, [row]).map((each) => ({ call: each, read })),
    );
const transcriptsOf =
  (callId: string, rows: readonly object[], isComplete = true): Found =>
  (tx, follow, read) => {
    const transcripts = asRead(transcript, rows);
    return writeTranscripts(tx, follow, [{ callId, isComplete, state: 'complete', transcripts, read }]);
  };
const threadOf = (number: string) => ({ line: `1555999000${Number(number.at(-1)) % 2}`, number, participants: [] });
const textsOf =
  (number: string, rows: readonly object[], isComplete = false): Found =>
  (tx, follow, read) =>
    writeThreads(tx, follow, [{ thread: threadOf(number), messages: asRead(message, rows), isComplete, read }]);

/** Within the four days around a change of the clock in New York; often on the edge of a quarter or a day. */
function moment(): string {
  const after = pick([between(0, 4 * 96) * 900_000, between(0, 4 * 86_400) * 1_000]);
  return new Date(Date.UTC(2026, 2, 7, 5) + after - pick([0, 0, 0, 1])).toISOString();
}

let erasures = 0;
/** A number that is on calls and texts until it is erased; then another is. */
const passing = () => `155540010${String(erasures).padStart(2, '0')}`;
const someNumber = () => pick([passing(), ...Array.from({ length: 8 }, (_, at) => `1555400000${at}`)]);
const idOf = (at: number) => `1700000${String(at).padStart(3, '0')}.1`;
const someCallId = () => idOf(between(0, 40));
const maybe = <T>(value: T) => pick([value, value, undefined]);
const some = <T>(most: number, draw: (at: number) => T) =>
  Array.from({ length: between(0, most) }, (_, at) => draw(at));

function someCall(): Found {
  const id = someCallId();
  const startTime = maybe(moment());
  const isOut = pick([true, false, false]);
  const outside = [maybe('external'), pick([undefined, someNumber()])];
  const own = [pick(['user', 'queue', undefined]), pick(['201', '202', '203', '601'])];
  const [[callerType, callerNumber], [calledType, calledNumber]] = isOut ? [own, outside] : [outside, own];
  const legs = some(4, (at) => ({
    ...{ uniqueId: id.replace(/1$/, String(at + 2)), callerType: pick(['user', 'ivr']), callerNumber: '201' },
    ...{ calledType: pick(['user', 'queue', 'huntgroup', 'ivr']), calledNumber: pick(['202', '601', undefined]) },
    startTime: startTime && maybe(new Date(Date.parse(startTime) + at * 20_000).toISOString()),
    ...{
      calledName: maybe('Front'),
      durationSeconds: maybe(between(0, 60)),
      talkTimeSeconds: pick([0, 30, undefined]),
    },
  }));
  return callOf({
    ...{ id, startTime, legs: maybe(legs), direction: maybe(isOut ? 'outbound' : 'inbound') },
    status: pick(['answered', 'missed', 'voicemail', 'unknown', undefined]),
    ...{ callerType, callerNumber, calledType, calledNumber },
    [isOut ? 'callerIdExternal' : 'dialledNumber']: pick(['15559990000', '15559990001', undefined]),
    ...{ durationSeconds: maybe(between(0, 300)), talkTimeSeconds: pick([0, between(0, 200), undefined]) },
    ...{ abandoned: pick([true, false, undefined]), transferred: between(0, 1), recorded: maybe(true) },
    calledBack: pick([undefined, undefined, someCallId()]),
  });
}

function someTexts(): Found {
  const rows = some(3, () => ({
    ...{ id: between(1, 25), direction: pick(['in', 'out', 'out', undefined]), text: maybe('text') },
    ...{ sentAt: maybe(moment()), sentBy: maybe(1) },
    delivery: { status: pick([undefined, 'delivered', 'FAILED', 'martian']), error: pick([undefined, '', '30005']) },
    ...{ scheduled: pick([false, undefined, true]), blocked: pick([false, undefined, true]) },
  }));
  return textsOf(someNumber(), rows, between(0, 5) === 0);
}

/** Two of a call, each of one of its legs. */
function someTranscripts(): Found {
  const at = between(0, 40);
  const rows = some(2, (nth) => ({
    ...{ id: at * 2 + nth + 1, recording: maybe(`${idOf(at).replace('.1', String(nth + 2))}.wav`) },
    ...{ customerSatisfactionScore: maybe(between(0, 5)), callSentiment: pick(['calm', 'angry', '', undefined]) },
    ...{ callPurpose: maybe('Billing'), actionRequired: maybe(true), agentName: pick(['Ann', 'Bob']) },
  }));
  return transcriptsOf(idOf(at), rows, between(0, 3) === 0);
}

/** They tell which leg a transcript is of. */
function someRecordings(): Found {
  const callId = someCallId();
  const recordings = asRead(
    recording,
    some(2, (nth) => ({ uniqueId: callId.replace(/1$/, String(nth + 2)) })),
  );
  const whole = { callId, isComplete: true, state: 'complete', recordings } as const;
  return (tx, follow, read) => writeRecordings(tx, follow, [{ ...whole, read }]);
}

/** How many users have been listed. A user is often learned after the calls of an extension. */
let known = 0;
function someUsers(): Found {
  known = Math.max(known, between(1, 4));
  const rows = Array.from({ length: known }, (_, at) => ({ id: at + 1, extensions: [String(201 + at)] }));
  return (tx, follow, read) => directory.users.write(tx, follow, { rows: asRead(user, rows), read });
}

function gone(): Found {
  const [callId, thread] = [someCallId(), threadOf(someNumber())];
  return pick<Found>([
    (tx, follow, read) => markCallsGone(tx, follow, [{ callId, read }]),
    (tx, follow, read) => markThreadsGone(tx, follow, [{ thread, read }]),
  ]);
}

async function erase(): Promise<void> {
  const number = passing();
  erasures += 1;
  await eraseNumber({ db, queues: { forget: () => Promise.resolve(0) }, knownAfterMs: 0 }, number);
}

const common = [someCall, someCall, someCall, someTexts, someTexts, someTranscripts, someTranscripts];
const draws = [...common, ...common, someRecordings, someRecordings, someUsers, gone];
const update = () => (between(0, 60) === 0 ? erase() : write(pick(draws)()));

let left = 0;

async function writeSome(): Promise<void> {
  for (; left > 0; left -= 1) await update();
}

/** Some drains are cut off after a day or two. */
async function drain(): Promise<void> {
  while (left > 0) {
    let days = between(1, 4);
    await drainRollups(db, { goesOn: () => Promise.resolve(--days > 0) });
  }
}

async function contents(): Promise<Record<string, string[]>> {
  const held: Record<string, string[]> = {};
  for (const table of rollups)
    held[table] = await facts.lines(
      `select (to_jsonb(t) - 'changed_at')::text as row from rollups.${table} t order by 1`,
    );
  return held;
}

/** What is kept now, after it was found to equal its recomputation from nothing, which begins with the facts of calls. */
async function recomputed(): Promise<Record<string, string[]>> {
  const ids = await facts.lines('select call_id from warehouse.calls');
  expect(await inTransaction(db, (tx) => refreshFacts(tx, ids))).toEqual([]);
  await drainRollups(db);
  const kept = await contents();
  await query(`truncate ${rollups.map((table) => `rollups.${table}`).join(', ')}`);
  await rebuildRollups(db);
  expect(kept).toEqual(await contents());
  return kept;
}

const markerCount = () => value('select count(*)::integer from ops.rollup_markers');

test(`any order of ${updateCount} writes, with drains between and a rebuild amid them, gives what a rebuild gives`, {
  timeout: 600_000,
}, async () => {
  await facts.params({ time_zone: 'America/New_York' });
  await facts.user(1, ['201']);
  await facts.user(2, ['202']);
  // A drain passes by while the facts are written and not yet committed.
  await query(`
    create function linger() returns trigger language plpgsql as $$ begin
      if random() < 0.25 then perform pg_sleep(random() / 100); end if;
      return null;
    end $$`);
  await query('create trigger linger after insert on ops.rollup_markers for each statement execute function linger()');
  left = updateCount;
  await Promise.all([writeSome(), writeSome(), writeSome(), drain(), drain()]);
  const kept = await recomputed();
  for (const table of rollups) expect(kept[table]?.length, table).toBeGreaterThan(0);
  expect(await markerCount()).toBe(0);
  left = updateCount / 2;
  await Promise.all([writeSome(), writeSome(), drain(), rebuildRollups(db)]);
  await recomputed();
  await facts.params({ time_zone: 'Asia/Kolkata' });
  await rebuildRollups(db);
  await recomputed();
});

const answered = (id: string, startTime: string, calledNumber = '201') =>
  callOf({
    ...{ id, startTime, direction: 'inbound', status: 'answered', callerType: 'external', callerNumber: '15554999999' },
    ...{ calledType: 'user', calledNumber, durationSeconds: 120, talkTimeSeconds: 110 },
  });

test('a rebuild of some days leaves the others as they are', async () => {
  for (const day of [7, 8, 9]) await write(answered(`190000000${day}.1`, `2026-07-0${day}T12:00:00Z`));
  await drainRollups(db);
  await query('update rollups.call_rollup set call_count = 999');
  const from = new Date('2026-07-08T12:00:00Z');
  await rebuildRollups(db, { from, to: new Date(from.getTime() + 1_000) });
  await expectRows('select local_date::text from rollups.call_rollup group by 1 having max(call_count) < 999').toEqual([
    '2026-07-08',
  ]);
});

test('a whole rebuild leaves no day to be done again, and one that is cut off is asked for again', async () => {
  const asked = () =>
    value(`select found_count::integer from reporting.data_quality where check_name like 'definitions changed%'`);
  for (let count = 0; count < 40; count += 1) await update();
  expect(await markerCount()).toBeGreaterThan(0);
  const done: string[] = [];
  const onDay = (share: number, date: string) => {
    done.push(date);
    if (share === 1) throw new Error('cut off');
  };
  await expect(rebuildRollups(db, { onDay })).rejects.toThrow('cut off');
  // An update can mark a day that it leaves without a fact, or a conversation that is erased: these are left to the drain.
  const again = `select 1 as one from ops.rollup_markers where reporting.local_day(bucket_at)::text = any($1)
    or conversation_id in (select conversation_id from warehouse.sms_conversations)`;
  await expectRows(again, done).toEqual([]);
  expect(await asked()).toBe(1);
  await rebuildRollups(db);
  expect(await asked()).toBe(0);
});

test('a drain that is cut off leaves its markers to the next', async () => {
  await facts.user(5, ['205']);
  await write(answered('1800000000.1', '2026-05-01T12:00:00Z', '205'));
  await query('alter table rollups.call_agent_rollup rename to hidden');
  await expect(drainRollups(db)).rejects.toThrow('call_agent_rollup');
  await query('alter table rollups.hidden rename to call_agent_rollup');
  const counted = `select answered_count from reporting.agent_hourly where local_date = '2026-05-01'`;
  await expectRows(counted).toEqual([]);
  await drainRollups(db);
  await expectRows(counted).toEqual(['1']);
});

test('what is marked during a drain waits for the next one, and the drained moment tells so', async () => {
  await drainRollups(db);
  await write(answered('1800000001.1', '2026-05-02T12:00:00Z'));
  let asked = 0;
  const goesOn = async () => {
    asked += 1;
    if (asked === 2) await write(answered('1800000002.1', '2026-05-02T12:01:00Z'));
    return true;
  };
  await drainRollups(db, { goesOn });
  const told = () =>
    expectRows(`
      select (select sum(call_count) from reporting.call_hourly where local_date = '2026-05-02') as counted,
        w.found_count as waiting, r.counted_at < w.counted_at as is_older
      from reporting.data_quality w, reporting.data_quality r where w.check_name = 'changes waiting' and r.check_name = 'reports'`);
  await told().toEqual(['1 | 1 | true']);
  await drainRollups(db);
  await told().toEqual(['2 | 0 | -']);
});

test('a read that found nothing that reports count marks nothing', async () => {
  const startTime = '2026-05-03T12:00:00Z';
  const id = '1800000003.1';
  const text = { id: 1, direction: 'in', sentAt: startTime, text: 'text' };
  const words = { id: 1_000, callSentiment: 'calm', customKpis: [{ name: 'Greeting', value: 1 }] };
  const wrote = async (row: object, more: object) => {
    await write(callOf({ id, startTime, direction: 'inbound', legs: [{ calledType: 'user' }], ...row }));
    await write(textsOf('15554000001', [{ ...text, ...more }]));
    await write(transcriptsOf(id, [words]));
    const markers = await markerCount();
    await drainRollups(db);
    return markers;
  };
  expect(await wrote({}, {})).toBeGreaterThan(0);
  expect(await wrote({ callerName: 'Other' }, { read: true })).toBe(0);
});
