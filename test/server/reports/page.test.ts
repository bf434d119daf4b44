import { describe, expect, test } from 'vitest';
import { type Chart, chartOptions, type Day, type Figures, formatValue } from '../../../src/server/reports/charts.ts';
import { chartsOf, csvOf } from '../../../src/server/reports/figures.ts';
import type { Freshness } from '../../../src/server/reports/freshness.ts';
import { renderReport } from '../../../src/server/reports/page.ts';
import { pictures } from '../../../src/server/reports/pictures.ts';
import type { Report } from '../../../src/server/reports/report.ts';

const takenAt = new Date('2026-11-21T12:00:00Z');
const dates = ['15', '16', '17', '18', '19', '20', '21'].map((day) => `2026-11-${day}`);

const keys: Readonly<Record<string, readonly string[]>> = {
  volume: ['inbound_calls', 'outbound_calls', 'inbound_texts', 'outbound_texts'],
  missed: [
    ...['missed', 'returned_by_call', 'returned_by_text', 'caller_got_through', 'not_returned'],
    ...['texted_by_rule', 'texted_by_unknown'],
  ],
};

/** Figures of a picture, day by day; what is not told of a day is nothing. */
function figuresOf(name: string, days: readonly (readonly (number | null)[])[]): Figures {
  const counts = { unit: 'count', tone: 'main' } as const;
  const columns = (keys[name] ?? []).map((key) => ({ key, name: key, ...counts, rows: `set=${key}` }));
  const valuesOf = (day: number) => columns.map((_, column) => days[day]?.[column] ?? null);
  return withSums({ columns, days: dates.map((date, day) => dayOf(date, valuesOf(day))) });
}

/** The whole period, of counts. */
function withSums({ columns, days }: Omit<Figures, 'whole'>): Figures {
  const sumOf = (at: number) => days.reduce((sum, { values }) => sum + (values[at] ?? 0), 0);
  return { columns, days, whole: Object.fromEntries(columns.map(({ key }, at) => [key, sumOf(at)])) };
}

/** A day as a report has it: the last is not over. */
function dayOf(date: string, values: readonly (number | null)[]): Day {
  return date === dates.at(-1) ? { date, values, state: 'open' } : { date, values };
}

const freshness: Freshness = {
  completeUntil: new Date('2026-11-21T12:00:00Z'),
  isComplete: false,
  provenHours: 150,
  incompleteDays: ['2026-11-21'],
  returnsFrom: '2026-11-14',
  rollupsWaitSince: null,
};
const report: Report = {
  choice: { from: '2026-11-15', to: '2026-11-21', filters: {} },
  takenAt,
  timeZone: 'America/New_York',
  today: '2026-11-21',
  freshness: { state: 'known', value: freshness },
  options: { state: 'known', value: [] },
  lateness: {
    state: 'known',
    value: {
      ...{ timeZone: 'UTC', chosenTimeZone: null, isCurrent: true, waitingSince: null, failures: [], untied: [] },
      ...{ refusingTargets: [], undatedCalls: 0, setAside: { count: 0, since: null, samples: [] } },
    },
  },
  drawn: [],
};

function render(name: string, figures: Figures): Promise<string> {
  const picture = pictures.find((each) => each.name === name);
  if (!picture) throw new Error(`There is no picture ${name}`);
  return renderReport({ ...report, drawn: [{ picture, figures: { state: 'known', value: figures } }] });
}

