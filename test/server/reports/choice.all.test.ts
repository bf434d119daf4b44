import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { drainOutcomes } from '../../../src/reporting/outcomes.ts';
import { launchBrowser } from '../../browser.ts';
import { adminToken, openReceiver, settingsFor, type TestReceiver } from '../../ops/receiver.ts';
import { factsDatabase } from '../../reporting/facts.ts';

/* Two numbers, a queue and a huntgroup, and two agents, over four weeks: 28 days ago to yesterday. */

const facts = await factsDatabase();
let world: TestReceiver;
let browser: Browser;

const startedAt = Date.now();
const dayOf = (back: number) => new Date(startedAt - back * 86_400_000).toISOString().slice(0, 10);
const numbers = ['15559990000', '15559990001'];
const queues = [
  { called_type: 'queue', called_number: '6001' },
  { called_type: 'huntgroup', called_number: '6002' },
];

let ids = 0;

/** An inbound call through a queue that an agent answers, by its legs. */
async function queued(at: string, account_number: string, queue: number, agent: number, values = {}): Promise<void> {
  ids += 1;
  const id = `1700${String(ids).padStart(6, '0')}.1`;
  const by = queues[queue];
  await facts.call({
    ...{ ...by, call_id: id, started_at: at, account_number, legs_fetched_at: at, legs_wait_seconds: 5 + ids * 3 },
    ...{ leg_count: 2, external_number: `1555000${String(ids).padStart(4, '0')}`, ...values },
  });
  const leg = { call_id: id, started_at: at, direction: 'inbound', status: 'answered', talk_seconds: 60 };
  await facts.insert(
    'warehouse.call_legs',
    { ...leg, ...by, leg_key: 'a', ordinal: 1, caller_type: 'external' },
    {
      ...{ ...leg, leg_key: 'b', ordinal: 2, caller_type: by?.called_type },
      ...{ called_type: 'user', called_number: `20${agent}` },
    },
  );
  await facts.insert('warehouse.transcripts', {
    ...{ transcript_id: ids, call_id: id, leg_unique_id: 'b', leg_pairing: 'exact', short_summary: 'A refund' },
    call_sentiment: ['Positive', 'negative', 'neutral', 'calm', 'wary', 'glad & gay'][ids % 6],
  });
  await facts.measure(id);
}

/** A call that nobody answered. */
async function unanswered(at: string, account_number: string, queue: number, seconds: number): Promise<string> {
  ids += 1;
  const external_number = `1555000${String(ids).padStart(4, '0')}`;
  await facts.call({
    ...{ ...queues[queue], call_id: `1700${String(ids).padStart(6, '0')}.1`, started_at: at, account_number },
    ...{ status: 'missed', is_abandoned: true, talk_seconds: 0, duration_seconds: seconds, external_number },
    caller_name: ids === 7 ? '=HYPERLINK("x")' : 'Pat, of "Lamps"',
  });
  return external_number;
}

async function outbound(at: string, account_number: string, agent: number, external_number: string): Promise<void> {
  ids += 1;
  await facts.call({
    ...{ call_id: `1700${String(ids).padStart(6, '0')}.1`, started_at: at, account_number, direction: 'outbound' },
    ...{ caller_type: 'user', caller_number: `20${agent}`, called_type: 'external', external_number },
  });
}

beforeAll(async () => {
  world = await openReceiver(settingsFor(facts.url));
  browser = await launchBrowser();
  await facts.user(1, ['201']);
  await facts.user(2, ['202']);
  for (let back = 28; back >= 1; back -= 3) {
    const at = (time: string) => `${dayOf(back)}T${time}:00Z`;
    for (const [index, number] of numbers.entries()) {
      await queued(at('09:00'), number, index, 1);
      await queued(at('09:10'), number, 1 - index, 2);
      if (back % 2 === 0) await queued(at('09:20'), number, index, 1, { legs_wait_seconds: null });
      const missed = await unanswered(at('10:00'), number, index, 40);
      await unanswered(at('10:05'), number, 1 - index, 2);
      if (back % 4 === 0) await unanswered(at('10:06'), number, index, 50);
      await outbound(at('11:00'), number, 1 + index, missed);
      await facts.thread(
        ids,
        [
          [at('12:00'), 'in', { body: 'Where is my lamp?' }],
          [at('12:30'), 'out', { sent_by: 1 + index }],
          [at('13:00'), 'in'],
        ],
        { line: number },
      );
    }
  }
  await facts.query(
    `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, expires_at, units,
       reserved_micros, settled_micros, planned_at, reserved_at, dispatched_at)
     select 'thanks', '1555999000' || n % 2, 's' || n, 'message', n, at, 'live', 'Thank you', state, reason, at, 1, 100, settled, at,
       case when state <> 'DENIED' then at end, case when state = 'SENT' then at end
     from generate_series(1, 20) n
       cross join lateral (select date_trunc('day', now(), 'UTC') - make_interval(days => n) + interval '10 hours' as at) day
       cross join lateral (select * from (values (0, 'SENT', null, 7900), (1, 'DENIED', 'dry_run', null), (2, 'DENIED', 'gate:opted_out', null),
         (3, 'SENT', null, null), (4, 'UNKNOWN', null, null)) s (kind, state, reason, settled) where kind = n % 5) s`,
  );
  await facts.drain();
  await drainOutcomes(facts.db);
});
afterAll(async () => {
  await browser?.close();
  await world[Symbol.asyncDispose]();
  await facts[Symbol.asyncDispose]();
});

