import { type Html, html } from '../../page/html.ts';
import { type Chart, type Figures, type Series, valuesOf } from '../picture.ts';
import type { Scale } from './scale.ts';

/** What a chart draws, in a room of ten units a day from left to right and 100 from top to bottom. */
export function shapesOf(chart: Chart, figures: Figures, scale: Scale): Html[] {
  switch (chart.kind) {
    case 'stack':
      return stacks(chart.series, figures, scale, chart.isShare === true);
    case 'lines':
      return chart.series.flatMap((series) => line(series, figures, scale));
    case 'span':
      return [
        span(chart.series, figures, scale),
        ...(chart.dashed ? line(chart.dashed, figures, scale, 'dashed') : []),
        ...chart.series.flatMap((series) => line(series, figures, scale)),
      ];
  }
}

/** Today is not over: its column is pale. */
function stacks(series: readonly Series[], figures: Figures, scale: Scale, isShare: boolean): Html[] {
  const values = series.map(({ key }) => valuesOf(figures, key));
  const [from, width] = figures.days.length <= 7 ? [2.5, 5] : [1, 8];
  const last = figures.days.length - 1;
  return figures.days.flatMap((_, day) => {
    const total = values.reduce((sum, each) => sum + (each[day] ?? 0), 0);
    let bottom = 0;
    return series.flatMap(({ tone }, at) => {
      const value = values[at]?.[day] ?? 0;
      if (value === 0) return [];
      const height = 100 * scale.place(isShare ? (100 * value) / total : value);
      bottom += height;
      return html`<rect class="${tone}${day === last && ' today'}" x="${short(day * 10 + from)}" y="${short(100 - bottom)}" width="${width}" height="${short(height)}"/>`;
    });
  });
}

/** A day alone is a dot; so is today, as long as there is no other. */
function line({ key, tone }: Series, figures: Figures, scale: Scale, more = ''): Html[] {
  const values = valuesOf(figures, key);
  const runs = runsOf(whole(values));
  const path = (points: readonly Point[]) => points.map(({ day, value }) => pointAt(day, value, scale)).join('L');
  const lines = runs.filter((run) => run.length > 1);
  const today = runs.length === 0 ? runsOf(values) : [];
  return [
    ...(lines.length > 0
      ? [html`<path class="line ${tone} ${more}" d="${lines.map((run) => `M${path(run)}`).join('')}"/>`]
      : []),
    ...[...runs, ...today]
      .filter((run) => run.length === 1)
      .map((run) => html`<path class="line dot ${tone}${today.includes(run) && ' today'}" d="M${path(run)}h0"/>`),
  ];
}

function span(series: readonly Series[], figures: Figures, scale: Scale): Html {
  const [upper, lower] = series.map(({ key }) => valuesOf(figures, key));
  const path = runsOf(whole(upper ?? []))
    .map((run) => {
      const above = run.map(({ day, value }) => pointAt(day, value, scale));
      const below = run.toReversed().map(({ day }) => pointAt(day, lower?.[day] ?? 0, scale));
      return `M${[...above, ...below].join('L')}Z`;
    })
    .join('');
  return html`<path class="span" d="${path}"/>`;
}

/** Today is not over: a line would end in a fall or a jump that means nothing. */
function whole(values: readonly (number | null)[]): readonly (number | null)[] {
  return values.slice(0, -1);
}

interface Point {
  readonly day: number;
  readonly value: number;
}

/** Days in a row that have a value: a line does not bridge those without. */
function runsOf(values: readonly (number | null)[]): Point[][] {
  const runs: Point[][] = [];
  for (const [day, value] of values.entries()) {
    if (value === null) continue;
    const latest = runs.at(-1);
    if (latest && values[day - 1] !== null) latest.push({ day, value });
    else runs.push([{ day, value }]);
  }
  return runs;
}

function pointAt(day: number, value: number, scale: Scale): string {
  return `${day * 10 + 5} ${short(100 * (1 - scale.place(value)))}`;
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}
