import { afterAll, expect, test } from 'vitest';
import type { CallSummary } from '../../src/api-client/client.ts';
import { user } from '../../src/api-client/entities/account.ts';
import { call, recording, transcript } from '../../src/api-client/entities/calls.ts';
import { message } from '../../src/api-client/entities/texts.ts';
import { inTransaction } from '../../src/db/database.ts';
import { priorities, type TargetKind } from '../../src/inbox/targets.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import { type Thread, threadKey } from '../../src/shared/thread.ts';
import type { EntityRead } from '../../src/sync/read-result.ts';
import { createWriter } from '../../src/sync/writer.ts';
import { beginRead, type Provenance } from '../../src/warehouse/upsert.ts';
import { refreshFacts } from '../../src/warehouse/write-calls.ts';
import { isCampaign } from '../faults/figures.ts';
import { createRandom } from '../faults/random.ts';
import { asRead } from '../warehouse/reads.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { db, query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

/** `npm run faults` makes as many as a busy day. */
const updateCount = isCampaign ? 10_000 : 500;
const random = createRandom('late updates');
const { pick, between } = random;

const rollups = [
  ...['call_rollup', 'call_agent_rollup', 'queue_visits', 'missed_call_returns', 'transcript_agents', 'action_items'],
  ...['sms_turns', 'sms_day_rollup'],
] as const;

/** Within the four days around a change of the clock in New York; often on the edge of a quarter or a day. */
function moment(): string {
  const after = pick([between(0, 4 * 96) * 900_000, between(0, 4 * 86_400) * 1_000]);
  return new Date(Date.UTC(2026, 2, 7, 5) + after - pick([0, 0, 0, 1])).toISOString();
}

let erasures = 0;
/** A number that is on calls and texts until it is erased; then another is. */
const passing = () => `155540010${String(erasures).padStart(2, '0')}`;
const numberOf = (at: number) => (at === 8 ? passing() : `1555400000${at}`);
const idOf = (at: number) => `1700000${String(at).padStart(3, '0')}.1`;
const callId = () => idOf(between(0, 40));
const maybe = <T>(value: T) => pick([value, value, undefined]);
const some = <T>(most: number, draw: (at: number) => T) =>
  Array.from({ length: between(0, most) }, (_, at) => draw(at));

/** What one read finds, under the number that it gets when it begins. */
type Found = { readonly kind: TargetKind; readonly key: string; readonly entity: (read: Provenance) => EntityRead };

const foundCall = (row: { readonly id: string; readonly [key: string]: unknown }): Found => ({
  ...{ kind: 'call', key: row.id },
  entity: (read) => ({ kind: 'call', read: { call: asRead(call, [row])[0] as CallSummary, read } }),
});

const foundThread = (thread: Thread, rows: readonly object[], isComplete = false): Found => ({
  ...{ kind: 'thread', key: threadKey(thread) },
  entity: (read) => ({ kind: 'thread', read: { thread, messages: asRead(message, rows), isComplete, read } }),
});

const foundTranscripts = (callId: string, rows: readonly object[], isComplete = true): Found => ({
  ...{ kind: 'transcripts', key: callId },
  entity(read) {
    const transcripts = asRead(transcript, rows);
    return { kind: 'transcripts', read: { callId, isComplete, state: 'complete', transcripts, read } };
  },
});

function someCall(): Found {
  const id = callId();
  const startTime = maybe(moment());
  const isOut = pick([true, false, false]);
  const outside = { type: maybe('external'), number: pick([undefined, numberOf(between(0, 8))]) };
  const own = { type: pick(['user', 'queue', undefined]), number: pick(['201', '202', '203', '601']) };
  const [caller, called] = isOut ? [own, outside] : [outside, own];
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
  return foundCall({
    ...{ id, startTime, legs: maybe(legs), direction: maybe(isOut ? 'outbound' : 'inbound') },
    status: pick(['answered', 'missed', 'voicemail', 'unknown', undefined]),
    ...{ callerType: caller.type, callerNumber: caller.number, calledType: called.type, calledNumber: called.number },
    [isOut ? 'callerIdExternal' : 'dialledNumber']: pick(['15559990000', '15559990001', undefined]),
    ...{ durationSeconds: maybe(between(0, 300)), talkTimeSeconds: pick([0, between(0, 200), undefined]) },
    ...{ abandoned: pick([true, false, undefined]), transferred: between(0, 1), recorded: maybe(true) },
    calledBack: pick([undefined, undefined, callId()]),
  });
}