const text = async (path: string) => (await world.get(path)).text();
const unescaped = (html: string) => html.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"');
const linesOf = (csv: string) => csv.trimEnd().split('\r\n').slice(1);

const range = `from=${dayOf(14)}&to=${dayOf(0)}`;
const [number, queue, agent] = ['number=15559990001', 'queue=queue%3A6001', 'agent=1'];

describe('every figure opens the rows behind it', () => {
  test.each([
    ...['', number, queue, 'queue=huntgroup%3A6002', agent],
    ...[`${number}&${queue}`, `${number}&${agent}`, `${queue}&${agent}`, `${number}&${queue}&${agent}`],
  ])('with the filters “%s”', async (filters) => {
    const page = await text(`/reports?${range}&${filters}`);
    expect(page).not.toContain('could not be read');
    const totals = [...page.matchAll(/<tr class="whole">(.*?)<\/tr>/gs)].map(([, row]) => row ?? '').join('');
    const cells = [...totals.matchAll(/<a href="([^"]*)">([\d,]+)<\/a>/g)];
    expect(cells.length).toBeGreaterThan(filters.includes('agent') ? 8 : 12);
    for (const [, link = '', told = ''] of cells) {
      if (/set=(sent|set_aside_usd)&/.test(link)) continue; // Segments and dollars are sums of these rows.
      const path = unescaped(link).replace('/reports/rows?', '/reports/rows.csv?');
      const answer = await world.get(path);
      expect(answer.status, path).toBe(200);
      expect(linesOf(await answer.text()).length, path).toBe(Number(told.replaceAll(',', '')));
    }
  });

  test('in the head of the page, also of the period before', async () => {
    const page = await text(`/reports?${range}&${number}`);
    const [, heads = ''] = /<section class="headlines".*?>(.*?)<\/section>/s.exec(page) ?? [];
    const [, missed = ''] = /<li>(<h3>Missed, not returned.*?)<\/li>/s.exec(heads) ?? [];
    const links = [...missed.matchAll(/<a [^>]*href="([^"]*)"[^>]*>(\d+)</g)];
    expect(links).toHaveLength(3);
    for (const [, link = '', told] of links) {
      const rows = await text(unescaped(link).replace('/reports/rows?', '/reports/rows.csv?'));
      expect(linesOf(rows).length).toBe(Number(told));
    }
    expect(heads.match(/<li>/g)).toHaveLength(13);
  });

  test('by day, as the table of figures does', async () => {
    const page = await text(`/reports?${range}`);
    const [, link = ''] =
      new RegExp(`href="(/reports/rows\\?set=answered&amp;from=${dayOf(1)}&amp;to=${dayOf(1)})"`).exec(page) ?? [];
    const rows = await text(unescaped(link).replace('/reports/rows?', '/reports/rows.csv?'));
    expect(linesOf(rows)).toHaveLength(4);
    expect(linesOf(rows).every((line) => line.startsWith(dayOf(1)))).toBe(true);
  });
});

test('what a picture cannot be filtered by is said on it', async () => {
  const page = await text(`/reports?${range}&${queue}&${agent}`);
  const limits = (id: string) =>
    [
      ...(new RegExp(`id="${id}".*?</section>`, 's').exec(page)?.[0] ?? '').matchAll(/<p class="limit">(.*?)<\/p>/g),
    ].map(([, words]) => words);
  expect(limits('volume')).toEqual([
    'Texts in, Texts out: all queues, since texts go through no queue.',
    'Texts in: all agents, since texts come in to a line, not to an agent.',
  ]);
  expect(limits('service-level')).toEqual(['all agents, since a call that nobody answered belongs to no agent.']);
  expect(limits('sentiment')).toEqual([]);
  expect(page).toMatch(
    /Answered<\/h3>[\s\S]*?<span class="tag">not final<\/span> <span class="tag">all agents<\/span>/,
  );
});

