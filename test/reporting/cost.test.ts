import { afterAll, describe, expect, test } from 'vitest';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { factsDatabase } from './facts.ts';
import { line, numberOf, ruleFacts, unsent } from './rule-facts.ts';

const facts = await factsDatabase();
const { lines, query, insert, thread, value } = facts;
const { run, send, change } = ruleFacts(facts);
afterAll(() => facts[Symbol.asyncDispose]());
await facts.params({ time_zone: 'America/New_York' });

const outcomes = (columns: string, where: string) =>
  query(`select ${columns} from reporting.rule_outcomes where ${where} order by local_date, rule, version, mode`);

test('dollars have six digits behind the point, as their micros have', async () => {
  expect(
    await query(
      `select table_name as view, column_name as column from information_schema.columns
       where table_schema = 'reporting' and column_name like '%\\_usd' and numeric_scale is distinct from 6`,
    ),
  ).toEqual([]);
});

describe('the cost of sms_daily', () => {
  test('has what was charged, what is not known and what is open, by day and line', async () => {
    // The night on which clocks are set back: both are at half past one, and the day has 25 hours.
    await send('cost', '2026-11-01T05:30:00Z', 71);
    await send('cost', '2026-11-01T06:30:00Z', 72, { units: 3, settled_micros: 23_700 });
    await send('cost', '2026-11-02T04:59:00Z', 73, { message_type: 'mms', settled_micros: 20_000 });
    // Planned before midnight, held for quiet hours, sent the next day.
    await send('cost', '2026-11-02T04:00:00Z', 74, {
      dispatched_at: '2026-11-02T13:00:00Z',
      settled_micros: null,
      reserved_micros: 50_000,
    });
    await send('cost', '2026-11-02T13:00:00Z', 75, {
      state: 'RESERVED',
      dispatched_at: null,
      settled_micros: null,
      reserved_micros: 50_000,
    });
    await send('cost', '2026-11-02T13:00:00Z', 76, { ...unsent, state: 'DENIED', reason: 'dry_run', mode: 'dry-run' });
    await drainOutcomes(facts.db);
    expect(
      await lines(
        `select local_date::text as day, rule_sent_count as sent, rule_segment_count as segments, charged_usd::float8 as charged,
           unpriced_count as unpriced, unpriced_set_aside_usd::float8 as unpriced_usd, open_count as open, open_set_aside_usd::float8 as open_usd
         from reporting.sms_daily where local_date >= '2026-11-01' order by 1`,
      ),
    ).toEqual(['2026-11-01 | 3 | 5 | 0.0516 | 0 | 0 | 0 | 0', '2026-11-02 | 1 | 1 | 0 | 1 | 0.05 | 1 | 0.05']);
    expect(await outcomes('local_date::text as day, planned_count', `rule = 'cost' and mode = 'live'`)).toEqual([
      { day: '2026-11-01', planned_count: 4 },
      { day: '2026-11-02', planned_count: 1 },
    ]);
  });

  test('a send that was taken back costs nothing on any day', async () => {
    await change(
      `update ops.sends set state = 'DENIED', reason = 'gate:answered', reserved_micros = 0 where state = 'RESERVED'`,
    );
    await drainOutcomes(facts.db);
    expect(
      await value(`select sum(open_count)::integer from reporting.sms_daily where local_date >= '2026-11-01'`),
    ).toBe(0);
  });
});

test('in another time zone the texts move to its days, and the evaluations stay on theirs', async () => {
  await run('zone', '2026-11-01T02:00:00Z');
  await drainOutcomes(facts.db);
  const evaluations = await query(
    'select local_date, rule, version, mode, evaluation_count from reporting.rule_outcomes where evaluation_count > 0 order by 1, 2, 3, 4',
  );
  const total = await value('select sum(planned_count)::integer from reporting.rule_outcomes');
  await facts.params({ time_zone: 'UTC' });
  await drainOutcomes(facts.db);
  expect(
    await query(
      'select local_date, rule, version, mode, evaluation_count from reporting.rule_outcomes where evaluation_count > 0 order by 1, 2, 3, 4',
    ),
  ).toEqual(evaluations);
  expect(await value('select sum(planned_count)::integer from reporting.rule_outcomes')).toBe(total);
  expect(await outcomes('local_date::text as day, planned_count', `rule = 'cost' and mode = 'live'`)).toEqual([
    { day: '2026-11-01', planned_count: 2 },
    { day: '2026-11-02', planned_count: 3 },
  ]);
});

