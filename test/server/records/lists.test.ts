import { afterAll, describe, expect, test } from 'vitest';
import { listNames } from '../../../src/server/list-names.ts';
import { lists } from '../../../src/server/lists.ts';
import { runInProcess } from '../../cli/in-process.ts';
import { migratedDatabase } from '../../world/database.ts';
import { fill, openReceiver, settingsFor } from '../receiver.ts';
import { listPaths, readable, recordPaths, strangersWrote } from '../seed.ts';

/* What every list and every record promises, whatever strangers wrote; and the search. */

const database = await migratedDatabase();
const { query } = database;
const world = await openReceiver(settingsFor(database.url, { TIME_ZONE: 'Asia/Kolkata' }));
await fill(world.context.database.db);
await strangersWrote(world.context.database.db);
await query(`insert into warehouse.contacts (number, name) values ('18455550123', 'Kim <b>')`);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const page = async (path: string) => (await world.get(path)).text();
const rowsOf = async (path: string) => ((await (await world.get(path)).json()) as unknown[]).length;
const filesOf = (kind: string) => listPaths.map((path) => path.replace(/$|(?=\?)/, `.${kind}`));

describe.each([...listPaths, ...filesOf('csv'), ...filesOf('json'), ...recordPaths])('%s', (path) => {
  test('opens to the admin token alone, is stored nowhere, and shows what strangers wrote as text', async () => {
    expect((await fetch(`${world.receiver.url}${path}`)).status).toBe(401);
    const answer = await world.get(path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('referrer-policy')).toBe('same-origin');
    expect(answer.headers.get('content-security-policy')).not.toContain('unsafe');
    const text = await answer.text();
    if (path.includes('.json')) return void JSON.parse(text);
    if (path.includes('.csv')) return expect(text).not.toMatch(/(^|[,;\t\r\n]"?)=1\+1/);
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('\u202e');
  });
});

test.each([
  ['/deliveries.json?span=all', 101],
  ['/deliveries.json?type=AccountEndedCalls&span=all', 1],
  ['/deliveries.json?recognized=no&span=all', 1],
  ['/deliveries.json?from=2020-01-01&to=2020-02-01', 0],
  ['/targets.json', 4],
  ['/targets.json?state=pending', 3],
  ['/targets.json?state=pending&kind=call', 2],
  ['/targets.json?state=parked', 0],
  ['/coverage.json?state=incomplete&span=all', 1],
  ['/sends.json?state=NEEDS_HUMAN', 0],
  ['/sends.json?number=845-555-0123', 1],
  ['/sends.json?number=%2B52+1+55+1234+5678', 0],
  ['/rules.json?result=matched', 1],
  ['/rules.json?result=failed', 0],
  ['/calls.json?number=845-555-0123', 2],
  ['/calls.json?outcome=answered', 0],
  ['/threads.json?state=waiting&span=all', 0],
  ['/threads.json?number=18455550123&span=all', 1],
  ['/threads.json?line=%2B1%20800%20555%200100&span=all', 1],
  // Nobody can have it, but a call can show it.
  ['/calls.json?number=5556001', 0],
])('%s has %i rows', async (path, rows) => {
  expect(await rowsOf(path)).toBe(rows);
});

test.each([
  ['/deliveries?type=Unheard', 'type must be one of'],
  ['/deliveries?span=year', 'span must be one of'],
  ['/deliveries?from=2026-02-30', 'from must be a day'],
  ['/deliveries?from=2026-02-03&to=2026-02-01', 'The first day must not be after the last day.'],
  ['/deliveries?page=0', 'page must be a number'],
  ['/deliveries?type=a&type=b', 'type stands twice'],
  ['/deliveries.csv?span=year', 'span must be one of'],
  ['/sends?number=2125550131.0', 'number is no phone number: it holds a decimal'],
])('%s is answered 400 with a sentence', async (path, sentence) => {
  const answer = await world.get(path);
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(sentence)]);
});

test('a day of which each hour is proven is complete, and today only so far', async () => {
  await query(`insert into ops.coverage (stream, from_at, to_at, state, is_watched, due_at)
    select 'calls', h, h + interval '1 hour', 'proven', false, 'infinity'
    from generate_series(date_trunc('day', now(), 'UTC') - interval '1 day', now(), interval '1 hour') h
    on conflict (stream, from_at) do update set state = 'proven'`);
  const rows: { day: string; state: string }[] = JSON.parse(await page('/coverage.json?span=all'));
  expect(rows.length).toBeGreaterThan(0);
  const today = new Date().toISOString().slice(0, 10);
  for (const { day, state } of rows) expect(state).toBe(day.startsWith(today) ? 'complete so far' : 'complete');
  await query(`delete from ops.coverage where from_at < date_trunc('day', now(), 'UTC') - interval '23 hours'`);
  const [first] = JSON.parse(await page('/coverage.json?span=all&state=incomplete'));
  expect(first).toMatchObject({ state: 'not complete', proven_hours: 23, hours: 24 });
  expect(await page('/coverage?span=all&state=incomplete')).toContain('data-name="Proven">23<');
});

