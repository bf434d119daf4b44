import { type Html, html } from '../../page/html.ts';
import { type Chart, type Column, type Figures, type Unit, valuesOf } from '../picture.ts';
import { dayName, shortDay, told } from '../told.ts';
import { countScale, evenScale, lengthName, lengthScale, moneyScale, type Scale } from './scale.ts';
import { shapesOf } from './shapes.ts';

/** Some names of days below a chart, few enough for a phone. */
const dayLabels = 4;

/**
 * One chart: an SVG without text that is stretched to the room it has, with the axes beside it as text that keeps its
 * size. `id` tells it from the others of the page.
 */
export function drawChart(chart: Chart, figures: Figures, { id, title }: { id: string; title: string }): Html {
  const columns = chartColumns(chart, figures);
  const unit = chart.kind === 'stack' && chart.isShare ? 'percent' : (columns[0]?.unit ?? 'count');
  const scale = scaleOf(chart, figures, unit);
  const { days } = figures;
  return html`<figure>
${chart.title && html`<h3>${chart.title}</h3>`}
<div class="chart">
  <ol class="rise" aria-hidden="true">${scale.ticks.map((tick) => html`<li>${tickName(tick, unit)}</li>`)}</ol>
  <svg viewBox="0 0 ${days.length * 10} 100" preserveAspectRatio="none" role="img" aria-labelledby="${id}-t ${id}-d">
    <title id="${id}-t">${title}${chart.title && `: ${chart.title}`}</title>
    <desc id="${id}-d">${description(columns, figures)}</desc>
    ${[0, 25, 50, 75, 100].map((y) => html`<line class="grid" x1="0" x2="${days.length * 10}" y1="${y}" y2="${y}"/>`)}
    ${shapesOf(chart, figures, scale)}
    ${days.map(({ date }, at) => html`<rect class="day" x="${at * 10}" y="0" width="10" height="100"><title>${hint(chart, figures, date, at)}</title></rect>`)}
  </svg>
  <ol class="run" aria-hidden="true">${labelled(days.map(({ date }) => date)).map((date) => html`<li>${shortDay(date)}</li>`)}</ol>
</div>
${columns.length > 1 && html`<figcaption class="key">${chartKey(chart, columns)}</figcaption>`}
</figure>`;
}

function chartColumns(chart: Chart, { columns }: Figures): Column[] {
  const keys = [...chart.series, ...(chart.kind === 'span' && chart.dashed ? [chart.dashed] : [])].map(
    ({ key }) => key,
  );
  return keys.flatMap((key) => columns.find((column) => column.key === key) ?? []);
}

function chartKey(chart: Chart, columns: readonly Column[]): Html[] {
  const all = [...chart.series, ...(chart.kind === 'span' && chart.dashed ? [chart.dashed] : [])];
  return all.map(({ key, tone }, at) => {
    const isDashed = chart.kind === 'span' && key === chart.dashed?.key;
    return html`<span class="${tone}${isDashed && ' dashed'}${chart.kind === 'stack' ? '' : ' stroke'}"><i></i><b>${columns[at]?.name}</b></span>`;
  });
}

function scaleOf(chart: Chart, figures: Figures, unit: Unit): Scale {
  const values = chart.series.map(({ key }) => valuesOf(figures, key));
  const flat = values.flat().filter((value) => value !== null);
  if (unit === 'percent') return evenScale(100);
  if (chart.kind === 'span') return lengthScale(flat);
  const sums = figures.days.map((_, day) => values.reduce((sum, each) => sum + (each[day] ?? 0), 0));
  const largest = Math.max(0, ...(chart.kind === 'stack' ? sums : flat));
  return unit === 'dollars' ? moneyScale(largest) : countScale(largest);
}

function tickName(value: number, unit: Unit): string {
  if (unit === 'percent') return `${value} %`;
  if (value === 0) return '0';
  if (unit === 'seconds') return lengthName(value);
  if (unit === 'count' && value >= 10_000) return `${Number((value / 1_000).toFixed(1)).toLocaleString('en')}k`;
  if (unit === 'dollars') return told(value, unit).replace(/\.00$/, '');
  return told(value, unit);
}

/** What stands in the chart, for whoever cannot see it. */
function description(columns: readonly Column[], figures: Figures): string {
  const last = figures.days.length - 1;
  const [first, today] = [figures.days[0]?.date ?? '', figures.days[last]?.date ?? ''];
  const ranges = columns.map(({ key, name, unit }) => {
    const values = valuesOf(figures, key).filter((value) => value !== null);
    return values.length === 0
      ? `${name}: nothing`
      : `${name}: ${told(Math.min(...values), unit)} to ${told(Math.max(...values), unit)} a day`;
  });
  return `By day, ${dayName(first)} to ${dayName(today)}. ${ranges.join('; ')}. The figures stand in the table below.`;
}

function hint(chart: Chart, figures: Figures, date: string, at: number): string {
  const values = chartColumns(chart, figures).map(
    ({ key, name, unit }) => `${name}: ${told(valuesOf(figures, key)[at] ?? null, unit)}`,
  );
  return [dayName(date), ...values].join('\n');
}

function labelled(dates: readonly string[]): string[] {
  const last = dates.length - 1;
  return Array.from({ length: dayLabels }, (_, at) => dates[Math.round((at * last) / (dayLabels - 1))] ?? '');
}