test('a period stands beside the one before, without a day that is not over', async () => {
  const page = await text(`/reports?from=${dayOf(6)}&to=${dayOf(0)}`);
  // Of the days so far back calls come in on the 1st, 4th, 7th, 10th…: and some more on even ones.
  const [, calls = ''] = /<li>(<h3>Calls in.*?)<\/li>/s.exec(page) ?? [];
  expect(
    calls
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  ).toBe('Calls in 20 +11.1 % , from 18 to 20 still rising');
  const over = await text(`/reports?from=${dayOf(6)}&to=${dayOf(1)}`);
  expect(over).toMatch(/Calls in<\/h3>[\s\S]*?<span class="tag">still rising<\/span>/);
  expect(await text(`/reports?days=1`)).toContain('Today is not over: nothing to compare yet');
});

describe('“complete until”', () => {
  const prove = (from: string, to: string) =>
    facts.query(
      `insert into ops.coverage (stream, from_at, to_at, state, reported_count, held_count, is_watched, due_at)
       select 'calls', hour, hour + interval '1 hour', 'proven', 0, 0, true, 'infinity'
       from generate_series($1::timestamptz, $2::timestamptz - interval '1 hour', interval '1 hour') hour`,
      from,
      to,
    );

  test('goes by the hours that were compared with the service', async () => {
    const path = `/reports?from=${dayOf(10)}&to=${dayOf(5)}`;
    expect(await text(path)).toContain('Calls of this time were not compared with the service yet.');
    await prove(`${dayOf(10)}T00:00:00Z`, `${dayOf(7)}T15:00:00Z`);
    const page = await text(`${path}&number=`);
    expect(page).toMatch(/Shaded: still rising\. Calls are complete until \w+,? \d+ \w+,? 15:00\./);
    const volume = /id="volume".*?<\/section>/s.exec(page)?.[0] ?? '';
    expect(volume.match(/, still rising<\/th>/g)).toHaveLength(3);
    await prove(`${dayOf(7)}T15:00:00Z`, `${dayOf(4)}T00:00:00Z`);
    expect(await text(`${path}&queue=`)).toContain('Calls are complete: every hour was compared with the service.');
  });
});

