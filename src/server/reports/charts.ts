/*
 * Charts as options of Apache ECharts. The server renders them as SVG for the first paint. The browser runs the same
 * functions (see `browserSource`) and renders them again with tooltips, legend and zoom.
 */

/** The size of the server's SVG in pixels, between a phone and a column of a wide window. */
export const drawnSize = { width: 440, height: 210 } as const;

/** Custom properties of the page, so that a chart follows its light and dark scheme. */
const colors = {
  main: 'var(--accent)',
  second: 'var(--second)',
  good: 'var(--ok)',
  fair: 'var(--fair)',
  plain: 'var(--quiet)',
  bad: 'var(--problem)',
  worse: 'var(--worse)',
} as const;

/** The unit of a column's values. */
export type Unit = 'count' | 'percent' | 'seconds' | 'dollars';

export interface Column {
  /** Its name in the CSV. */
  readonly key: string;
  readonly name: string;
  readonly unit: Unit;
}

/** One local day and its value in each column. Null means "nothing to measure", which is not zero. */
export interface Day {
  /** `2026-11-01`. */
  readonly date: string;
  readonly values: readonly (number | null)[];
}

/** The data of a picture and of its CSV: every day of the period, oldest first. */
export interface Figures {
  readonly columns: readonly Column[];
  readonly days: readonly Day[];
  /** The values of the whole period by column, where they do not follow from those of the days: percentiles. */
  readonly whole?: Readonly<Record<string, number | null>>;
}

export interface Series {
  /** The key of its column. */
  readonly key: string;
  readonly tone: keyof typeof colors;
  readonly isDashed?: boolean;
}

/** Stacked bars of counts, or of shares of each day; lines; or lines of durations on a logarithmic axis (`lengths`). */
export interface Chart {
  readonly title?: string;
  readonly kind: 'stack' | 'shares' | 'lines' | 'lengths';
  readonly series: readonly Series[];
}

// The page's fonts: the library has to measure texts before it places them.
const fontFamily = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const text = { color: 'var(--soft)', fontSize: 11, fontFamily };

/** The options of one chart; `isLive` adds tooltip, legend selection and zoom. */
export function chartOptions(chart: Chart, figures: Figures, isLive = false): object {
  const { kind, series } = chart;
  const columns = chartColumns(chart, figures);
  const unit = kind === 'shares' ? 'percent' : (columns[0]?.unit ?? 'count');
  const values = series.map(({ key }) => valuesOf(figures, key));
  const totals = figures.days.map((_, day) => values.reduce((sum, each) => sum + (each[day] ?? 0), 0));
  return {
    animation: false,
    textStyle: { fontFamily },
    grid: { left: 4, right: 12, top: 12, bottom: columns.length > 1 ? 32 : 6, outerBoundsMode: 'same' },
    xAxis: {
      type: 'category',
      data: figures.days.map(({ date }) => date),
      axisLine: { lineStyle: { color: 'var(--line)' } },
      axisTick: { show: false },
      axisLabel: { ...text, hideOverlap: true, formatter: shortDay },
    },
    yAxis: yAxis(kind, unit),
    legend: {
      show: columns.length > 1,
      bottom: 0,
      left: 0,
      itemWidth: 12,
      itemHeight: 9,
      textStyle: { ...text, fontSize: 12 },
      inactiveColor: 'var(--quiet)',
      selectedMode: isLive,
    },
    ...(isLive && {
      tooltip: {
        trigger: 'axis',
        // As SVG: the content security policy blocks inline styles in markup.
        renderMode: 'richText',
        confine: true,
        backgroundColor: 'var(--card)',
        borderColor: 'var(--line)',
        shadowBlur: 0,
        textStyle: { color: 'var(--ink)', fontSize: 12, fontFamily },
        axisPointer: {
          type: kind === 'stack' || kind === 'shares' ? 'none' : 'line',
          lineStyle: { color: 'var(--quiet)' },
        },
        formatter: ([point]: { dataIndex: number }[]) => describeDay(columns, figures, point?.dataIndex ?? 0),
      },
      dataZoom: { type: 'inside', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: 'shift', preventDefaultMouseMove: false },
    }),
    series: series.map((each, at) => {
      const name = columns[at]?.name;
      const data = values[at] ?? [];
      if (kind === 'lines' || kind === 'lengths') return line(each, name, data);
      return bars(each, name, kind === 'shares' ? data.map((value, day) => share(value, totals[day] ?? 0)) : data);
    }),
  };
}

function yAxis(kind: Chart['kind'], unit: Unit): object {
  const shared = {
    axisLabel: { ...text, formatter: (value: number) => tickName(value, unit) },
    splitLine: { lineStyle: { color: 'var(--line)' } },
    splitNumber: 4,
  };
  // Durations differ by orders of magnitude: the steps are a second, a minute, an hour and some days.
  if (kind === 'lengths') return { ...shared, type: 'log', logBase: 60, min: 1 };
  const step = unit === 'count' ? { minInterval: 1 } : unit === 'dollars' ? { minInterval: 0.01 } : {};
  return { ...shared, ...step, type: 'value', min: 0, ...(unit === 'percent' && { max: 100, interval: 25 }) };
}

