import { describe, expect, test } from 'vitest';
import { csvOf } from '../../../src/status/reports/csv.ts';
import {
  countScale,
  evenScale,
  lengthName,
  lengthScale,
  moneyScale,
} from '../../../src/status/reports/drawing/scale.ts';
import { renderReport } from '../../../src/status/reports/page.ts';
import type { Figures } from '../../../src/status/reports/picture.ts';
import { pictures } from '../../../src/status/reports/pictures.ts';
import { told } from '../../../src/status/reports/told.ts';

const takenAt = new Date('2026-11-21T12:00:00Z');
const dates = ['15', '16', '17', '18', '19', '20', '21'].map((day) => `2026-11-${day}`);

const keys: Readonly<Record<string, readonly string[]>> = {
  volume: ['inbound_calls', 'outbound_calls', 'inbound_texts', 'outbound_texts'],
  missed: ['missed', 'returned_by_call', 'returned_by_text', 'caller_got_through', 'not_returned'],
};

/** Figures of a picture, day by day; what is not told of a day is nothing. */
function figuresOf(name: string, days: readonly (readonly (number | null)[])[]): Figures {
  const columns = (keys[name] ?? []).map((key) => ({ key, name: key, unit: 'count' as const }));
  return {
    columns,
    days: dates.map((date, at) => ({ date, values: columns.map((_, column) => days[at]?.[column] ?? null) })),
  };
}

function render(name: string, figures: Figures): string {
  const picture = pictures.find((each) => each.name === name);
  if (!picture) throw new Error(`There is no picture ${name}`);
  const drawn = [{ picture, figures: { state: 'known', value: figures } as const }];
  return renderReport({ period: 7, takenAt, timeZone: 'America/New_York', drawn });
}

describe('a picture', () => {
  const page = render(
    'volume',
    figuresOf('volume', [
      [10, 5, 4, 2],
      [20, 0, 0, 0],
    ]),
  );

  test('says in a sentence what it shows, and draws each column to its height', () => {
    expect(page).toContain('35 calls and 6 texts.');
    // 20 of 20 at the top of the axis, 10 of 20 half as high.
    expect(page).toMatch(/<rect class="main" x="12.5" y="0" width="5" height="100"\/>/);
    expect(page).toMatch(/<rect class="main" x="2.5" y="50" width="5" height="50"\/>/);
    expect(page).toMatch(/<rect class="second" x="2.5" y="25" width="5" height="25"\/>/);
  });

  test('tells screen readers what it shows, and holds a table of the same figures', () => {
    expect(page).toMatch(/role="img" aria-labelledby="volume-0-t volume-0-d"/);
    expect(page).toContain('<title id="volume-0-t">Volume: Calls</title>');
    expect(page).toContain('By day, Sun 15 Nov to Sat 21 Nov. inbound_calls: 10 to 20 a day');
    expect(page).toMatch(/<th scope="row">Mon 16 Nov<\/th><td class="number">20<\/td><td class="number">0<\/td>/);
    expect(page).toContain('<a class="csv" href="/reports/volume.csv?days=7"');
  });

  test('has neither script nor style of its own', () => {
    expect(page).not.toMatch(/<script|style="|\son\w+="/);
  });

  test('of nothing is a sentence', () => {
    const empty = render('missed', figuresOf('missed', [[0, 0, 0, 0, 0]]));
    expect(empty).toContain('No inbound call was missed in this time.');
    expect(empty).not.toContain('<svg');
  });

  test('that could not be read says why, with what is not markup escaped', () => {
    const [picture] = pictures;
    if (!picture) throw new Error('There is no picture');
    const drawn = [{ picture, figures: { state: 'unknown', reason: 'canceled <b>' } as const }];
    const page = renderReport({ period: 7, takenAt, timeZone: 'UTC', drawn });
    expect(page).toContain('This could not be read: canceled &lt;b&gt;');
  });
});

test('the CSV has a line for each day, and an empty field where there is nothing to tell', () => {
  expect(
    csvOf(figuresOf('missed', [[3, 1, 0, 0, 2]]))
      .split('\r\n')
      .slice(0, 3),
  ).toEqual([
    'local_date,missed,returned_by_call,returned_by_text,caller_got_through,not_returned',
    '2026-11-15,3,1,0,0,2',
    '2026-11-16,,,,,',
  ]);
});

