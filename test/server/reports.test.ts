import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refusals, refusedMs } from '../../src/db/connections.ts';
import { parseReport } from '../../src/server/reports/file.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { openReceiver, settingsFor } from './receiver.ts';
import { dayOf, readable } from './seed.ts';

const own = await mkdtemp(join(tmpdir(), 'reports-'));
const facts = await factsDatabase();
const world = await openReceiver(settingsFor(facts.url, { REPORTS_DIR: own }));
const yesterday = dayOf(1);

beforeAll(async () => {
  const missed = { status: 'missed', is_abandoned: true, talk_seconds: 0, duration_seconds: 40 };
  await facts.call({ call_id: '1700000001.1', started_at: `${yesterday}T10:00:00Z` });
  await facts.call({ call_id: '1700000002.1', started_at: `${yesterday}T09:00:00Z`, ...missed });
  await facts.call({ call_id: '1700000003.1', started_at: `${dayOf(3)}T09:00:00Z` });
  // Each hour of the last four days is held.
  await facts.query(
    `insert into ops.coverage (stream, from_at, to_at, state, is_watched, due_at)
     select 'calls', hour, hour + interval '1 hour', 'proven', false, 'infinity'
     from generate_series($1::timestamptz, date_trunc('hour', now()) - interval '1 hour', interval '1 hour') hour`,
    `${dayOf(4)}T00:00:00Z`,
  );
  await facts.drain();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await facts[Symbol.asyncDispose]();
  await rm(own, { recursive: true });
});

const text = async (path: string) => (await world.get(path)).text();
const read = async (path: string) => readable(await text(path));
const write = (name: string, ...lines: readonly string[]) => writeFile(join(own, name), lines.join('\n'));
/** What is wrong with a file, as its page says. */
const faultOf = (name: string) => read(`/reports/${name}`);

describe('a report', () => {
  test('says its sentence of the period in the address, and its table has the rows', async () => {
    const page = await read(`/reports/calls?from=${yesterday}&to=${yesterday}`);
    expect(page).toContain('2 calls came in and 0 went out; 50 % of those in were answered.');
    expect(page).toMatch(/ 2 1 1 50\.0 0$/m);
    expect(await read(`/reports/calls?from=${dayOf(3)}&to=${dayOf(3)}`)).toContain('1 call came in');
  });

  test('compares with the days before, which are not 0 where nothing was held', async () => {
    const beside = async (from: string) => read(`/reports/calls?from=${from}&to=${yesterday}`);
    expect(await beside(dayOf(2))).toMatch(/The 2 days before, .*: 1 call came in/);
    expect(await beside(dayOf(3))).toMatch(/The 3 days before, .*: not held\./);
    expect(await read(`/reports?from=${dayOf(2)}&to=${yesterday}`)).toMatch(/\+100 % ?, now 2, before 1/);
    expect(await read('/reports?days=90')).toContain('The period before is not held.');
    expect((await read('/reports/calls?days=30')).match(/^\w{3} \d+ \w{3}.* [\d.–]+$/gm)).toHaveLength(5);
  });

  test('leads from a day to its calls, and from these to theirs', async () => {
    const rows = /href="(\/reports\/calls-one-by-one\?[^"]*)"/.exec(await text('/reports/calls?days=7'))?.[1] ?? '';
    const address = new URLSearchParams(rows.replaceAll('&amp;', '&').split('?')[1]);
    expect(address.get('from')).toMatch(/^\d{4}-/);
    expect(address.get('to')).toBe(address.get('from'));
    expect(await text('/reports/calls-one-by-one?days=7')).toContain('href="/calls/1700000001.1"');
  });

  test('counts the calls of what is chosen', async () => {
    expect(await read('/reports/calls?days=7&number=1')).toContain('0 calls came in');
  });

  test('is a CSV of the same rows', async () => {
    const answer = await world.get(`/reports/calls.csv?from=${yesterday}&to=${yesterday}`);
    expect(answer.headers.get('content-disposition')).toContain(`calls-${yesterday}-to-${yesterday}.csv`);
    expect(await answer.text()).toBe(
      `local_date,inbound,answered,not_answered,answered_pct,outbound\r\n${yesterday},2,1,1,50,0\r\n`,
    );
  });

  test('is drawn without scripts and inline styles: bars, and a cell for each hour of the week', async () => {
    const bars = await text('/reports/calls?days=7');
    expect(bars).toMatch(/Not answered: 1<\/title>/);
    expect(bars).not.toMatch(/<script[^>]*>[^<]| style="/);
    const cells = (await text('/reports/busiest-hours?days=7')).match(/<title>\w{3}, \d+\nCalls: \d+/g);
    // Twice: once for a telephone.
    expect(cells).toHaveLength(2 * 7 * 24);
    expect(cells?.filter((cell) => !cell.endsWith(' 0'))).toHaveLength(2 * 3);
  });
});