/** The column of today is pale, since the day is not over. */
function bars({ tone }: Series, name: string | undefined, values: readonly (number | null)[]): object {
  const last = values.length - 1;
  return {
    name,
    type: 'bar',
    stack: 'all',
    color: colors[tone],
    barCategoryGap: values.length > 7 ? '20%' : '50%',
    emphasis: { disabled: true },
    data: values.map((value, day) => (day === last ? { value, itemStyle: { opacity: 0.5 } } : value)),
  };
}

/** Lines end before today: its partial value would look like a drop. If today is the only value, it is a pale dot. */
function line({ tone, isDashed }: Series, name: string | undefined, values: readonly (number | null)[]): object {
  const last = values.length - 1;
  const isTodayAlone = values.every((value, day) => value === null || day === last);
  const isDrawn = (day: number) => values[day] != null && (day < last || isTodayAlone);
  return {
    name,
    type: 'line',
    color: colors[tone],
    lineStyle: { width: isDashed ? 1.5 : 2, ...(isDashed && { type: 'dotted' }) },
    symbol: 'none',
    showAllSymbol: true,
    emphasis: { disabled: true },
    data: values.map((value, day) => {
      if (!isDrawn(day)) return null;
      if (isDrawn(day - 1) || isDrawn(day + 1)) return value;
      return { value, symbol: 'circle', symbolSize: 7, itemStyle: { opacity: isTodayAlone ? 0.5 : 1 } };
    }),
  };
}

function share(value: number | null, total: number): number | null {
  return value === null || total === 0 ? null : (100 * value) / total;
}

function chartColumns({ series }: Chart, { columns }: Figures): Column[] {
  return series.flatMap(({ key }) => columns.find((column) => column.key === key) ?? []);
}

/** The values of one column, oldest day first. Throws for an unknown column. */
export function valuesOf({ columns, days }: Figures, key: string): (number | null)[] {
  const at = columns.findIndex((column) => column.key === key);
  if (at < 0) throw new Error(`There is no column ${key}`);
  return days.map(({ values }) => values[at] ?? null);
}

/** The text alternative of a chart. */
export function describeChart(chart: Chart, figures: Figures): string {
  const [first, last] = [figures.days[0]?.date ?? '', figures.days.at(-1)?.date ?? ''];
  const ranges = chartColumns(chart, figures).map(({ key, name, unit }) => {
    const values = valuesOf(figures, key).filter((value) => value !== null);
    return values.length === 0
      ? `${name}: nothing`
      : `${name}: ${formatValue(Math.min(...values), unit)} to ${formatValue(Math.max(...values), unit)} a day`;
  });
  return `By day, ${dayName(first)} to ${dayName(last)}. ${ranges.join('; ')}. The table below has the figures.`;
}

function describeDay(columns: readonly Column[], figures: Figures, day: number): string {
  const values = columns.map(
    ({ key, name, unit }) => `${name}: ${formatValue(valuesOf(figures, key)[day] ?? null, unit)}`,
  );
  return [dayName(figures.days[day]?.date ?? ''), ...values].join('\n');
}

function tickName(value: number, unit: Unit): string {
  if (unit === 'percent') return `${value} %`;
  if (unit === 'seconds') return value === 60 ? '1 min' : value === 3_600 ? '1 h' : formatLength(value);
  if (value === 0) return '0';
  if (unit === 'count' && value >= 10_000) return `${Number((value / 1_000).toFixed(1)).toLocaleString('en')}k`;
  return unit === 'dollars' ? formatValue(value, unit).replace(/\.00$/, '') : formatValue(value, unit);
}

/** A value with its unit; a dash for null. */
export function formatValue(value: number | null, unit: Unit): string {
  if (value === null) return '–';
  if (unit === 'percent') return `${round(value, 1)} %`;
  if (unit === 'dollars')
    return `$${value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  return unit === 'seconds' ? formatLength(value) : round(value, 1).toLocaleString('en');
}

/** A duration in a suitable unit: `40 s`, `3.5 min`, `2 h`, `4 d`. */
function formatLength(seconds: number): string {
  const fine = (value: number) => round(value, value < 10 ? 1 : 0);
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 100 * 60) return `${fine(seconds / 60)} min`;
  if (seconds < 48 * 3_600) return `${fine(seconds / 3_600)} h`;
  return `${fine(seconds / 86_400)} d`;
}

function round(value: number, digits: number): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}

/** A local day: `Sat 21 Nov`. */
export function dayName(date: string): string {
  return formatDay(date, { weekday: 'short', day: 'numeric', month: 'short' });
}

function shortDay(date: string): string {
  return formatDay(date, { day: 'numeric', month: 'short' });
}

function formatDay(date: string, format: object): string {
  if (date === '') return '';
  return new Date(`${date}T00:00:00Z`).toLocaleDateString('en-GB', { timeZone: 'UTC', ...format });
}

/** The functions above as source for the browser. Node has stripped their types; they must not use imports. */
export const browserSource = [
  `const colors = ${JSON.stringify(colors)};`,
  `const fontFamily = ${JSON.stringify(fontFamily)};`,
  `const text = ${JSON.stringify(text)};`,
  ...[chartOptions, yAxis, bars, line, share, chartColumns, valuesOf, describeDay, tickName],
  ...[formatValue, formatLength, round, dayName, shortDay, formatDay],
].join('\n');