test('in a zone whose days begin within an hour, the texts of its first minutes move to their day too', async () => {
  await send('half', '2026-05-04T18:40:00Z', 90);
  await drainOutcomes(facts.db);
  await facts.params({ time_zone: 'Asia/Kolkata' });
  await drainOutcomes(facts.db);
  expect(await outcomes('local_date::text as day, sent_count', `rule = 'half'`)).toEqual([
    { day: '2026-05-05', sent_count: 1 },
  ]);
  expect(
    await query(
      `select local_date::text as day, rule_sent_count from reporting.sms_daily where local_date between '2026-05-04' and '2026-05-05'`,
    ),
  ).toEqual([{ day: '2026-05-05', rule_sent_count: 1 }]);
  await facts.params({ time_zone: 'UTC' });
});

test('what was skipped as opted out stands beside the words, the last of both deciding', async () => {
  await send('skipped', '2026-06-10T12:00:00Z', 15, { state: 'SKIPPED', reason: 'opted_out', settled_micros: null });
  await query(
    `insert into ops.opt_outs (number, decided_at, line) values ($1, '2026-06-10T12:00:00Z', $2)`,
    numberOf(15),
    line,
  );
  await thread(53, [['2026-07-01T12:05:00Z', 'in', { body: ' stop ' }]]);
  await thread(55, [['2026-07-01T12:06:00Z', 'in', { body: 'STOP' }]]);
  await insert('warehouse.sms_messages', {
    ...{ conversation_id: 53, message_id: 1, line, number: numberOf(53), direction: 'in' },
    ...{ sent_at: '2026-07-03T12:00:00Z', body: 'START' },
  });
  const status = () =>
    query(
      `select line, number, is_opted_out, evidence from reporting.sms_opt_status where number = any($1) order by number`,
      [numberOf(15), numberOf(53), numberOf(55)],
    );
  expect(await status()).toEqual([
    { line, number: numberOf(15), is_opted_out: true, evidence: 'service_skip' },
    { line, number: numberOf(53), is_opted_out: false, evidence: 'inbound_word' },
    { line, number: numberOf(55), is_opted_out: true, evidence: 'inbound_word' },
  ]);
  await thread(15, [['2026-06-11T12:00:00Z', 'in', { body: 'START' }]]);
  expect((await status())[0]).toEqual({ line, number: numberOf(15), is_opted_out: false, evidence: 'inbound_word' });
});

test('data_quality counts the texts that nobody knows of, those without a price, and the rules that failed', async () => {
  await send('broken', '2026-11-03T12:00:00Z', 81, { state: 'NEEDS_HUMAN', settled_micros: null });
  await run('broken', new Date().toISOString(), { word: 'error' });
  await query(`insert into ops.attribution_days (local_date, claimed_until, finished_at, problem)
    values (reporting.local_day(now()) - 1, now(), now(), 'refused'), (reporting.local_day(now()) - 2, now(), now(), null)`);
  await drainOutcomes(facts.db);
  const found = await query<{ check_name: string; found_count: string }>(
    `select check_name, found_count from reporting.data_quality where check_name ~ 'rules|attribution' order by 1`,
  );
  expect(Object.fromEntries(found.map(({ check_name, found_count }) => [check_name, Number(found_count)]))).toEqual({
    'evaluations of rules that failed, 7 days': 1,
    'nights of attribution with a problem, 7 days': 1,
    'texts of rules without a price': 1,
    'texts of rules that may have been sent': 1,
  });
});