test.each([
  ['days=0', 'days must be 1 to 366.'],
  ['days=7&days=30', 'days stands twice in the address.'],
  ['month=next', 'month must be this or last.'],
  ['from=2026-02-30&to=2026-03-01', 'from must be a day, such as 2026-11-01.'],
  ['from=2020-02-02&to=2020-02-01', 'The first day must not be after the last day.'],
  ['from=2020-01-01&to=2021-01-01', 'A period can have 366 days at most.'],
])('a period that cannot be is refused: %s', async (parameters, sentence) => {
  for (const path of ['/reports', '/reports/calls', '/reports/calls.csv']) {
    const answer = await world.get(`${path}?${parameters}`);
    expect([answer.status, await answer.text()], path).toEqual([400, expect.stringContaining(sentence)]);
  }
});

test('what is wrong in the first comments is said', () => {
  const faultIn = (comment: string) => parseReport('1-a.sql', `-- A\n-- ${comment}\nselect 1`).fault;
  const at = (message: string) => ({ message: expect.stringContaining(message) });
  expect(faultIn('draw: pie x=a y=b')).toMatchObject(at('"pie" is no picture'));
  expect(faultIn('draw: bars x=a y=b:blue')).toMatchObject(at('"blue" is no tone'));
  expect(faultIn('draw: heat x=a y=b')).toMatchObject(at('value=…'));
  expect(faultIn('says: {sum(a) rows')).toMatchObject(at('A brace'));
  expect(faultIn('figure: {sum(a)}')).toMatchObject(at('A figure is'));
  expect(faultIn('choose: queue')).toMatchObject(at('A choice is'));
  expect(faultIn('Anything else')).toBeUndefined();
});

describe('a file of the owner', () => {
  test('is a page, and its fault stands on its own page alone', async () => {
    await write('mine.sql', '-- Mine', '-- says: {sum(n)} [row|rows]', '-- figure: Rows: {sum(n)}', 'select 1 as n;');
    await write('bad.sql', '-- Bad', '-- says: {sum(m)} rows', 'select 1 as n;');
    await write('worse.sql', '-- Worse', 'select 1 as n,', '  m;');
    expect(await read('/reports/mine')).toMatch(/^1 row$/m);
    expect(await faultOf('bad')).toContain('column \\"m\\" does not exist');
    expect(await faultOf('worse')).toContain('column \\"m\\" does not exist');
    await write('odd.sql', '-- Odd', "select null::date as day, 1 as n union all select 'infinity', 2");
    expect(await read('/reports/odd')).toMatch(/^infinity 2$/m);
    const start = await read('/reports');
    expect(start).toMatch(/Mine \[\/reports\/mine\]\s+1 \[/);
    expect(start).toContain('Calls [/reports/calls?');
    expect((await world.get('/reports/nothing')).status).toBe(404);
  });

  test('reads what BI reads, and writes nothing', async () => {
    await write('ops.sql', '-- Ops', 'select kind', 'from ops.sync_targets');
    await write('secret.sql', '-- Secret', '-- choose: kind = select kind, kind from ops.sync_targets', 'select 1');
    await write('two.sql', '-- Two', 'select 1); commit; drop view reporting.fct_call; select (1');
    await write('write.sql', '-- Write', 'with w as (delete from reporting.params returning 1) select * from w');
    expect(await faultOf('ops')).toContain('permission denied for schema ops');
    expect(await faultOf('secret')).toContain('permission denied for schema ops');
    expect(await faultOf('two')).toMatch(/syntax error/);
    expect(await faultOf('write')).toMatch(/must be at the top level/);
    expect(await read('/reports/calls?days=7')).toContain('3 calls came in');
    // That a report may not write is no outage.
    await write('large.sql', '-- Large', 'select lo_create(0) as n');
    expect(await faultOf('large')).toContain('read-only transaction');
    expect(refusedMs(facts.url, refusals.readOnly)).toBeUndefined();
  });
});
