import { type Html, html, trusted } from '../html.ts';
import type { Row, Table } from '../table.ts';
import { formatValue, headingOf, unitOf } from '../words.ts';
import type { Draw, Tone } from './file.ts';
import { dayAfter, type Period, shortDay } from './period.ts';

/*
 * Pictures of a report as SVG, drawn on the server by Apache ECharts. What is under the pointer is told by its title.
 */

const colors: Readonly<Record<Tone, string>> = {
  ...{ main: 'var(--accent)', second: 'var(--second)', good: 'var(--ok)', fair: 'var(--fair)' },
  ...{ plain: 'var(--quiet)', bad: 'var(--problem)', worse: 'var(--worse)' },
};
// The page's fonts: the library measures texts to place them.
const fontFamily = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const text = { color: 'var(--soft)', fontSize: 11, fontFamily };

export interface Size {
  readonly width: number;
  readonly height: number;
  /** A small picture has no legend and no names of values. */
  readonly isSmall?: boolean;
}

/** Of a day: not over, not final, or final. */
export type State = 'open' | 'rising' | 'over';
export const stateWords: Readonly<Record<State, string>> = { open: ', not over', rising: ', still rising', over: '' };

/** What is drawn beside the values. */
interface About {
  readonly period: Period;
  readonly size: Size;
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

export async function draw(drawn: Draw, answer: Table, about: About): Promise<Html> {
  const render = await loadRenderer();
  return drawn.kind === 'heat' ? drawHeat(drawn, answer, about.size, render) : drawSeries(drawn, answer, about, render);
}

function drawSeries(drawn: Draw, answer: Table, { size, linkOf, ...about }: About, render: Render): Html {
  const isByDay = answer.columns.some(({ name, type }) => name === drawn.x && type === 'date');
  const points = pointsOf(drawn, answer, isByDay ? about : undefined);
  const isLine = drawn.kind === 'line';
  const isAcross = !isByDay && !isLine;
  const columns = drawn.y.map(({ column, tone }) => ({
    ...{ unit: unitOf(column).unit, name: headingOf(column), color: colors[tone] },
  }));
  const unit = drawn.kind === 'shares' ? '%' : (columns[0]?.unit ?? '');
  const isAlone = points.every(({ state, values }) => state === 'open' || values.every((value) => value === null));
  const drawnValue = (at: number, point: Point | undefined) => {
    const value = point?.values[at] ?? null;
    if (drawn.kind !== 'shares' || value === null || !point) return value;
    const total = point.values.reduce<number>((sum, each) => sum + (each ?? 0), 0);
    return total === 0 ? null : (100 * value) / total;
  };
  // A line ends before a day that isn't over, unless there is no other.
  const isDrawn = (at: number, point: Point | undefined) =>
    drawnValue(at, point) !== null && (isAlone || point?.state !== 'open');
  const category = {
    ...{ type: 'category', data: points.map(({ name }) => name), axisTick: { show: false }, inverse: isAcross },
    axisLine: { lineStyle: { color: 'var(--line)' } },
    axisLabel: { ...text, hideOverlap: true, ...(isAcross && { width: size.width / 3, overflow: 'truncate' }) },
    splitArea: {
      ...{ show: points.some(({ state }) => state === 'rising'), interval: 0 },
      areaStyle: { color: points.map(({ state }) => (state === 'rising' ? 'var(--track)' : 'transparent')) },
    },
  };
  const values = {
    ...(drawn.isLog ? { type: 'log', logBase: 60, min: 1 } : { type: 'value', min: 0 }),
    ...(unit === '%' && { max: 100, interval: size.isSmall ? 50 : 25 }),
    ...(unit === '' && { minInterval: 1 }),
    ...{ splitNumber: size.isSmall ? 2 : 4, splitLine: { lineStyle: { color: 'var(--line)' } } },
    axisLabel: { ...text, formatter: (value: number) => formatValue(value, unit) },
  };
  const svg = render(size, {
    ...frame(size, columns.length > 1, isAcross ? 16 : 4),
    ...(isAcross ? { xAxis: values, yAxis: category } : { xAxis: category, yAxis: values }),
    series: columns.map(({ name, color }, at) => ({
      ...{ name, color, emphasis: { disabled: true } },
      ...(isLine
        ? { type: 'line', symbol: 'circle', symbolSize: 12, showAllSymbol: true, lineStyle: { width: 2 } }
        : { type: 'bar', stack: 'all', barMaxWidth: 56, barCategoryGap: points.length > 7 ? '20%' : '50%' }),
      data: points.map((point, nth) => {
        const value = drawnValue(at, point);
        if (!isLine)
          return { value: value === 0 ? null : value, itemStyle: { opacity: point.state === 'open' ? 0.5 : 1 } };
        if (!isDrawn(at, point)) return null;
        // A value without a neighbour is a dot; the others can only be pointed at.
        const isDot = !isDrawn(at, points[nth - 1]) && !isDrawn(at, points[nth + 1]);
        return { value, itemStyle: { opacity: isDot ? (isAlone ? 0.5 : 1) : 0 }, ...(isDot && { symbolSize: 7 }) };
      }),
    })),
  });
  return titled(svg, (nth) => {
    const { name, values: own = [], state, row } = points[nth] ?? {};
    const heading = `${name}${state && stateWords[state]}`;
    const lines = columns.map((column, at) => `${column.name}: ${formatValue(own[at] ?? null, column.unit)}`);
    return { title: [heading, ...lines].join('\n'), link: row && linkOf?.(row) };
  });
}

/** The rows in their order; by day, with the days that have no row. */
function pointsOf({ x, y }: Draw, { rows }: Table, days: Omit<About, 'size'> | undefined): Point[] {
  const valuesOf = (row: Row | undefined) => y.map(({ column }) => numberOf(row?.[column]));
  if (!days) return rows.map((row) => ({ name: row[x] ?? '–', values: valuesOf(row), state: 'over', row }));
  const byDay = new Map(rows.flatMap((row) => (row[x] ? [[row[x], row] as const] : [])));
  // Days without a row are added; weeks without one aren't.
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

function numberOf(value: string | null | undefined): number | null {
  return value == null ? null : Number(value);
}

function drawHeat({ x, y, value }: Draw, { columns, rows }: Table, size: Size, render: Render): Html {
  const [ofX, ofY] = [x, y[0]?.column ?? ''];
  const namesOf = (column: string) => [...new Set(rows.map((row) => row[column] ?? '–'))];
  const [across, down] = [namesOf(ofX), namesOf(ofY)];
  const numbers = rows.map((row) => numberOf(row[value]) ?? 0);
  // One extraordinary cell must not make all others pale.
  const most = Math.max(1, numbers.toSorted((a, b) => a - b)[Math.floor(0.98 * (numbers.length - 1))] ?? 1);
  const axis = { type: 'category', axisTick: { show: false }, axisLine: { show: false }, axisLabel: text };
  const svg = render(size, {
    ...frame(size, false, 4),
    xAxis: { ...axis, data: across },
    yAxis: { ...axis, data: down, inverse: true },
    series: {
      ...{ type: 'custom', emphasis: { disabled: true } },
      renderItem: (_: unknown, { value: of, coord, size: sizeOf }: HeatApi) => {
        const [[middleX, middleY], [width, height]] = [coord([of(0), of(1)]), sizeOf([1, 1])];
        const corner = { x: middleX - width / 2 + 1, y: middleY - height / 2 + 1 };
        const shape = { ...corner, width: width - 2, height: height - 2, r: 3 };
        return { type: 'rect', shape, style: { fill: colors.main, opacity: 0.06 + 0.94 * Math.min(1, of(2) / most) } };
      },
      data: rows.map((row, nth) => [across.indexOf(row[ofX] ?? '–'), down.indexOf(row[ofY] ?? '–'), numbers[nth] ?? 0]),
    },
  });
  const told = columns.filter(({ name, type }) => type === 'number' && name !== ofX && !name.endsWith('_key'));
  return titled(svg, (nth) => {
    const row = rows[nth] ?? {};
    const lines = told.map(({ name }) => `${headingOf(name)}: ${row[name] ?? '–'}`);
    return { title: [`${row[ofY]}, ${row[ofX]}`, ...lines].join('\n') };
  });
}

interface HeatApi {
  value(dimension: number): number;
  coord(at: readonly number[]): [x: number, y: number];
  size(of: readonly number[]): [width: number, height: number];
}

/** Names that measure longer in the browser than on the server need room at the left. */
function frame({ isSmall }: Size, areMany: boolean, left: number): Readonly<Record<string, unknown>> {
  const hasLegend = !isSmall && areMany;
  const mark = { itemWidth: 12, itemHeight: 9, icon: 'roundRect', itemStyle: { opacity: 1 } };
  return {
    ...{ animation: false, textStyle: { fontFamily } },
    grid: { left, right: 12, top: isSmall ? 6 : 12, bottom: hasLegend ? 32 : 4, outerBoundsMode: 'same' },
    legend: { show: hasLegend, bottom: 0, left: 0, ...mark, textStyle: { ...text, fontSize: 12 } },
  };
}

type Render = (size: Size, options: Readonly<Record<string, unknown>>) => string;

/** What pictures need of the library. Its index would load every kind of chart: half a second and 40 MB more. */
const parts = [
  ...['chart/bar/install', 'chart/line/install', 'chart/custom/install', 'component/grid/installSimple'],
  ...['component/legend/installLegendPlain', 'renderer/installSVGRenderer'],
];

/** Loaded at the first picture, to save memory in receivers that draw none. */
async function loadRenderer(): Promise<Render> {
  const echarts = await import('echarts/core');
  const installed = await Promise.all(parts.map((path) => import(`echarts/lib/${path}.js`)));
  echarts.use(installed.map(({ install }) => install));
  return ({ width, height }, options) => {
    const drawing = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
    drawing.setOption(options);
    const svg = drawing.renderToSVGString({ useViewBox: true });
    drawing.dispose();
    // The content security policy blocks inline styles. The fonts come from the page's style sheet.
    return svg.replace(/<style[\s\S]*?<\/style>| (style|class)="[^"]*"/g, '');
  };
}

/** Gives each bar, point and cell its title, and the address behind it. */
function titled(svg: string, about: (point: number) => { title: string; link?: string | undefined }): Html {
  const shape =
    /<path([^>]*) ecmeta_series_index="\d+" ecmeta_data_index="(\d+)" ecmeta_ssr_type="chart"[^>]*><\/path>/g;
  return trusted(
    svg.replace(shape, (_, attributes: string, point: string) => {
      const { title, link } = about(Number(point));
      const lines = html`${title.split('\n').map((line, at) => html`${trusted(at === 0 ? '' : '\n')}${line}`)}`;
      const path = `<path${attributes}><title>${lines.markup}</title></path>`;
      return link === undefined ? path : `${html`<a href="${link}">`.markup}${path}</a>`;
    }),
  );
}
