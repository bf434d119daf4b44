/*
 * Charts as options of Apache ECharts. The server renders them as SVG for the first paint. The browser runs the same
 * functions (see `browserSource`) and renders them again with tooltips, legend and zoom.
 */

/** Size of the server's SVG in pixels, between a phone and a column of a wide window. */
export const drawnSize = { width: 440, height: 210 } as const;

/** CSS custom properties of the page, so a chart follows its light and dark scheme. */
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
  /** Parameters of the page with the rows behind it. Undefined: there is none. */
  readonly rows?: string;
  /** Its values don't rise once a day is over, whatever the day's other values do. */
  readonly isFinal?: boolean;
  /** Its colour in a chart. Undefined: it is in no chart. */
  readonly tone?: keyof typeof colors;
  readonly isDashed?: boolean;
}

/** One local day and its value in each column. Null means "nothing to measure", which is not zero. */
export interface Day {
  /** `2026-11-01`. */
  readonly date: string;
  readonly values: readonly (number | null)[];
  /** open: the day isn't over. rising: it is over, but its figures may still rise. */
  readonly state?: 'open' | 'rising';
}

/** The data of a picture and its CSV: every day of the period, oldest first. */
export interface Figures {
  readonly columns: readonly Column[];
  readonly days: readonly Day[];
  /** The values of the whole period, by column. */
  readonly whole: Readonly<Record<string, number | null>>;
}

/** Stacked bars of counts, or of daily shares; lines; or lines of durations on a logarithmic axis (`lengths`). */
export interface Chart {
  readonly title?: string;
  readonly kind: 'stack' | 'shares' | 'lines' | 'lengths';
  /** The keys of its columns, from bottom to top. */
  readonly keys: readonly string[];
}

// The page's fonts: the library measures texts to place them.
const fontFamily = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const text = { color: 'var(--soft)', fontSize: 11, fontFamily };