describe('a picture', async () => {
  const days = ['10 5 4 2', '20 0 0 0'].map((values) => values.split(' ').map(Number));
  const page = await render('volume', figuresOf('volume', days));

  test('says in a sentence what it shows, and draws each column to its height', () => {
    expect(page).toContain('35 calls and 6 texts.');
    const heights = [...page.matchAll(/l0 -([\d.]+)l[^"]*Z" fill="var\(--accent\)"/g)].map(([, height]) =>
      Number(height),
    );
    expect((heights[1] ?? 0) / (heights[0] ?? 1)).toBeCloseTo(2, 0);
  });

  test('tells screen readers what it shows, and holds a table of the same figures', () => {
    expect(page).toMatch(/role="img" aria-label="Volume: Calls\. By day, Sun 15 Nov to Sat 21 Nov\. /);
    expect(page).toContain('inbound_calls: 10 to 20 a day');
    expect(page).toMatch(
      /<th scope="row">Mon 16 Nov<\/th><td class="number"><a href="[^"]*">20<\/a><\/td><td class="number">0<\/td>/,
    );
    expect(page).toContain('<a class="csv" href="/reports/volume.csv?from=2026-11-15&amp;to=2026-11-21"');
  });

  test('has neither script nor style of its own, but for the two scripts that the server holds', () => {
    const own = page.replaceAll(
      /<script src="\/reports\/(?:echarts|charts)\.js\?v=[\w.]+" (?:defer|type="module")><\/script>/g,
      '',
    );
    expect(own).not.toMatch(/<script|style="|\son\w+="/);
    expect(own.match(/<style/g)).toHaveLength(1);
  });

  test('of nothing is a sentence', async () => {
    const empty = await render('missed', figuresOf('missed', [[0, 0, 0, 0, 0, 0, 0]]));
    expect(empty).toContain('No inbound call was missed in this time.');
    expect(empty).not.toContain('<svg');
  });

  test('of missed calls does not count a text of a rule as a return', async () => {
    const page = await render('missed', figuresOf('missed', [[40, 0, 0, 0, 40, 38, 0]]));
    expect(page).toContain('40 of 40 missed calls were not returned. A rule texted 38 of these.');
  });

  test('that could not be read says why, with what is not markup escaped', async () => {
    const [picture] = pictures;
    if (!picture) throw new Error('There is no picture');
    const drawn = [{ picture, figures: { state: 'unknown', reason: 'canceled <b>' } as const }];
    const page = await renderReport({ ...report, drawn });
    expect(page).toContain('This could not be read: canceled &lt;b&gt;');
  });
});

describe('a day that is over and still rises', async () => {
  const figures = figuresOf('volume', [[10], [20], [30], [40], [50], [60], [70]]);
  const days = figures.days.map((day) => (day.date === '2026-11-20' ? { ...day, state: 'rising' as const } : day));
  const [chart] = pictures.slice(0, 1).flatMap((picture) => chartsOf(picture, figures));
  if (!chart) throw new Error('There is no chart');

  test('is shaded in the picture, and told in words beside it and in the table', async () => {
    const options = chartOptions(chart, { ...figures, days }) as { xAxis: { splitArea: object } };
    const clear = Array(5).fill('transparent');
    expect(options.xAxis.splitArea).toMatchObject({
      show: true,
      areaStyle: { color: [...clear, 'var(--track)', 'transparent'] },
    });
    const page = await render('volume', { ...figures, days });
    expect(page).toContain('Shaded: still rising. Calls are complete until Sat 21 Nov, 07:00.');
    expect(page).toContain('<th scope="row">Fri 20 Nov, still rising</th>');
    expect(page).toContain('<th scope="row">Sat 21 Nov, not over</th>');
  });

  test('is not there when every hour is proven', async () => {
    const value = { ...freshness, isComplete: true };
    const [picture] = pictures;
    if (!picture) throw new Error('There is no picture');
    const drawn = [{ picture, figures: { state: 'known', value: figures } as const }];
    const page = await renderReport({ ...report, freshness: { state: 'known', value }, drawn });
    expect(page).toContain('Calls are complete: every hour was compared with the service.');
    expect(page).not.toContain('still rising');
  });
});

test('the CSV has a line for each day, and an empty field where there is nothing to tell', () => {
  expect(
    csvOf(figuresOf('missed', [[3, 1, 0, 0, 2, 1, 0]]))
      .split('\r\n')
      .slice(0, 3),
  ).toEqual([
    'local_date,missed,returned_by_call,returned_by_text,caller_got_through,not_returned,texted_by_rule,texted_by_unknown',
    '2026-11-15,3,1,0,0,2,1,0',
    '2026-11-16,,,,,,,',
  ]);
});

describe('an axis', () => {
  const axis = (chart: Chart, unit: Figures['columns'][number]['unit']) => {
    const days = [{ date: '2026-11-15', values: [1] }];
    const figures = withSums({ columns: [{ key: 'it', name: 'It', unit, tone: 'main' }], days });
    return (chartOptions(chart, figures) as { yAxis: { axisLabel: { formatter(value: number): string } } }).yAxis;
  };
  const keys = ['it'];

  test('of counts and of dollars has no step that is a part of one, or of a cent', () => {
    expect(axis({ kind: 'stack', keys }, 'count')).toMatchObject({ type: 'value', min: 0, minInterval: 1 });
    expect(axis({ kind: 'stack', keys }, 'dollars')).toMatchObject({ type: 'value', min: 0, minInterval: 0.01 });
  });

  test('of shares ends at 100', () => {
    expect(axis({ kind: 'shares', keys }, 'count')).toMatchObject({ min: 0, max: 100 });
    expect(axis({ kind: 'lines', keys }, 'percent')).toMatchObject({ min: 0, max: 100 });
  });

  test('of lengths goes by powers, in lengths that people know', () => {
    const { axisLabel, ...rest } = axis({ kind: 'lengths', keys }, 'seconds');
    expect(rest).toMatchObject({ type: 'log', logBase: 60, min: 1 });
    expect([1, 60, 3_600, 216_000].map(axisLabel.formatter)).toEqual(['1 s', '1 min', '1 h', '2.5 d']);
  });

  test('of money is without cents that are nothing', () => {
    const { axisLabel } = axis({ kind: 'stack', keys }, 'dollars');
    expect([160, 0.08, 0].map(axisLabel.formatter)).toEqual(['$160', '$0.08', '0']);
  });
});

test('a length of time is told in the unit that fits it', () => {
  expect([0, 40, 210, 7_300, 400_000].map((seconds) => formatValue(seconds, 'seconds'))).toEqual([
    ...['0 s', '40 s', '3.5 min', '2 h', '4.6 d'],
  ]);
  expect([formatValue(null, 'count'), formatValue(1_234.5, 'dollars'), formatValue(50, 'percent')]).toEqual([
    '–',
    '$1,234.50',
    '50 %',
  ]);
});

describe('a line', () => {
  const data = (...values: readonly (number | null)[]) => {
    const columns = [{ key: 'it', name: 'It', unit: 'percent' as const, tone: 'main' as const }];
    const days = dates.map((date, at) => dayOf(date, [values[at] ?? null]));
    const options = chartOptions({ kind: 'lines', keys: ['it'] }, withSums({ columns, days }));
    return (options as { series: { data: unknown[] }[] }).series[0]?.data;
  };

  test('joins days in a row, shows a day alone as a dot, and ends before today', () => {
    const dot = { value: 25, symbol: 'circle', itemStyle: { opacity: 1 } };
    expect(data(50, 100, null, 25, null, null, 75)).toMatchObject([50, 100, null, dot, null, null, null]);
  });

  test('is a pale dot as long as there is nothing but today', () => {
    expect(data(null, null, null, null, null, null, 75)?.at(-1)).toMatchObject({
      value: 75,
      itemStyle: { opacity: 0.5 },
    });
  });
});

describe('the cost of automatic texts', () => {
  const names = 'sent would_send kept_back cost_usd set_aside_usd price_not_reported outcome_unknown'.split(' ');
  const unitOf = (key: string) => (key.endsWith('usd') ? ('dollars' as const) : ('count' as const));
  const columns = names.map((key) => ({ key, name: key, unit: unitOf(key), tone: 'main' as const }));
  const page = (...told: readonly number[]) => {
    const valuesAt = (day: number) => names.map((_, column) => (day === 2 ? (told[column] ?? 0) : 0));
    return render('cost', withSums({ columns, days: dates.map((date, day) => ({ date, values: valuesAt(day) })) }));
  };

  test.each([
    [[12, 0, 0, 0.09, 0, 0, 0], '$0.09 for 12 texts that rules sent.'],
    [[1, 0, 0, 0.01, 0, 0, 0], '$0.01 for 1 text that rules sent.'],
    [[12, 3, 0, 0.06, 0.2, 4, 0], '$0.06 for 8 of 12 texts that rules sent; in dry-run, they would have sent 3 more.'],
    [[0, 3, 1, 0, 0, 0, 0], 'No text was sent; in dry-run, rules would have sent 3.'],
    [[0, 0, 5, 0, 0, 0, 0], 'No rule sent a text.'],
  ])('of %j is told as “%s”', async (values, sentence) => {
    expect(await page(...values)).toContain(`<p class="sentence">${sentence}</p>`);
  });

  test('says of how many the price or the outcome is not known', async () => {
    expect(await page(2, 0, 0, 0.01, 0.1, 1, 1)).toContain(
      'Of 1 sent, the price was not reported. Of 1, it is not known yet whether they were sent.',
    );
  });
});