const someThread = (): Thread => {
  const at = between(1, 8);
  return { line: `1555999000${at % 2}`, number: numberOf(at), participants: [] };
};

function someTexts(): Found {
  const rows = some(3, () => ({
    ...{ id: between(1, 25), direction: pick(['in', 'out', 'out', undefined]), text: maybe('text') },
    ...{ sentAt: maybe(moment()), sentBy: maybe(1) },
    delivery: { status: pick([undefined, 'delivered', 'FAILED', 'martian']), error: pick([undefined, '', '30005']) },
    ...{ scheduled: pick([false, undefined, true]), blocked: pick([false, undefined, true]) },
  }));
  return foundThread(someThread(), rows, between(0, 5) === 0);
}

/** Two of a call, each of one of its legs. */
function someTranscripts(): Found {
  const at = between(0, 40);
  const rows = some(2, (nth) => ({
    ...{ id: at * 2 + nth + 1, recording: maybe(`${idOf(at).replace('.1', String(nth + 2))}.wav`) },
    ...{ customerSatisfactionScore: maybe(between(0, 5)), callSentiment: pick(['calm', 'angry', '', undefined]) },
    ...{ callPurpose: maybe('Billing'), actionRequired: maybe(true), agentName: pick(['Ann', 'Bob']) },
    ...{ agentSpeaker: 1, segments: maybe([{ start: 0, end: pick([1 / 3, 12.5]), speaker: 1, text: 'Hello' }]) },
    customKpis: maybe([{ name: pick(['Greeting', 'Empathy', '']), value: maybe(between(0, 10)) }]),
  }));
  return foundTranscripts(idOf(at), rows, between(0, 3) === 0);
}

function someRecordings(): Found {
  const key = callId();
  const rows = some(2, (nth) => ({ uniqueId: key.replace(/1$/, String(nth + 2)) }));
  const what = { callId: key, isComplete: true, state: 'complete', recordings: asRead(recording, rows) } as const;
  return { kind: 'recordings', key, entity: (read) => ({ kind: 'recordings', read: { ...what, read } }) };
}

/** How many users have been listed. A user is often learned after the calls of an extension. */
let known = 0;

function someUsers(): Found {
  known = Math.max(known, between(1, 4));
  const rows = Array.from({ length: known }, (_, at) => ({ id: at + 1, extensions: [String(201 + at)] }));
  return {
    ...{ kind: 'users', key: '' },
    entity: (read) => ({ kind: 'list', list: 'users', read: { rows: asRead(user, rows), read } }),
  };
}

function goneCall(): Found {
  const key = callId();
  return { kind: 'call', key, entity: (read) => ({ kind: 'call_gone', read: { callId: key, read } }) };
}

function goneThread(): Found {
  const thread = someThread();
  return {
    ...{ kind: 'thread', key: threadKey(thread) },
    entity: (read) => ({ kind: 'thread_gone', read: { thread, read } }),
  };
}

const newWriter = () => createWriter({ db, pauses: { activeMs: 0, refusedMs: 0 }, notify: () => undefined });
const writer = newWriter();

async function write({ kind, key, entity }: Found, by = writer): Promise<void> {
  const read = await beginRead(db, 'test');
  const claim = {
    ...{ kind, key, version: '1', fetchSeq: read.fetchSeq, claimedAt: new Date(read.fetchedAt) },
    ...{ attempts: 0, misses: 0, lateMs: 0, priority: priorities.live },
    ...{ isNew: false, isUnconfirmed: false, isDeferred: false, isProbe: false },
  };
  await by.write({ claim, state: 'active', result: { entity: entity(read) } });
}

async function erase(): Promise<void> {
  const number = passing();
  erasures += 1;
  await eraseNumber({ db, queues: { forget: () => Promise.resolve(0) }, knownAfterMs: 0 }, number);
}

