import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { drainOutcomes } from '../../../src/reporting/outcomes.ts';
import { openReceiver, settingsFor } from '../../ops/receiver.ts';
import { factsDatabase } from '../../reporting/facts.ts';

const facts = await factsDatabase();
const world = await openReceiver(settingsFor(facts.url));
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await facts[Symbol.asyncDispose]();
});

// All of it happened on one day of the reports, at whatever hour the test runs.
const dayOf = (back: number) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10);
const dayBefore = dayOf(1);
const at = (time: string) => `${dayBefore}T${time}:00Z`;
const text = async (path: string) => (await world.get(path)).text();

test('with nothing mirrored, every picture is a sentence', async () => {
  const page = await text('/reports?days=90');
  expect(page.match(/class="empty"/g)).toHaveLength(6);
  expect(page).not.toMatch(/could not be read/);
});

describe('with calls and texts', () => {
  beforeAll(async () => {
    await facts.call({ call_id: '1700000001.1', started_at: at('10:00') });
    const missed = { status: 'missed', is_abandoned: true, talk_seconds: 0 };
    await facts.call({ call_id: '1700000002.1', started_at: at('09:00'), ...missed });
    await facts.thread(1, [
      [at('11:00'), 'in'],
      [at('12:00'), 'out', { sent_by: 1 }],
    ]);
    const words = 'Negative negative negative positive positive רגוע רגוע כועס כועס x y'.split(' ');
    for (const [transcript_id, call_sentiment] of words.entries())
      await facts.insert('warehouse.transcripts', { transcript_id, call_id: '1700000001.1', call_sentiment });
    await facts.query(
      `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, expires_at, units,
         reserved_micros, settled_micros, planned_at, reserved_at, dispatched_at)
       select 'thanks', '1', number, 'message', number, now(), mode, '', state, reason, now(), units, reserved, settled, at, moment, moment
       from (select timestamptz '${at('10:00')}' as at) planned
         cross join (values ('2', 'live', 'SENT', null, 2, 0, 15800), ('3', 'live', 'SENT', null, 1, 50000, null),
           ('4', 'dry-run', 'DENIED', 'dry_run', 1, 0, null), ('5', 'live', 'DENIED', 'gate:opted_out', null, 0, null)
         ) s (number, mode, state, reason, units, reserved, settled)
         cross join lateral (select case when state = 'SENT' then at end as moment) sent`,
    );
    await facts.drain();
    await drainOutcomes(facts.db);
  });

  test('each picture tells what the views tell', async () => {
    const page = await text('/reports?days=7');
    expect(page).toContain('2 calls and 2 texts.');
    expect(page).toContain('50\u00a0% of inbound calls were answered within 20 seconds, 50\u00a0% at all.');
    expect(page).toContain('The one missed call was returned.');
    expect(page).toContain('Half of the replies of people came within 60 min.');
    expect(page).toContain('Of 11 analysed recordings, 27\u00a0% negative, 18\u00a0% ');
    expect(page).toContain('$0.02 for 1 of 2 texts that rules sent; in dry-run, they would have sent 1 more.');
    expect(page).toContain('Of 1 sent, the price was not reported.');
  });

  test('each picture’s figures come as CSV, a line a day', async () => {
    for (const name of ['volume', 'service-level', 'missed', 'response-time', 'sentiment', 'cost']) {
      const answer = await world.get(`/reports/${name}.csv?days=7`);
      expect(answer.headers.get('content-type'), name).toMatch(/^text\/csv/);
      expect(answer.headers.get('content-disposition')).toBe(
        `attachment; filename="${name}-${dayOf(6)}-to-${dayOf(0)}.csv"`,
      );
      const lines = (await answer.text()).trimEnd().split('\r\n');
      expect(lines).toHaveLength(8);
      const width = lines[0]?.split(',').length;
      expect(lines.every((line) => line.split(',').length === width)).toBe(true);
    }
    expect(await text('/reports/volume.csv?days=7')).toContain(`,2,0,1,1\r\n`);
  });

  test('the words of an account are columns of their own in any script, from bad to good, and the rest is one', async () => {
    const lines = (await text('/reports/sentiment.csv?days=7')).trimEnd().split('\r\n');
    expect(lines[0]).toBe('local_date,negative,כועס,רגוע,positive,other');
    expect(lines.find((line) => !line.endsWith(',0,0,0,0,0') && !line.startsWith('local'))).toMatch(/,3,2,2,2,2$/);
  });

  test('cost tells what was charged apart from what is not known, and what dry-run and gates kept back', async () => {
    const lines = (await text('/reports/cost.csv?days=7')).trimEnd().split('\r\n');
    expect(lines[0]).toBe(
      'local_date,sent,would_send,kept_back,segments,cost_usd,set_aside_usd,price_not_reported,outcome_unknown',
    );
    expect(lines.filter((line) => line.endsWith(',2,1,1,3,0.0158,0.05,1,0'))).toHaveLength(1);
    expect(lines.filter((line) => line.endsWith(',0,0,0,0,0,0,0,0'))).toHaveLength(6);
  });

  test.each([
    ['days=0', 'days must be a number from 1 to 366.'],
    ['days=7&days=30', 'days stands twice in the address.'],
    ['month=next', 'month must be this or last.'],
    ['from=2026-11-02', 'from and to must both be days, such as 2026-11-01.'],
    ['from=2026-02-30&to=2026-03-01', 'from and to must both be days, such as 2026-11-01.'],
    ['from=2020-02-02&to=2020-02-01', 'The first day must not be after the last day.'],
    ['from=2020-01-01&to=2021-01-01', 'A range can have 366 days at most.'],
    ['from=2090-01-01&to=2090-01-02', 'There is nothing to report after today, '],
    ['agent=Sam', 'agent must be the id of a user.'],
  ])('a choice that cannot be is refused: %s', async (parameters, sentence) => {
    const rows = ['/reports/rows?set=missed&', '/reports/rows.csv?set=missed&'];
    for (const path of ['/reports?', '/reports/volume.csv?', ...rows]) {
      const answer = await world.get(path + parameters);
      expect([answer.status, await answer.text()], path).toEqual([400, expect.stringContaining(sentence)]);
    }
  });

  test('rows that no figure has are refused', async () => {
    for (const path of ['/reports/rows', '/reports/rows?set=toString', '/reports/rows?set=missed&page=0']) {
      expect((await world.get(path)).status, path).toBe(400);
    }
    expect((await world.get('/reports/unheard-of.csv')).status).toBe(404);
  });

  test('the reports open to the admin token alone, and only the scripts of this server run in them', async () => {
    for (const path of ['/reports', '/reports/volume.csv'])
      expect((await fetch(`${world.receiver.url}${path}`)).status).toBe(401);
    const policy = (await world.get('/reports')).headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none';script-src 'self';style-src 'sha256-[^']+';img-src data:/);
    expect(policy).not.toMatch(/unsafe/);
  });

  test('the status page leads to them', async () => {
    expect(await text('/')).toContain('<a href="/reports">Reports</a>');
  });
});
