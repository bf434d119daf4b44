import { type Html, html } from '../html.ts';
import type { Row, Table } from '../table.ts';
import { formatValue, headingOf, type Unit, unitOf } from '../words.ts';
import type { Draw, Tone } from './file.ts';
import { dayAfter, type Period, shortDay } from './period.ts';

/*
 * Pictures of a report. Shapes are SVG, which stretches to its place, and texts are HTML around it, so one picture fits
 * every screen. A title says what is under the pointer.
 */

const colors: Readonly<Record<Tone, string>> = {
  ...{ main: 'var(--accent)', second: 'var(--second)', good: 'var(--ok)', fair: 'var(--fair)' },
  ...{ plain: 'var(--quiet)', bad: 'var(--problem)', worse: 'var(--worse)' },
};

/** Of a day: not over, not final, or final. */
export type State = 'open' | 'rising' | 'over';
export const stateWords: Readonly<Record<State, string>> = { open: ', not over', rising: ', still rising', over: '' };

/** What is drawn beside the values. */
interface About {
  readonly period: Period;
  /** The state of a day, or of several days from it on. */
  readonly stateOf: (day: string, count?: number) => State;
  /** The address behind a row. */
  readonly linkOf?: (row: Row) => string | undefined;
}

interface Point {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly state: State;
  readonly row: Row | undefined;
}

export function draw(drawn: Draw, answer: Table, about: About): Html {
  return drawn.kind === 'heat' ? drawHeat(drawn, answer) : drawSeries(drawn, answer, about);
}

/** A line or stacked bars over days; or a bar for each row, drawn across beside its name. */
function drawSeries({ kind, isLog, ...drawn }: Draw, answer: Table, about: About): Html {
  const isByDay = answer.columns.some(({ name, type }) => name === drawn.x && type === 'date');
  const isLine = kind === 'line';
  const isAcross = !isByDay && !isLine;
  const columns = drawn.y.map(({ column, tone }) => ({
    ...{ name: headingOf(column), unit: unitOf(column).unit, color: colors[tone] },
  }));
  const points = pointsOf(drawn, answer, isByDay ? about : undefined);
  const values = points.map((point) => (kind === 'shares' ? sharesOf(point.values) : point.values));
  const most = Math.max(0, ...values.map((each) => (isLine ? Math.max(...each.map(Number)) : sum(each))));
  const unit = kind === 'shares' ? '%' : (columns[0]?.unit ?? '');
  const ticks = ticksOf(most, unit, isLog);
  const top = ticks.at(-1) ?? 1;
  const scaled = (value: number) => (isLog ? Math.log(Math.max(value, 1)) / Math.log(top) : value / top);
  const place = (along: number, up: number) => (isAcross ? `${up} ${along}` : `${along} ${1 - up}`);
  // A line ends before a day that isn't over, unless there is no other.
  const isAlone = points.every(({ state, values: own }) => state === 'open' || own.every((value) => value === null));
  const lines = columns.map(({ color }, at) => {
    const ups = points.map(({ state }, nth) => (isAlone || state !== 'open' ? (values[nth]?.[at] ?? null) : null));
    const isGap = (nth: number) => (ups[nth] ?? null) === null;
    const pathOf = (up: number | null, nth: number) =>
      up === null ? '' : `${isGap(nth - 1) ? 'M' : 'L'}${place(nth + 0.5, scaled(up))}`;
    const dots = ups.map((up, nth) => (up !== null && isGap(nth - 1) && isGap(nth + 1) ? `${pathOf(up, nth)}h0` : ''));
    return html`<path class="stroke line" stroke="${color}" d="${ups.map(pathOf).join('')}"/><path class="stroke dot" stroke="${color}" d="${dots.join('')}"/>`;
  });
  const half = Math.min(0.8, (isAcross ? 20 : points.length) / 16) / 2;
  const bars = points.map(({ state }, nth) => {
    let from = 0;
    const parts = columns.map(({ color }, at) => {
      const to = from + scaled(values[nth]?.[at] ?? 0);
      const corners = [place(nth + 0.5 - half, from), place(nth + 0.5 - half, to), place(nth + 0.5 + half, to)];
      const path = `M${[...corners, place(nth + 0.5 + half, from)].join('L')}`;
      from = to;
      return html`<path fill="${color}" d="${path}"/>`;
    });
    return html`<g opacity="${state === 'open' ? 0.5 : 1}">${parts}</g>`;
  });
  const behind = points.map(({ name, state, row, values: own }, nth) => {
    const told = columns.map((column, at) => `${column.name}: ${formatValue(own[at] ?? null, column.unit)}`);
    const size = isAcross ? html`y="${nth}" width="1" height="1"` : html`x="${nth}" width="1" height="1"`;
    const area = html`<rect ${size} fill="${state === 'rising' ? 'var(--track)' : 'transparent'}">${titleOf(`${name}${stateWords[state]}`, told)}</rect>`;
    const link = row && about.linkOf?.(row);
    return link === undefined ? area : html`<a href="${link}">${area}</a>`;
  });
  const grid = ticks.map((tick, at) => {
    const up = isLog ? at / (ticks.length - 1) : tick / top;
    return html`<path class="stroke" stroke="var(--line)" d="M${place(0, up)}L${place(points.length, up)}"/>`;
  });
  const scale = ticks.map((tick) => formatValue(tick, unit));
  const names = points.map(({ name }) => name);
  const shapes = html`${behind}<g class="seen">${grid}${isLine ? lines : bars}</g>`;
  const legend =
    columns.length > 1 &&
    html`<p class="legend">${columns.map(({ name, color }) => html`<span><svg width="12" height="9"><rect width="12" height="9" rx="2" fill="${color}"/></svg> ${name}</span>`)}</p>`;
  return isAcross
    ? framed(
        shapes,
        { width: 1, height: names.length, pixels: 40 + 28 * names.length },
        [names, 'names'],
        [scale, 'ticks'],
        legend,
      )
    : framed(
        shapes,
        { width: names.length, height: 1, pixels: 260 },
        [scale.toReversed(), 'ticks'],
        [names, 'names'],
        legend,
      );
}