describe('an axis', () => {
  test.each([
    [1, [4, 3, 2, 1, 0]],
    [5, [8, 6, 4, 2, 0]],
    [10, [12, 9, 6, 3, 0]],
    [17, [20, 15, 10, 5, 0]],
    [230, [240, 180, 120, 60, 0]],
    [100_000, [100_000, 75_000, 50_000, 25_000, 0]],
  ])('for counts up to %i has round steps', (largest, ticks) => {
    expect(countScale(largest).ticks).toEqual(ticks);
  });

  test.each([
    [0.01, [0.04, 0.03, 0.02, 0.01, 0]],
    [0.05, [0.08, 0.06, 0.04, 0.02, 0]],
    [9, [10, 7.5, 5, 2.5, 0]],
    [130, [160, 120, 80, 40, 0]],
  ])('for dollars up to %f has steps of whole cents', (largest, ticks) => {
    expect(moneyScale(largest).ticks).toEqual(ticks);
  });

  test('of a share ends at 100', () => {
    expect(evenScale(100).ticks).toEqual([100, 75, 50, 25, 0]);
  });

  test('of lengths spans from the shortest to the longest, in lengths that people know', () => {
    const scale = lengthScale([13 * 60, 5 * 86_400]);
    expect(scale.ticks.map(lengthName)).toEqual(['7 d', '12 h', '1 h', '5 min', '15 s']);
    expect([15, 5 * 60, 3_600, 7 * 86_400].map(scale.place)).toEqual([0, 0.25, 0.5, 1]);
    expect(scale.place(0)).toBe(0);
    expect(scale.place(900 * 86_400)).toBe(1);
  });

  test.each([[[40]], [[1, 2]], [[0, 400 * 86_400]]])('of the lengths %j has five rising ticks', (values) => {
    const { ticks } = lengthScale(values);
    expect(ticks).toHaveLength(5);
    expect(ticks.toSorted((a, b) => b - a)).toEqual(ticks);
    expect(new Set(ticks).size).toBe(5);
  });
});

test('a length of time is told in the unit that fits it', () => {
  expect([0, 40, 210, 7_300, 400_000].map((seconds) => told(seconds, 'seconds'))).toEqual([
    ...['0 s', '40 s', '3.5 min', '2 h', '4.6 d'],
  ]);
  expect([told(null, 'count'), told(1_234.5, 'dollars'), told(50, 'percent')]).toEqual(['–', '$1,234.50', '50 %']);
});

describe('a line', () => {
  const levels = ['calls', 'short_abandoned', 'answered', 'answered_in_time', 'answered_in_time_pct', 'answered_pct'];
  const page = (...shares: readonly (number | null)[]) =>
    render('service-level', {
      columns: [...levels, 'in_time_within_seconds'].map((key) => ({ key, name: key, unit: 'percent' })),
      days: dates.map((date, at) => ({
        date,
        values: [4, 0, 2, 2, shares[at] ?? null, null, 20],
      })),
    });
  const marks = (markup: string) => markup.match(/<path class="line[^>]*>/g);

  test('joins days in a row, shows a day alone as a dot, and ends before today', () => {
    expect(marks(page(50, 100, null, 25, null, null, 75))).toEqual([
      '<path class="line main " d="M5 50L15 0"/>',
      '<path class="line dot main" d="M35 75h0"/>',
    ]);
  });

  test('is a pale dot as long as there is nothing but today', () => {
    expect(marks(page(null, null, null, null, null, null, 75))).toEqual([
      '<path class="line dot main today" d="M65 25h0"/>',
    ]);
  });
});

describe('the cost of automatic texts', () => {
  const names = [
    'sent',
    'would_send',
    'kept_back',
    'cost_usd',
    'set_aside_usd',
    'price_not_reported',
    'outcome_unknown',
  ];
  const page = (...values: readonly number[]) =>
    render('cost', {
      columns: names.map((key) => ({ key, name: key, unit: key.endsWith('usd') ? 'dollars' : 'count' })),
      days: dates.map((date, at) => ({
        date,
        values: names.map((_, column) => (at === 2 ? (values[column] ?? 0) : 0)),
      })),
    });

  test.each([
    [[12, 0, 0, 0.09, 0, 0, 0], '$0.09 for 12 texts that rules sent.'],
    [[1, 0, 0, 0.01, 0, 0, 0], '$0.01 for 1 text that rules sent.'],
    [[12, 3, 0, 0.06, 0.2, 4, 0], '$0.06 for 8 of 12 texts that rules sent; in dry-run, they would have sent 3 more.'],
    [[0, 3, 1, 0, 0, 0, 0], 'No text was sent; in dry-run, rules would have sent 3.'],
    [[0, 0, 5, 0, 0, 0, 0], 'No rule sent a text.'],
  ])('of %j is told as “%s”', (values, sentence) => {
    expect(page(...values)).toContain(`<p class="sentence">${sentence}</p>`);
  });

  test('says of how many the price or the outcome is not known', () => {
    expect(page(2, 0, 0, 0.01, 0.1, 1, 1)).toContain(
      'Of 1 sent, the price was not reported. Of 1, it is not known yet whether they were sent.',
    );
  });

  test('has an axis of money without cents that are nothing', () => {
    expect(page(1, 0, 0, 130, 0, 0, 0)).toContain('<li>$160</li><li>$120</li><li>$80</li><li>$40</li><li>0</li>');
    expect(page(1, 0, 0, 0.05, 0, 0, 0)).toContain('<li>$0.08</li><li>$0.06</li>');
  });
});
