import { afterAll, describe, expect, test } from 'vitest';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { factsDatabase } from './facts.ts';
import { line, numberOf, ruleFacts, unsent } from './rule-facts.ts';

const facts = await factsDatabase();
const { expectRows, insert, lines, query, thread, value } = facts;
const { run, send, change } = ruleFacts(facts);
afterAll(() => facts[Symbol.asyncDispose]());
await facts.params({ time_zone: 'America/New_York' });

const outcomes = (rule: string) =>
  expectRows(
    `select local_date::text, planned_count from reporting.rule_outcomes where rule = $1 and mode = 'live' order by local_date`,
    rule,
  );

test('dollars have six digits behind the point, as their micros have', () =>
  expectRows(`
    select table_name, column_name from information_schema.columns
    where table_schema = 'reporting' and column_name like '%\\_usd' and numeric_scale is distinct from 6`).toEqual([]));

describe('the cost of sms_daily', () => {
  test('has what was charged, what is not known and what is open, by day and line, and nothing that was taken back', async () => {
    // The night on which clocks are set back: both are at half past one, and the day has 25 hours.
    await send('cost', '11-01T05:30', 71);
    await send('cost', '11-01T06:30', 72, { units: 3, settled_micros: 23_700 });
    await send('cost', '11-02T04:59', 73, { message_type: 'mms', settled_micros: 20_000 });
    // Planned before midnight, held for quiet hours, sent the next day.
    const open = { settled_micros: null, reserved_micros: 50_000 };
    await send('cost', '11-02T04:00', 74, { ...open, dispatched_at: '11-02T13:00' });
    await send('cost', '11-02T13:00', 75, { ...open, state: 'RESERVED', dispatched_at: null });
    await send('cost', '11-02T13:00', 76, { ...unsent, state: 'DENIED', reason: 'dry_run', mode: 'dry-run' });
    await drainOutcomes(facts.db);
    await expectRows(`
      select local_date::text as day, rule_sent_count as sent, rule_segment_count as segments, charged_usd::float8 as charged,
        unpriced_count as unpriced, unpriced_set_aside_usd::float8 as unpriced_usd, open_set_aside_usd::float8 as open_usd
      from reporting.sms_daily where local_date >= '2026-11-01' order by 1`).toEqual([
      '2026-11-01 | 3 | 5 | 0.0516 | 0 | 0 | 0',
      '2026-11-02 | 1 | 1 | 0 | 1 | 0.05 | 0.05',
    ]);
    await outcomes('cost').toEqual(['2026-11-01 | 4', '2026-11-02 | 1']);
    await change(
      `update ops.sends set state = 'DENIED', reason = 'gate:answered', reserved_micros = 0 where state = 'RESERVED'`,
    );
    await drainOutcomes(facts.db);
    const left = `select sum(open_set_aside_usd)::float8 from reporting.sms_daily where local_date >= '2026-11-01'`;
    expect(await value(left)).toBe(0);
  });
});

test('in another time zone the texts move to its days, and the evaluations stay on theirs', async () => {
  // In New York the 31st, and the 4th.
  await run('zone', '11-01T02:00');
  await send('zone', '11-01T02:00', 77);
  await send('half', '05-04T18:40', 90);
  await drainOutcomes(facts.db);
  const evaluations = () =>
    lines(
      `select local_date, evaluation_count from reporting.rule_outcomes where rule = 'zone' and evaluation_count > 0`,
    );
  const [before] = [await evaluations()];
  await outcomes('half').toEqual(['2026-05-04 | 1']);
  await facts.params({ time_zone: 'UTC' });
  await drainOutcomes(facts.db);
  expect(await evaluations()).toEqual(before);
  await outcomes('zone').toEqual(['2026-10-31 | 0', '2026-11-01 | 1']);
  // The days of this one begin within an hour.
  await facts.params({ time_zone: 'Asia/Kolkata' });
  await drainOutcomes(facts.db);
  await outcomes('half').toEqual(['2026-05-05 | 1']);
  await expectRows(`
    select local_date::text, rule_sent_count from reporting.sms_daily where local_date between '2026-05-04' and '2026-05-05'`).toEqual(
    ['2026-05-05 | 1'],
  );
  await facts.params({ time_zone: 'America/New_York' });
});

test('what was skipped as opted out stands beside the words, the last of both deciding', async () => {
  await send('skipped', '06-10T12:00', 15, { state: 'SKIPPED', reason: 'opted_out', settled_micros: null });
  await insert('ops.opt_outs', { number: numberOf(15), decided_at: '06-10T12:00', line });
  await thread(53, [
    ['07-01T12:05', 'in', { body: ' stop ' }],
    ['07-03T12:00', 'in', { body: 'START' }],
  ]);
  await thread(55, [['07-01T12:06', 'in', { body: 'STOP' }]]);
  const status = () =>
    expectRows('select right(number, 2), opt_status, evidence from reporting.sms_opt_status order by 1');
  const texted = ['53 | opt_in | inbound_word', '55 | opt_out | inbound_word'];
  await status().toEqual(['15 | opt_out | service_skip', ...texted]);
  await thread(15, [['06-11T12:00', 'in', { body: 'START' }]]);
  await status().toEqual(['15 | opt_in | inbound_word', ...texted]);
});

test('data_quality counts the texts that nobody knows of, those without a price, and the rules that failed', async () => {
  await query('delete from ops.sends');
  await send('broken', '11-03T12:00', 81, { state: 'NEEDS_HUMAN', settled_micros: null });
  await send('unpriced', '11-03T12:00', 82, { settled_micros: null });
  await run('broken', new Date().toISOString(), { word: 'error' });
  await query(`insert into ops.attribution_days (local_date, claimed_until, finished_at, problem)
    values (reporting.local_day(now()) - 1, now(), now(), 'refused'), (reporting.local_day(now()) - 2, now(), now(), null)`);
  await drainOutcomes(facts.db);
  await expectRows(`
    select check_name, found_count from reporting.data_quality where check_name ~ 'rules|attribution' order by 1`).toEqual(
    [
      'evaluations of rules that failed, 7 days | 1',
      'nights of attribution with a problem, 7 days | 1',
      'texts of rules that may have been sent | 1',
      'texts of rules without a price | 1',
    ],
  );
});