describe('rows', () => {
  const path = `/reports/rows?set=inbound_texts&${range}`;

  test('show no words unless the account wants them shown', async () => {
    expect(await text(path)).toContain('run <code>update reporting.params set is_text_shown = true</code>');
    for (const each of [path, path.replace('rows?', 'rows.csv?')]) expect(await text(each)).not.toContain('Where is');
    const summaries = `/reports/rows.csv?set=analysed&${range}`;
    expect(await text(summaries)).not.toContain('refund');
    await facts.params({ is_text_shown: true });
    try {
      expect(await text(path)).toContain('Where is my lamp?');
      expect(await text(summaries)).toContain('A refund');
    } finally {
      await facts.params({ is_text_shown: false });
    }
  });

  test('open the call or thread that they are about', async () => {
    const links: Readonly<Record<string, RegExp>> = {
      answered: /^\/calls\/1700\d{6}\.1$/,
      missed: /^\/calls\/1700\d{6}\.1$/,
      analysed: /^\/calls\/1700\d{6}\.1$/,
      inbound_texts: /^\/threads\/1555999000\d\/\d+\?text=(\d+)#text-\1$/,
      turns: /^\/threads\/1555999000\d\/\d+$/,
    };
    for (const [set, form] of Object.entries(links)) {
      const rows = unescaped(await text(`/reports/rows?set=${set}&${range}`)).match(/<tbody>.*<\/tbody>/s)?.[0] ?? '';
      const [, link = ''] = rows.match(/<td class=""><a href="([^"]+)">\d{4}-/) ?? [];
      expect(link, set).toMatch(form);
      expect((await world.get(link.replace(/#.*/, ''))).status, set).toBe(200);
    }
    const sends = await text(`/reports/rows?set=sent&${range}`);
    expect(sends).not.toContain('href="/threads/15559990000/s');
  });

  test('come as CSV that a spreadsheet takes as texts', async () => {
    const csv = await text(`/reports/rows.csv?set=missed&from=${dayOf(28)}&to=${dayOf(0)}`);
    expect(csv.split('\r\n')[0]).toBe(
      'local_time,at,outcome,reason,external_number,caller_name,account_number,wait_seconds,returned,minutes_to_return,call_id',
    );
    expect(csv).toContain(',"Pat, of ""Lamps""",');
    expect(csv).not.toMatch(/[,"]=/);
  });

  test('come in pages, and too many are no CSV', async () => {
    await facts.query(
      `insert into warehouse.calls (call_id, started_at, direction, status, is_internal, content_hash, source, fetch_seq, fetched_at)
       select '18' || n || '.1', timestamptz '2020-05-05' + make_interval(secs => n), 'outbound', 'answered', false, 'h', 'test', 1, now()
       from generate_series(100000, 120001) n`,
    );
    const many = 'set=outbound_calls&from=2020-05-05&to=2020-05-06';
    const page = await text(`/reports/rows?${many}&page=200`);
    expect(page).toContain('20,002 rows');
    expect(page).toContain('CSV: up to 20,000 rows, choose fewer days');
    expect(page).toContain('19,901 – 20,000 of 20,002');
    expect(unescaped(page)).toContain(`/reports/rows?${many}&page=201`);
    const refused = await world.get(`/reports/rows.csv?${many}`);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toBe('These are more than 20000 rows: choose fewer days or a filter.');
  });

  test('of nothing say what to do', async () => {
    expect(await text('/reports/rows?set=missed&from=2020-01-01&to=2020-01-02')).toContain('No such rows.');
  });
});

test('filters that nothing fits say what to do', async () => {
  const page = await text(`/reports?${range}&number=19990000000`);
  expect(page).toContain('<option value="19990000000" selected>19990000000 (not known)</option>');
  expect(page).toContain('Nothing of this time fits these filters.');
});

describe('in a browser', () => {
  async function open(width: number, path: string, colorScheme: 'light' | 'dark' = 'light') {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme,
      httpCredentials: { username: 'anyone', password: adminToken },
    });
    const page = await context.newPage();
    const logged: string[] = [];
    page.on('console', (message) => logged.push(message.text()));
    page.on('pageerror', (error) => logged.push(error.message));
    await page.goto(`${world.receiver.url}${path}`);
    return { page, logged };
  }
  const shots = process.env.REPORT_SHOTS;

  test.each([
    [1280, 'light'],
    [390, 'light'],
    [390, 'dark'],
    [1280, 'dark'],
  ] as const)('report and rows fit %i pixels in %s', async (width, scheme) => {
    const { page, logged } = await open(width, `/reports?${range}&${queue}&${agent}`, scheme);
    await expect.poll(() => page.locator('.chart[_echarts_instance_]').count()).toBeGreaterThan(3);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    if (shots) await page.screenshot({ path: `${shots}/reports-${width}-${scheme}.png`, fullPage: true });
    await page.locator('.headlines .value').first().click();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Calls in');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    if (shots) await page.screenshot({ path: `${shots}/reports-rows-${width}-${scheme}.png`, fullPage: true });
    expect(logged).toEqual([]);
    await page.context().close();
  });

  test('the form is filled in and sent with the keyboard, and the URL holds the whole choice', async () => {
    const { page, logged } = await open(1280, `/reports?days=7`);
    await page.getByLabel('From', { exact: true }).fill(dayOf(20));
    await page.getByLabel('To', { exact: true }).fill(dayOf(2));
    await page.getByLabel('Queue', { exact: true }).selectOption({ label: '6001' });
    await page.getByLabel('Agent', { exact: true }).selectOption({ label: 'User 2' });
    await page.getByLabel('Callers', { exact: true }).focus();
    await page.keyboard.press('Tab');
    await Promise.all([page.waitForURL(/from=/), page.keyboard.press('Enter')]);
    const { searchParams } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({
      ...{ from: dayOf(20), to: dayOf(2), number: '', queue: 'queue:6001', agent: '2', reached: '' },
    });
    expect(await page.getByLabel('Queue', { exact: true }).inputValue()).toBe('queue:6001');
    expect(logged).toEqual([]);
    await page.context().close();
  });

  test.each([
    ['missed', 3, 'Missed calls that were called back'],
    ['service-level', 1, 'Calls answered in time'],
  ])('a bar or a point of %s opens the rows of its day', async (id, series, title) => {
    const { page } = await open(1280, `/reports?from=${dayOf(10)}&to=${dayOf(4)}&${number}`);
    const chart = page.locator(`#${id} .chart[_echarts_instance_]`);
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    // The last day: where its bar of the series ends, or where its point is.
    const [x, y] = (await page.evaluate(
      `(() => {
        const drawing = echarts.getInstanceByDom(document.querySelector('#${id} .chart'));
        const all = drawing.getOption().series.map(({ data }) => data.at(-1)?.value ?? data.at(-1));
        const value = all[${series}];
        const below = drawing.getOption().series[0].stack ? all.slice(0, ${series}).reduce((sum, each) => sum + each, 0) : 0;
        return drawing.convertToPixel({ seriesIndex: ${series} }, [6, below + (below ? value / 2 : value)]);
      })()`,
    )) as [number, number];
    await page.mouse.click((box?.x ?? 0) + x, (box?.y ?? 0) + y);
    await page.waitForURL(/reports\/rows/);
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
      ...{ from: dayOf(4), to: dayOf(4), number: '15559990001' },
    });
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(title);
    await page.context().close();
  });
});
