import { afterAll, expect, test } from 'vitest';
import { query as ask, inTransaction, type Transaction } from '../../src/db/database.ts';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import { isCampaign } from '../faults/figures.ts';
import { createRandom } from '../faults/random.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { db, query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

/** `npm run faults` makes as many as a busy day. */
const updateCount = isCampaign ? 10_000 : 500;
const random = createRandom('late updates');
const { pick, between } = random;

const rollups = [
  'call_interval_rollup',
  'call_endpoint_rollup',
  'call_agent_rollup',
  'call_agent_day_rollup',
  'call_agent_month_rollup',
  'queue_visits',
  'missed_call_returns',
  'callback_rollup',
  'transcript_agents',
  'quality_rollup',
  'sentiment_rollup',
  'kpi_rollup',
  'action_items',
  'sms_turns',
  'sms_day_rollup',
  'sms_failure_rollup',
  'sms_response_rollup',
] as const;

/** Within the four days around a change of the clock in New York; often on the edge of a quarter or a day. */
function moment(): string {
  const from = Date.UTC(2026, 2, 7, 5);
  const at = from + (between(0, 3) === 0 ? between(0, 4 * 96) * 900_000 : between(0, 4 * 86_400) * 1_000);
  return new Date(at - (between(0, 5) === 0 ? 1 : 0)).toISOString();
}

const callId = () => `1700000${String(between(0, 120)).padStart(3, '0')}.1`;
const party = () => pick([null, ...Array.from({ length: 8 }, (_, at) => `1555400000${at}`)]);
const conversation = () => between(1, 8);
const maybe = <T>(value: T) => pick([value, null]);

type Update = (tx: Transaction) => Promise<unknown>;
const run = (text: string, parameters: readonly unknown[]): Update => {
  return (tx) => ask(tx, text, parameters);
};

const writeCall = (): Update =>
  run(
    `insert into warehouse.calls (call_id, started_at, direction, status, duration_seconds, talk_seconds, is_abandoned, is_internal,
       external_number, account_number, transferred_count, caller_type, caller_number, called_type, called_number,
       called_back_call_id, deleted_at, content_hash, source, fetch_seq, fetched_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'external', null, $12, $13, $14, $15, $16, 'test', 1, now())
     on conflict (call_id) do update set started_at = excluded.started_at, direction = excluded.direction, status = excluded.status,
       duration_seconds = excluded.duration_seconds, talk_seconds = excluded.talk_seconds, is_abandoned = excluded.is_abandoned,
       is_internal = excluded.is_internal, external_number = excluded.external_number, account_number = excluded.account_number,
       transferred_count = excluded.transferred_count, called_type = excluded.called_type, called_number = excluded.called_number,
       called_back_call_id = excluded.called_back_call_id, deleted_at = excluded.deleted_at, content_hash = excluded.content_hash`,
    [
      callId(),
      pick([moment(), moment(), moment(), null]),
      pick(['inbound', 'inbound', 'outbound', null]),
      pick(['answered', 'missed', 'missed', 'voicemail', 'unknown', null]),
      maybe(between(0, 300)),
      pick([0, between(0, 200), null]),
      pick([true, false, null]),
      pick([false, false, true, null]),
      party(),
      pick(['15559990000', '15559990001', null]),
      between(0, 1),
      pick(['user', 'queue', null]),
      pick(['201', '202', '601']),
      pick([null, null, '', callId()]),
      pick([null, null, null, moment()]),
      String(random.next()),
    ],
  );