const common = [someCall, someCall, someCall, someTexts, someTexts, someTranscripts, someTranscripts];
const draws = [...common, ...common, someRecordings, someUsers, goneCall, goneThread];
const update = (by = writer) => (between(0, 60) === 0 ? erase() : write(pick(draws)(), by));

async function contents(): Promise<Record<string, string[]>> {
  const held: Record<string, string[]> = {};
  for (const table of rollups) {
    const rows = await query<{ row: string }>(`select to_jsonb(t)::text as row from rollups.${table} t order by 1`);
    held[table] = rows.map(({ row }) => row);
  }
  return held;
}

let left = 0;

async function writeSome(): Promise<void> {
  const by = newWriter();
  while (left > 0) {
    const count = Math.min(left, between(1, 4));
    left -= count;
    await Promise.all(Array.from({ length: count }, () => update(by)));
  }
}

/** A drain passes by while the facts are written and not yet committed. */
async function lingerBeforeCommits(): Promise<void> {
  await query(
    `create function linger() returns trigger language plpgsql as $$ begin
       if random() < 0.25 then perform pg_sleep(random() / 100); end if;
       return null;
     end $$`,
  );
  await query('create trigger linger after insert on ops.rollup_markers for each statement execute function linger()');
}

async function drain(): Promise<void> {
  // Some drains are cut off after a day or two.
  while (left > 0) {
    let days = between(1, 4);
    await drainRollups(db, { goesOn: () => Promise.resolve(--days > 0) });
  }
}

/** The starts of calls whose stored facts or attributions differ from their recomputation, which a rebuild begins with. */
async function callsWithStaleFacts(): Promise<Date[]> {
  const rows = await query<{ id: string }>('select call_id as id from warehouse.calls');
  const ids = rows.map(({ id }) => id);
  return inTransaction(db, (tx) => refreshFacts(tx, ids));
}

/** What is kept now, after it was found to equal its recomputation from nothing. */
async function recomputed(): Promise<Record<string, string[]>> {
  await drainRollups(db);
  const kept = await contents();
  await query(`truncate ${rollups.map((table) => `rollups.${table}`).join(', ')}`);
  await rebuildRollups(db);
  expect(kept).toEqual(await contents());
  return kept;
}

test(`after ${updateCount} random late updates from several writers, the rollups equal their recomputation`, {
  timeout: 600_000,
}, async () => {
  await facts.params({ time_zone: 'America/New_York' });
  await facts.user(1, ['201']);
  await facts.user(2, ['202']);
  await lingerBeforeCommits();
  left = updateCount;
  await Promise.all([writeSome(), writeSome(), writeSome(), drain(), drain()]);
  expect(await callsWithStaleFacts()).toEqual([]);
  const kept = await recomputed();
  for (const table of rollups) expect(kept[table]?.length, table).toBeGreaterThan(0);
  expect(await facts.value('select count(*)::integer from ops.rollup_markers')).toBe(0);
});

test('a rebuild amid late updates and drains takes no change away from them', { timeout: 600_000 }, async () => {
  left = updateCount / 2;
  await Promise.all([writeSome(), writeSome(), drain(), rebuildRollups(db)]);
  await recomputed();
});

test('a whole rebuild leaves no day to be done again, and one that is cut off is asked for again', async () => {
  const asked = () =>
    facts.value(`select found_count::integer from reporting.data_quality where check_name like 'definitions changed%'`);
  for (let count = 0; count < 40; count += 1) await update();
  expect(await facts.value('select count(*)::integer from ops.rollup_markers')).toBeGreaterThan(0);
  const done: string[] = [];
  const onDay = (share: number, date: string) => {
    done.push(date);
    if (share === 1) throw new Error('cut off');
  };
  await expect(rebuildRollups(db, { onDay })).rejects.toThrow('cut off');
  // An update can mark a day that it leaves without a fact, or a conversation that is erased: these are left to the drain.
  expect(
    await query(
      `select from ops.rollup_markers where conversation_id in (select conversation_id from warehouse.sms_conversations)
         or reporting.local_day(bucket_at)::text = any($1)`,
      done,
    ),
  ).toEqual([]);
  expect(await asked()).toBe(1);
  await rebuildRollups(db);
  expect(await asked()).toBe(0);
});

