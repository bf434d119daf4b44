import { afterAll, describe, expect, test } from 'vitest';
import { openReceiver, settingsFor } from '../../ops/receiver.ts';
import { factsDatabase } from '../../reporting/facts.ts';
import { dayOf, fourWeeks } from '../seed.ts';

const facts = await factsDatabase();
const world = await openReceiver(settingsFor(facts.url));
await fourWeeks(facts);
afterAll(async () => {
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