test('a list leads from page to page', async () => {
  const [, older = ''] = /href="([^"]+)" rel="next">Older/.exec(await page('/deliveries?span=all')) ?? [];
  const second = await page(older.replaceAll('&amp;', '&'));
  expect(second).toContain('rel="prev">Newer');
  expect(second).not.toContain('rel="next"');
  expect(second.match(/<tbody>.*<\/tbody>/s)?.[0].match(/<tr>/g)).toHaveLength(1);
});

test('takes days of TIME_ZONE, shows its times, and gives programs UTC', async () => {
  await query(`update ops.deliveries set received_at = '2026-03-01T20:00:00Z' where delivery_id = 1`);
  expect(await rowsOf('/deliveries.json?from=2026-03-02&to=2026-03-02')).toBe(1);
  expect(await page('/deliveries?from=2026-03-02&to=2026-03-02')).toContain('2026-03-02 01:30:00');
  expect(await page('/deliveries.csv?from=2026-03-02&to=2026-03-02')).toContain('2026-03-01T20:00:00.000Z');
});

test('names a customer as the imported list does, and opens the record from the first column', async () => {
  expect(await page('/calls?span=all')).toContain('<a href="/calls/1783385492.057900">Kim &lt;b&gt; (18455550123)</a>');
});

test('is printed by `trunkline list`, as its JSON', async () => {
  expect(lists.map(({ name }) => name)).toEqual(listNames);
  const run = (...args: string[]) => runInProcess({ DATABASE_URL: database.url }, 'list', ...args);
  expect(JSON.parse((await run('targets', 'state=pending', '--json')).out)).toHaveLength(3);
  expect((await run('targets', 'state=pending')).out).toMatch(/^key +kind +state/);
  const wrong = (words: string) => ({ code: 2, err: expect.stringContaining(words) });
  expect(await run('nothing')).toMatchObject(wrong('There is no list nothing: choose one of threads, calls, rules'));
  expect(await run()).toMatchObject(wrong('Name a list: choose one of threads, calls, rules'));
  expect((await run('--help')).out).toContain('threads, calls, rules, rules/history');
  expect(await run('targets', 'stat=x')).toMatchObject(wrong('stat=x is no filter of targets: write one of state'));
  expect(await run('targets', 'state=x')).toMatchObject(wrong('state must be one of'));
});

describe('the search', () => {
  test.each(['18455550123', '(845) 555-0123', '5550123', 'kim'])(
    '%s finds the customer, with texts and calls',
    async (typed) => {
      const words = readable(await page(`/search?q=${encodeURIComponent(typed)}`));
      expect(words).toContain(`1 customer found for ${typed}`);
      expect(words).toContain('Kim &lt;b&gt; (18455550123)');
      for (const path of [
        '/threads/18005550100/18455550123',
        '/calls?span=all&amp;number=18455550123',
        '/sends?number=18455550123',
      ])
        expect(words).toContain(`[${path}]`);
    },
  );

  test('leads straight to the thread where there is nothing to choose', async () => {
    await query(`insert into warehouse.sms_conversations (line, number) values ('18005550100', '18455550177')`);
    const answer = await world.get('/search?q=18455550177', { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/threads/18005550100/18455550177']);
  });

  test.each(['Ana', '+52 55 1234 5678', '5512345678'])(
    '%s finds a person with all forms of the number',
    async (typed) => {
      await query(
        `insert into warehouse.contacts (number, name) values ('525512345678', 'Ana') on conflict do nothing`,
      );
      await query(`insert into warehouse.sms_conversations (line, number)
      values ('18005550100', '525512345678'), ('18005550100', '5215512345678') on conflict do nothing`);
      await query(
        `insert into ops.opt_outs (number, decision, source, decided_by) values ('5215512345678', 'opt_out', 'person', 'Kim')`,
      );
      const words = readable(await page(`/search?q=${encodeURIComponent(typed)}`));
      expect(words).toContain(`1 customer found for ${typed}`);
      expect(words).toContain('[/threads/18005550100/525512345678]');
      expect(words).toContain('[/threads/18005550100/5215512345678]');
      expect(words.match(/opted out/g)).toHaveLength(2);
      expect(readable(await page('/threads/18005550100/525512345678'))).toContain('Automatic texts opted out');
    },
  );

  test.each(['nobody%', '0000', ''])('%j finds nobody, and says what can be typed', async (typed) => {
    expect(await page(`/search?q=${encodeURIComponent(typed)}`)).toContain('Write a whole number');
  });
});