/** The options of one chart. `isLive` adds tooltip, legend selection and zoom. */
export function chartOptions(chart: Chart, figures: Figures, isLive = false): object {
  const { kind } = chart;
  const columns = chartColumns(chart, figures);
  const unit = kind === 'shares' ? 'percent' : (columns[0]?.unit ?? 'count');
  const values = columns.map(({ key }) => valuesOf(figures, key));
  const isOpen = figures.days.map(({ state }) => state === 'open');
  const totals = figures.days.map((_, day) => values.reduce((sum, each) => sum + (each[day] ?? 0), 0));
  return {
    animation: false,
    textStyle: { fontFamily },
    grid: { left: 4, right: 12, top: 12, bottom: legendHeight(columns), outerBoundsMode: 'same' },
    xAxis: {
      type: 'category',
      data: figures.days.map(({ date }) => date),
      axisLine: { lineStyle: { color: 'var(--line)' } },
      axisTick: { show: false },
      axisLabel: { ...text, hideOverlap: true, formatter: shortDay },
      // Shades days that are over but whose figures may still rise.
      splitArea: {
        show: columns.some(({ isFinal }) => !isFinal) && figures.days.some(({ state }) => state === 'rising'),
        interval: 0,
        areaStyle: { color: figures.days.map(({ state }) => (state === 'rising' ? 'var(--track)' : 'transparent')) },
      },
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
        // As SVG, because the content security policy blocks inline styles in HTML.
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
    series: columns.map((column, at) => {
      const data = values[at] ?? [];
      if (kind === 'lines' || kind === 'lengths') return line(column, data, isOpen, isLive);
      return bars(column, kind === 'shares' ? data.map((value, day) => share(value, totals[day] ?? 0)) : data, isOpen);
    }),
  };
}

/** Pixels below the axis. Long names take two lines on a phone. */
function legendHeight(columns: readonly Column[]): number {
  if (columns.length < 2) return 6;
  return columns.reduce((length, { name }) => length + name.length + 6, 0) > 48 ? 50 : 32;
}

function yAxis(kind: Chart['kind'], unit: Unit): object {
  const shared = {
    axisLabel: { ...text, formatter: (value: number) => tickName(value, unit) },
    splitLine: { lineStyle: { color: 'var(--line)' } },
    splitNumber: 4,
  };
  // Durations differ by orders of magnitude, so the steps are a second, a minute, an hour and some days.
  if (kind === 'lengths') return { ...shared, type: 'log', logBase: 60, min: 1 };
  const step = unit === 'count' ? { minInterval: 1 } : unit === 'dollars' ? { minInterval: 0.01 } : {};
  return { ...shared, ...step, type: 'value', min: 0, ...(unit === 'percent' && { max: 100, interval: 25 }) };
}

/** The column of a day that isn't over is pale. */
function bars({ name, tone }: Column, values: readonly (number | null)[], isOpen: boolean[]): object {
  return {
    name,
    type: 'bar',
    stack: 'all',
    color: colors[tone ?? 'plain'],
    barCategoryGap: values.length > 7 ? '20%' : '50%',
    barMaxWidth: 56,
    emphasis: { disabled: true },
    data: values.map((value, day) => (isOpen[day] ? { value, itemStyle: { opacity: 0.5 } } : value)),
  };
}

/**
 * Lines end before a day that isn't over, because its partial value would look like a drop. If it is the only value, it
 * becomes a pale dot. In the browser, each value has an invisible dot to click on.
 */
function line(
  { name, tone, isDashed }: Column,
  values: readonly (number | null)[],
  isOpen: boolean[],
  isLive: boolean,
): object {
  const isOpenAlone = values.every((value, day) => value === null || isOpen[day]);
  const isDrawn = (day: number) => values[day] != null && (!isOpen[day] || isOpenAlone);
  return {
    name,
    type: 'line',
    color: colors[tone ?? 'plain'],
    lineStyle: { width: isDashed ? 1.5 : 2, ...(isDashed && { type: 'dotted' }) },
    ...(isLive ? { symbol: 'circle', symbolSize: 14, itemStyle: { opacity: 0 } } : { symbol: 'none' }),
    showAllSymbol: true,
    emphasis: { disabled: true },
    data: values.map((value, day) => {
      if (!isDrawn(day)) return null;
      if (isDrawn(day - 1) || isDrawn(day + 1)) return value;
      return { value, symbol: 'circle', symbolSize: 7, itemStyle: { opacity: isOpenAlone ? 0.5 : 1 } };
    }),
  };
}

function share(value: number | null, total: number): number | null {
  return value === null || total === 0 ? null : (100 * value) / total;
}

function chartColumns({ keys }: Chart, { columns }: Figures): Column[] {
  return keys.flatMap((key) => columns.find((column) => column.key === key) ?? []);
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
  return `By day, ${dayName(first)} to ${dayName(last)}. ${ranges.join('; ')}. The table below has the figures and opens the rows behind them.`;
}

function describeDay(columns: readonly Column[], figures: Figures, day: number): string {
  const values = columns.map(
    ({ key, name, unit }) => `${name}: ${formatValue(valuesOf(figures, key)[day] ?? null, unit)}`,
  );
  const { date = '', state } = figures.days[day] ?? {};
  return [dayName(date) + stateNames[state ?? 'over'], ...values].join('\n');
}

/** The note after the name of a day. */
export const stateNames = { open: ', not over', rising: ', still rising', over: '' } as const;

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

/** A local day: `Sat 21 Nov`. A page has hundreds, so creating an `Intl` format for each would be too slow. */
export function dayName(date: string): string {
  const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
  return date === '' ? '' : `${weekdays[new Date(`${date}T00:00:00Z`).getUTCDay()]} ${shortDay(date)}`;
}

function shortDay(date: string): string {
  const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sept', 'Oct', 'Nov', 'Dec'];
  return date === '' ? '' : `${Number(date.slice(8))} ${months[Number(date.slice(5, 7)) - 1]}`;
}

/** The source of the functions above, for the browser. Node has stripped their types. They must not use imports. */
export const browserSource = [
  `const colors = ${JSON.stringify(colors)};`,
  `const fontFamily = ${JSON.stringify(fontFamily)};`,
  `const text = ${JSON.stringify(text)};`,
  `const stateNames = ${JSON.stringify(stateNames)};`,
  ...[chartOptions, legendHeight, yAxis, bars, line, share, chartColumns, valuesOf, describeDay, tickName],
  ...[formatValue, formatLength, round, dayName, shortDay],
].join('\n');
