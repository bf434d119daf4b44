import { afterAll, expect, test } from 'vitest';
import type { Transaction } from '../../src/db/database.ts';
import { keepEndpoints, rebuildAgentHours, rebuildCallHours } from '../../src/reporting/rollups/calls.ts';
import { rebuildVisits } from '../../src/reporting/rollups/visits.ts';
import { scannedBy } from '../server/records/scans.ts';
import { asking } from '../world/database.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
afterAll(() => facts[Symbol.asyncDispose]());

/** The plan of a question as it is made where tables are large: scans and sorts of all rows are no choice. */
async function planOf(text: string): Promise<string> {
  return facts.db.connection().execute(async (connection) => {
    const { query } = asking(connection);
    await query('set enable_seqscan = off');
    await query('set enable_sort = off');
    await query('set random_page_cost = 1.1');
    try {
      const rows = await query<Record<string, string>>(`explain ${text}`);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    } finally {
      await query('reset all');
    }
  });
}

test('no index hangs all rows of one value on one chain', async () => {
  expect(await facts.query(`select indexname from pg_indexes where indexdef like '% USING hash %'`)).toEqual([]);
});

test('the newest conversations are read in the order of an index', async () => {
  const plan = await planOf(
    'select * from reporting.conversation_state order by last_message_at desc nulls last limit 100',
  );
  expect(plan).toContain('sms_conversations_newest');
  expect(plan).not.toContain('Sort');
});

test('averages of measures read no transcripts', async () => {
  const plan = await planOf(
    `select kpi_name, avg(kpi_value) from reporting.fct_kpi where call_started_at >= now() - interval '7 days' group by 1`,
  );
  expect(plan).toContain('transcript_agents_call_started_at');
  expect(plan).not.toMatch(/ on transcripts/);
});

test('what one call touched is found by the key of the call', async () => {
  const plan = await planOf(`select * from reporting.fct_call_agent where call_id = '1700000001.1'`);
  expect(plan.match(/Index Scan using calls_pkey/g)).toHaveLength(2);
  expect(plan).toContain('call_attributions_pkey');
});

test('how long returns take is read from an index alone', async () => {
  const median = 'percentile_cont(0.5) within group (order by minutes_to_return)';
  const missed = await planOf(
    `select ${median} from reporting.missed_calls where started_at >= now() - interval '30 days'`,
  );
  expect(missed).toContain('missed_call_returns_times');
  expect(missed).not.toMatch(/ on calls/);
});

test('satisfaction and sentiment read no transcripts', async () => {
  const plan = await planOf(
    `select local_date, call_sentiment, count(*), avg(csat_score) from reporting.fct_transcript
     where call_started_at >= now() - interval '30 days' group by 1, 2`,
  );
  expect(plan).toContain('transcript_agents_call_started_at');
  expect(plan).not.toMatch(/ on transcripts/);
});

test('90 days of calls by number are read from a range of the key of the totals', async () => {
  const plan = await planOf(
    `select number_key, sum(call_count), sum(answered_in_time_count) from reporting.call_hourly
     where local_date > reporting.local_day(now()) - 90 and direction = 'inbound' group by 1`,
  );
  expect(plan).toContain('call_rollup_pkey');
  expect(plan).not.toMatch(/ on calls/);
});

test('a span of calls with the names of its dimensions is read by its start alone', async () => {
  const plan = await planOf(
    `select d.week_start_date, n.number_name, q.queue_name, u.user_name, c.outcome, count(*)
     from reporting.fct_call c
       join reporting.dim_date d on d.local_date = c.local_date
       join reporting.dim_number n on n.number_key = c.number_key
       left join reporting.dim_queue q on q.queue_key = c.queue_key
       left join reporting.dim_user u on u.user_key = c.answered_user_key
     where c.started_at >= now() - interval '7 days' group by 1, 2, 3, 4, 5`,
  );
  expect(plan).toContain('calls_started_at');
  expect(plan).not.toMatch(/calls_pkey| on (call_legs|call_attributions)/);
});

test('what is not shown of a call is not computed', async () => {
  const plan = await planOf(`select count(*) from reporting.fct_call where started_at >= now() - interval '7 days'`);
  expect(plan).not.toMatch(/business_hours|holidays|schedules/);
});

test('a contact is looked up by its key', async () => {
  const plan = await planOf(`select * from reporting.dim_contact where contact_key = '15550000001'`);
  expect(plan).toContain('contacts_pkey');
  expect(plan).toContain('calls_external_number');
});

test('a day of calls is rolled up without reading all calls or legs', async () => {
  await facts.call({ call_id: '1767312000.1', started_at: '2026-01-02T00:00:00Z', queue: 'Sales' });
  const day = { date: '2026-01-02', from: new Date('2026-01-02T00:00:00Z'), to: new Date('2026-01-03T00:00:00Z') };
  const scanned = await scannedBy(facts.db, async (tx) => {
    for (const rebuild of [rebuildCallHours, rebuildAgentHours, rebuildVisits]) {
      await rebuild(tx as Transaction, day, { ...day, hours: [0], count: 1 });
    }
    await keepEndpoints(tx as Transaction, day);
  });
  expect(scanned.filter((table) => table.startsWith('warehouse.call'))).toEqual([]);
});