const writeLegs = (): Update => {
  const id = callId();
  const legs = Array.from({ length: between(0, 4) }, (_, at) => ({
    at: at + 1,
    type: pick(['user', 'queue', 'huntgroup', 'ivr']),
    talk: pick([0, 30, null]),
  }));
  return async (tx) => {
    const held = await ask(tx, 'update warehouse.calls set legs_fetched_at = now() where call_id = $1 returning 1', [
      id,
    ]);
    if (held.length === 0) return;
    await ask(tx, 'delete from warehouse.call_legs where call_id = $1', [id]);
    await ask(
      tx,
      `insert into warehouse.call_legs (call_id, leg_key, ordinal, caller_type, caller_number, called_type, called_number, talk_seconds, content_hash, source, fetch_seq, fetched_at)
       select $1, '17000.' || ordinal, ordinal, 'user', '201', type, case type when 'user' then '202' else '601' end, talk, '', '', 1, now()
       from jsonb_to_recordset($2::jsonb) l (ordinal integer, type text, talk integer)`,
      [id, JSON.stringify(legs.map(({ at, type, talk }) => ({ ordinal: at, type, talk })))],
    );
    await ask(tx, 'select warehouse.attribute_calls($1::text[])', [[id]]);
  };
};

const writeText = (): Update => {
  const thread = conversation();
  return run(
    `insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, sent_at, sent_by, delivery_status, delivery_error,
       is_scheduled, is_blocked, deleted_at, body, content_hash, source, fetch_seq, fetched_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'text', $13, 'test', 1, now())
     on conflict (conversation_id, message_id) do update set direction = excluded.direction, sent_at = excluded.sent_at, sent_by = excluded.sent_by,
       delivery_status = excluded.delivery_status, delivery_error = excluded.delivery_error, is_scheduled = excluded.is_scheduled,
       is_blocked = excluded.is_blocked, deleted_at = excluded.deleted_at, content_hash = excluded.content_hash`,
    [
      thread,
      between(1, 25),
      thread % 2 === 0 ? '15559990000' : '15559990001',
      `155540000${String(thread).padStart(2, '0')}`.slice(0, 11),
      pick(['in', 'out', 'out', null]),
      pick([moment(), moment(), moment(), null]),
      maybe(1),
      pick([null, 'delivered', 'FAILED', 'martian']),
      pick([null, '', '30005']),
      pick([false, null, true]),
      pick([false, null, true]),
      pick([null, null, moment()]),
      String(random.next()),
    ],
  );
};

const writeTranscript = (): Update =>
  run(
    `insert into warehouse.transcripts (transcript_id, call_id, csat_score, call_sentiment, call_purpose, is_action_required, agent_name,
       agent_talk_seconds, customer_talk_seconds, leg_unique_id, deleted_at, content_hash, source, fetch_seq, fetched_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'test', 1, now())
     on conflict (transcript_id) do update set call_id = excluded.call_id, csat_score = excluded.csat_score, call_sentiment = excluded.call_sentiment,
       call_purpose = excluded.call_purpose, is_action_required = excluded.is_action_required, agent_name = excluded.agent_name,
       agent_talk_seconds = excluded.agent_talk_seconds, deleted_at = excluded.deleted_at, content_hash = excluded.content_hash`,
    [
      between(1, 80),
      callId(),
      maybe(between(0, 5)),
      pick(['calm', 'angry', '', null]),
      pick(['Billing', null]),
      pick([true, false, null]),
      pick(['Ann', 'Bob', null]),
      pick([1 / 3, 12.5, null]),
      pick([2 / 7, 40]),
      pick(['17000.1', '17000.2', null]),
      pick([null, null, moment()]),
      String(random.next()),
    ],
  );

const writeKpis = (): Update => {
  const transcript = between(1, 80);
  return async (tx) => {
    // Its own row is written first, as a read does, so that two writers take turns.
    const held = await ask(tx, 'select from warehouse.transcripts where transcript_id = $1 for update', [transcript]);
    if (held.length === 0) return;
    await ask(tx, 'delete from warehouse.transcript_kpis where transcript_id = $1', [transcript]);
    await ask(
      tx,
      `insert into warehouse.transcript_kpis (transcript_id, ordinal, kpi_name, kpi_value) values ($1, 1, $2, $3), ($1, 2, 'Empathy', 1)`,
      [transcript, pick(['Greeting', '']), maybe(between(0, 10))],
    );
  };
};