function drawHeat({ x, y, value }: Draw, { columns, rows }: Table): Html {
  const [ofX, ofY] = [x, y[0]?.column ?? ''];
  const namesOf = (column: string) => [...new Set(rows.map((row) => row[column] ?? '–'))];
  const [across, down] = [namesOf(ofX), namesOf(ofY)];
  const numbers = rows.map((row) => Number(row[value])).sort((a, b) => a - b);
  // One extraordinary cell must not make all others pale.
  const most = Math.max(1, numbers[Math.floor(0.98 * (numbers.length - 1))] ?? 1);
  const told = columns.filter(({ name, type }) => type === 'number' && name !== ofX && !name.endsWith('_key'));
  const cells = rows.map((row) => {
    const opacity = 0.06 + 0.94 * Math.min(1, Number(row[value]) / most);
    const lines = told.map(({ name }) => `${headingOf(name)}: ${row[name] ?? '–'}`);
    return html`<rect x="${across.indexOf(row[ofX] ?? '–') + 0.03}" y="${down.indexOf(row[ofY] ?? '–') + 0.04}" width="0.94" height="0.92" fill="${colors.main}" opacity="${opacity}">${titleOf(`${row[ofY]}, ${row[ofX]}`, lines)}</rect>`;
  });
  const size = { width: across.length, height: down.length, pixels: 36 * down.length };
  return framed(html`${cells}`, size, [down, 'names'], [across, 'names'], false);
}

type Side = readonly [texts: readonly string[], kind: 'names' | 'ticks'];

/** Shapes with texts at their left and below: names in the middle of each part, of which some are left out, or ticks. */
function framed(
  shapes: Html,
  { width, height, pixels }: Readonly<Record<'width' | 'height' | 'pixels', number>>,
  [left, leftKind]: Side,
  [below, belowKind]: Side,
  legend: Html | false,
): Html {
  const every = Math.ceil(below.length / 7);
  return html`<div class="chart"><div class="up ${leftKind}">${left.map((text) => html`<span>${text}</span>`)}</div>
<svg viewBox="0 0 ${width} ${height}" height="${pixels}" preserveAspectRatio="none">${shapes}</svg>
<div class="along ${belowKind}">${below.map((text, at) => html`<span>${at % every === 0 && text}</span>`)}</div></div>${legend}`;
}

function titleOf(heading: string, lines: readonly string[]): Html {
  return html`<title>${heading}${lines.map(
    (each) => html`
${each}`,
  )}</title>`;
}

/** Round values from 0 to `most` or more, in four steps or fewer; of a logarithmic scale, the powers of 60. */
function ticksOf(most: number, unit: Unit, isLog: boolean): number[] {
  if (unit === '%') return [0, 25, 50, 75, 100];
  if (isLog) return [1, 60, 3_600, 216_000].filter((tick) => tick <= 60 || tick < 60 * most);
  const [base, steps] = unit === 's' || unit === 'min' ? [60, [1, 2, 5, 10, 15, 30, 60]] : [10, [1, 2, 5, 10]];
  const power = base ** Math.floor(Math.log(most / 4 || 1) / Math.log(base));
  const found = steps.map((each) => each * power).find((each) => each * 4 >= most) ?? 1;
  const step = unit === '' ? Math.max(1, found) : found;
  return Array.from({ length: Math.max(1, Math.ceil(most / step)) + 1 }, (_, at) => at * step);
}

/** The rows in their order; by day, with the days that have no row. */
function pointsOf({ x, y }: Pick<Draw, 'x' | 'y'>, { rows }: Table, days: About | undefined): Point[] {
  const valuesOf = (row: Row | undefined) =>
    y.map(({ column }) => (row?.[column] == null ? null : Number(row[column])));
  if (!days) return rows.map((row) => ({ name: row[x] ?? '–', values: valuesOf(row), state: 'over', row }));
  const byDay = new Map(rows.flatMap((row) => (row[x] ? [[row[x], row] as const] : [])));
  // By week, only what the query has.
  const isDaily = areDays([...byDay.keys()]);
  const shown = isDaily ? [] : [...byDay.keys()].sort();
  for (let day = days.period.from; isDaily && day <= days.period.to; day = dayAfter(day, 1)) shown.push(day);
  return shown.map((day) => {
    const row = byDay.get(day);
    return { name: shortDay(day), values: valuesOf(row), state: days.stateOf(day, isDaily ? 1 : 7), row };
  });
}

/** Whether rows of these dates are days, not weeks. */
export function areDays(dates: readonly (string | null)[]): boolean {
  const given = new Set(dates);
  return given.size < 2 || dates.some((date) => date !== null && given.has(dayAfter(date, 1)));
}

const sum = (values: readonly (number | null)[]) => values.reduce<number>((all, each) => all + (each ?? 0), 0);

/** Each value in percent of their sum. */
function sharesOf(values: readonly (number | null)[]): (number | null)[] {
  const total = sum(values);
  return values.map((value) => (value === null || total === 0 ? null : (100 * value) / total));
}