const answered = (id: string, startTime: string, calledNumber = '201') =>
  foundCall({
    ...{ id, startTime, direction: 'inbound', status: 'answered', callerType: 'external', callerNumber: '15554999999' },
    ...{ calledType: 'user', calledNumber, durationSeconds: 120, talkTimeSeconds: 110 },
  });

test('a drain that is cut off leaves its markers to the next', async () => {
  await facts.user(5, ['205']);
  await write(answered('1800000000.1', '2026-05-01T12:00:00Z', '205'));
  await query(`alter table rollups.call_agent_rollup rename to hidden`);
  await expect(drainRollups(db)).rejects.toThrow('call_agent_rollup');
  await query(`alter table rollups.hidden rename to call_agent_rollup`);
  expect(await query(`select from reporting.agent_hourly where local_date = '2026-05-01'`)).toEqual([]);
  await drainRollups(db);
  expect(await query(`select answered_count from reporting.agent_hourly where local_date = '2026-05-01'`)).toEqual([
    { answered_count: 1 },
  ]);
});

test('what is marked during a drain waits for the next one, and the drained moment tells so', async () => {
  await drainRollups(db);
  await write(answered('1800000001.1', '2026-05-02T12:00:00Z'));
  let asked = 0;
  await drainRollups(db, {
    async goesOn() {
      asked += 1;
      if (asked === 2) await write(answered('1800000002.1', '2026-05-02T12:01:00Z'));
      return true;
    },
  });
  const counted = () =>
    facts.value(`select sum(call_count)::integer from reporting.call_hourly where local_date = '2026-05-02'`);
  const freshness = () =>
    query(
      `select w.found_count::integer as waiting_count, r.counted_at < w.counted_at as is_older
       from reporting.data_quality w cross join reporting.data_quality r where w.check_name = 'changes waiting' and r.check_name = 'reports'`,
    );
  expect([await counted(), await freshness()]).toEqual([1, [{ waiting_count: 1, is_older: true }]]);
  await drainRollups(db);
  expect([await counted(), await freshness()]).toEqual([2, [{ waiting_count: 0, is_older: null }]]);
});

test('a read that found nothing that reports count marks nothing', async () => {
  const at = '2026-05-03T12:00:00Z';
  const id = '1800000003.1';
  const text = { id: 1, direction: 'in', sentAt: at, text: 'text' };
  const words = { id: 1_000, callSentiment: 'calm', customKpis: [{ name: 'Greeting', value: 1 }] };
  const wrote = async (row: object, message: object) => {
    await write(foundCall({ id, startTime: at, direction: 'inbound', legs: [{ calledType: 'user' }], ...row }));
    await write(foundThread({ line: '15559990001', number: numberOf(1), participants: [] }, [message]));
    await write(foundTranscripts(id, [words]));
    const markers = await facts.value('select count(*)::integer from ops.rollup_markers');
    await drainRollups(db);
    return markers;
  };
  expect(await wrote({}, text)).toBeGreaterThan(0);
  expect(await wrote({ callerName: 'Other' }, { ...text, read: true })).toBe(0);
});

test('a change of the time zone moves every rollup with a rebuild', async () => {
  await facts.params({ time_zone: 'Asia/Kolkata' });
  await rebuildRollups(db);
  await recomputed();
});

test('a rebuild of some days leaves the others as they are', async () => {
  const before = await contents();
  await query(`update rollups.call_rollup set call_count = 999`);
  await rebuildRollups(db, { from: new Date('2026-03-07T18:30:00Z'), to: new Date('2026-03-08T18:30:00Z') });
  const counts = await query<{ day: string; is_right: boolean }>(
    `select local_date::text as day, bool_and(call_count < 999) as is_right from rollups.call_rollup group by 1 order by 1`,
  );
  expect(counts.filter(({ is_right }) => is_right).map(({ day }) => day)).toEqual(['2026-03-08']);
  await rebuildRollups(db);
  expect(await contents()).toEqual(before);
});