const remove = (): Update =>
  pick([
    () => run('delete from warehouse.calls where call_id = $1', [callId()]),
    () =>
      run(`update warehouse.calls set external_number = null, content_hash = '' where external_number = $1`, [party()]),
    () => run('delete from warehouse.sms_messages where conversation_id = $1 and message_id % 3 = 0', [conversation()]),
    () => run('delete from warehouse.transcripts where transcript_id = $1', [between(1, 80)]),
    () => run('delete from warehouse.call_attributions where call_id = $1', [callId()]),
  ])();

const update = (): Update =>
  pick([writeCall, writeCall, writeText, writeText, writeTranscript, writeKpis, writeLegs, remove])();

/** Facts that no random update reaches, for those may happen to leave a table empty. */
async function lastingFacts(): Promise<void> {
  const caller = { external_number: '15554999999', account_number: '15559990000', is_internal: false };
  const missed = { direction: 'inbound', status: 'missed', is_abandoned: true, talk_seconds: 0, ...caller };
  await facts.call({ call_id: '1700000998.1', started_at: '2026-03-08T15:00:00Z', ...missed });
  const returned = { direction: 'outbound', status: 'answered', talk_seconds: 60, ...caller };
  await facts.call({ call_id: '1700000999.1', started_at: '2026-03-08T15:30:00Z', ...returned });
  const whole = { agent_name: 'Ann', is_action_required: true, call_sentiment: 'calm' };
  await facts.insert('warehouse.transcripts', { transcript_id: 999, call_id: '1700000999.1', ...whole });
  await facts.thread(9, [
    ['2026-03-08T16:00:00Z', 'in'],
    ['2026-03-08T16:10:00Z', 'out', { sent_by: 1, delivery_status: 'FAILED', delivery_error: '30005' }],
  ]);
  await facts.insert('warehouse.transcript_kpis', {
    transcript_id: 999,
    ordinal: 1,
    kpi_name: 'Empathy',
    kpi_value: 1,
  });
}

async function contents(): Promise<Record<string, string[]>> {
  const held: Record<string, string[]> = {};
  for (const table of rollups) {
    const rows = await query<{ row: string }>(
      `select (to_jsonb(t) - 'row_id')::text as row from rollups.${table} t order by 1`,
    );
    held[table] = rows.map(({ row }) => row);
  }
  return held;
}

let left = 0;

async function write(): Promise<void> {
  while (left > 0) {
    const some = Array.from({ length: Math.min(left, between(1, 4)) }, update);
    left -= some.length;
    const pause = between(0, 3) === 0 ? between(1, 10) / 1000 : 0;
    await inTransaction(db, async (tx) => {
      for (const each of some) await each(tx);
      // A drain passes by while the facts are written and not yet committed.
      if (pause > 0) await ask(tx, 'select pg_sleep($1)', [pause]);
    });
  }
}

async function drain(): Promise<void> {
  // Some drains are cut off after a day or two.
  while (left > 0) {
    let days = between(1, 4);
    await drainRollups(db, { goesOn: () => Promise.resolve(--days > 0) });
  }
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
  for (let id = 1; id <= 8; id += 1) await facts.thread(id, []);
  await lastingFacts();
  left = updateCount;
  await Promise.all([write(), write(), write(), drain(), drain()]);
  const kept = await recomputed();
  for (const table of rollups) expect(kept[table]?.length, table).toBeGreaterThan(0);
  expect(await facts.value('select count(*)::integer from ops.rollup_markers')).toBe(0);
});

test('a rebuild amid late updates and drains takes no change away from them', { timeout: 600_000 }, async () => {
  left = updateCount / 2;
  await Promise.all([write(), write(), drain(), rebuildRollups(db)]);
  await recomputed();
});

test('a whole rebuild leaves no day to be done again, and one that is cut off is asked for again', async () => {
  const asked = () =>
    facts.value(`select found_count::integer from reporting.data_quality where check_name like 'definitions changed%'`);
  for (let count = 0; count < 40; count += 1) await db.transaction().execute(async (tx) => void (await update()(tx)));
  expect(await facts.value('select count(*)::integer from ops.rollup_markers')).toBeGreaterThan(0);
  const done: string[] = [];
  const onDay = (share: number, date: string) => {
    done.push(date);
    if (share === 1) throw new Error('cut off');
  };
  await expect(rebuildRollups(db, { onDay })).rejects.toThrow('cut off');
  // An update can mark a day that it leaves without a fact: that one is left to the drain.
  expect(
    await query(
      'select from ops.rollup_markers where conversation_id is not null or reporting.local_day(bucket_at)::text = any($1)',
      done,
    ),
  ).toEqual([]);
  expect(await asked()).toBe(1);
  await rebuildRollups(db);
  expect(await asked()).toBe(0);
});

test('a drain that is cut off leaves its markers to the next', async () => {
  await facts.user(3, ['203']);
  await facts.call({ call_id: '1800000000.1', started_at: '2026-05-01T12:00:00Z', called_number: '203' });
  await query(`alter table rollups.call_agent_rollup rename to hidden`);
  await expect(drainRollups(db)).rejects.toThrow('call_agent_rollup');
  await query(`alter table rollups.hidden rename to call_agent_rollup`);
  expect(await query(`select from reporting.agent_daily where local_date = '2026-05-01'`)).toEqual([]);
  await drainRollups(db);
  expect(
    await query(`select answered_count::integer from reporting.agent_daily where local_date = '2026-05-01'`),
  ).toEqual([{ answered_count: 1 }]);
});

test('what is marked during a drain waits for the next one, and the drained moment tells so', async () => {
  await drainRollups(db);
  await facts.call({ call_id: '1800000001.1', started_at: '2026-05-02T12:00:00Z' });
  let asked = 0;
  await drainRollups(db, {
    async goesOn() {
      asked += 1;
      if (asked === 2) await facts.call({ call_id: '1800000002.1', started_at: '2026-05-02T12:01:00Z' });
      return true;
    },
  });
  const counted = () =>
    facts.value(`select call_count::integer from reporting.call_daily where local_date = '2026-05-02'`);
  const freshness = () =>
    query(
      `select waiting_count, newest_at < waiting_since_at as is_older from reporting.data_freshness where entity = 'rollups'`,
    );
  expect([await counted(), await freshness()]).toEqual([1, [{ waiting_count: 1, is_older: true }]]);
  await drainRollups(db);
  expect([await counted(), await freshness()]).toEqual([2, [{ waiting_count: 0, is_older: null }]]);
});

test('a read that found nothing new marks nothing', async () => {
  await query(
    `update warehouse.calls set fetched_at = now(), fetch_seq = fetch_seq + 1, caller_name = 'Other', content_hash = 'other'`,
  );
  await query(`update warehouse.sms_messages set fetched_at = now(), is_read = true, content_hash = 'other'`);
  expect(await facts.value('select count(*)::integer from ops.rollup_markers')).toBe(0);
});

test('a change of the time zone moves every rollup with a rebuild', async () => {
  await facts.params({ time_zone: 'Asia/Kolkata' });
  await rebuildRollups(db);
  const kept = await contents();
  await query(`truncate ${rollups.map((table) => `rollups.${table}`).join(', ')}`);
  await rebuildRollups(db);
  expect(kept).toEqual(await contents());
});

test('a rebuild of some days leaves the others as they are', async () => {
  const before = await contents();
  await query(`update rollups.call_endpoint_rollup set call_count = 999`);
  await rebuildRollups(db, { from: new Date('2026-03-07T18:30:00Z'), to: new Date('2026-03-08T18:30:00Z') });
  const counts = await query<{ day: string; is_right: boolean }>(
    `select local_date::text as day, bool_and(call_count < 999) as is_right from rollups.call_endpoint_rollup group by 1 order by 1`,
  );
  expect(counts.filter(({ is_right }) => is_right).map(({ day }) => day)).toEqual(['2026-03-08']);
  await rebuildRollups(db);
  expect(await contents()).toEqual(before);
});
