import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { exactly } from '../../ops/format.ts';
import { documentOf, type Html, html, palette, trusted } from '../html.ts';
import {
  browserSource,
  type Chart,
  chartOptions,
  dayName,
  describeChart,
  drawnSize,
  type Figures,
  formatValue,
} from './charts.ts';
import { isEmpty, type Period, periods } from './figures.ts';
import type { Drawn, Report } from './pictures.ts';

/** The report page of one period. Complete without JavaScript; made for screens, phones and paper. */
export async function renderReport({ period, takenAt, timeZone, drawn }: Report): Promise<string> {
  const draw = await loadDrawing();
  return frame(
    `The last ${period} days`,
    html`<div class="head"><h1>The last ${period} days</h1>${choice(period)}</div>
<div class="pictures">${drawn.map((each) => card(each, period, draw))}</div>
<footer><span><time datetime="${takenAt.toISOString()}">${exactly(takenAt, timeZone)}</time></span>
<span>local days of ${timeZone}; today is not over: its columns are pale, lines end before it</span><span>definitions: <code>reporting</code> in the database</span></footer>`,
  );
}

/** The report page when the report cannot be read: only the sentence. */
export function renderReportOutage(sentence: string): string {
  return frame(sentence, html`<div class="head"><h1>${sentence}</h1></div>`);
}

function choice(chosen: Period): Html {
  return html`<nav class="periods" aria-label="Period">${periods.map(
    (days) => html`<a href="/reports?days=${days}"${days === chosen && html` aria-current="page"`}>${days} days</a>`,
  )}</nav>`;
}

function card({ picture, figures }: Drawn, period: Period, draw: Draw): Html {
  const { name, title } = picture;
  return html`<section class="card" id="${name}" aria-labelledby="${name}-h">
<header><h2 id="${name}-h">${title}</h2><a class="csv" href="/reports/${name}.csv?days=${period}" download="${name}-${period}-days.csv" aria-label="${title} as CSV">CSV</a></header>
${figures.state === 'known' ? content(picture, figures.value, draw) : html`<p class="unknown">This could not be read: ${figures.reason}</p>`}
</section>`;
}

function content(picture: Drawn['picture'], figures: Figures, draw: Draw): Html {
  if (isEmpty(figures)) return html`<p class="empty">${picture.emptiness}</p>`;
  const { sentence, charts, note } = picture.show(figures);
  return html`<p class="sentence">${sentence}</p>
${charts.map((chart) => figureOf(picture.title, chart, figures, draw))}
${note && html`<p class="note">${note}</p>`}
<details><summary>Figures</summary>${table(picture.title, figures)}</details>`;
}

function figureOf(title: string, chart: Chart, figures: Figures, draw: Draw): Html {
  const name = chart.title ? `${title}: ${chart.title}` : title;
  return html`<figure data-chart="${JSON.stringify(chart)}" data-figures="${JSON.stringify(figures)}">
${chart.title && html`<h3>${chart.title}</h3>`}
<div class="chart" role="img" aria-label="${name}. ${describeChart(chart, figures)}">${draw(chartOptions(chart, figures))}</div>
</figure>`;
}

type Draw = (options: object) => Html;

/** Loads the library at the first report, to save its memory in receivers that render none. */
async function loadDrawing(): Promise<Draw> {
  const [echarts, { BarChart, LineChart }, { GridComponent, LegendComponent }, { SVGRenderer }] = await Promise.all(
    ['core', 'charts', 'components', 'renderers'].map((part) => import(`echarts/${part}`)),
  );
  echarts.use([BarChart, LineChart, GridComponent, LegendComponent, SVGRenderer]);
  return (options) => {
    const drawing = echarts.init(null, null, { renderer: 'svg', ssr: true, ...drawnSize });
    drawing.setOption(options);
    const svg = drawing.renderToSVGString({ useViewBox: true });
    drawing.dispose();
    // The content security policy blocks inline styles; the fonts come from the page's style sheet.
    return trusted(svg.replace(/<style[\s\S]*?<\/style>| style="[^"]*"/g, ''));
  };
}

/** The figures as a table, newest day first. */
function table(title: string, { columns, days }: Figures): Html {
  return html`<div class="table" tabindex="0" role="region" aria-label="Figures: ${title}"><table><caption>${title} by day</caption>
<thead><tr><th scope="col">Day</th>${columns.map(({ name, unit }) => html`<th scope="col" class="number">${name}${unit === 'percent' && ' %'}</th>`)}</tr></thead>
<tbody>${days
    .toReversed()
    .map(
      ({ date, values }) =>
        html`<tr><th scope="row">${dayName(date)}</th>${values.map(
          (value, at) => html`<td class="number">${formatValue(value, columns[at]?.unit ?? 'count')}</td>`,
        )}</tr>`,
    )}</tbody></table></div>`;
}

const require = createRequire(import.meta.url);
/** The published browser build of Apache ECharts. */
export const libraryFile = () => require.resolve('echarts/dist/echarts.min.js');
const libraryPath = () => `/reports/echarts.js?v=${require('echarts/package.json').version}`;

/** Browser script: renders each chart again, with tooltips, legend and zoom. */
export const chartsScript = `${browserSource}
for (const figure of document.querySelectorAll('figure')) {
  const place = figure.querySelector('.chart');
  place.replaceChildren();
  const drawing = echarts.init(place, null, { renderer: 'svg' });
  drawing.setOption(chartOptions(JSON.parse(figure.dataset.chart), JSON.parse(figure.dataset.figures), true));
  const resize = () => drawing.resize();
  new ResizeObserver(resize).observe(place);
  addEventListener('beforeprint', resize);
}
`;
export const chartsPath = `/reports/charts.js?v=${createHash('sha256').update(chartsScript).digest('hex').slice(0, 16)}`;

function frame(title: string, content: Html): string {
  return documentOf({
    title,
    style,
    head: html`<script src="${libraryPath()}" defer></script><script src="${chartsPath}" type="module"></script>`,
    header: html`<header class="top"><strong>Trunkline</strong><nav aria-label="Pages"><a href="/">Status</a><a href="/reports" aria-current="page">Reports</a><a href="/queues">Queues</a></nav></header>`,
    content,
  });
}

/** The inline style sheet of the reports. The content security policy contains its hash. */
export const style = `
${palette}
:root { --second: #9db8cf; --fair: #d9b36c; --worse: #8b7fa8; }
@media (prefers-color-scheme: dark) { :root { --second: #587891; --fair: #a98546; --worse: #8f84b0; } }
* { box-sizing: border-box; margin: 0; }
body { font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; color: var(--ink); background: var(--paper);
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; overflow-wrap: anywhere; }
.top, main { max-width: 1120px; margin: 0 auto; padding: 0 24px; }
.top, .head, .card header { display: flex; align-items: baseline; justify-content: space-between; gap: 8px 24px; flex-wrap: wrap; }
.top { padding-top: 28px; }
nav { display: flex; gap: 20px; }
a { color: var(--soft); text-decoration: none; border-radius: 4px; }
a:hover, a:focus-visible { color: var(--ink); text-decoration: underline; text-underline-offset: 3px; }
a:focus-visible, summary:focus-visible, .table:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
a[aria-current] { color: var(--ink); }
h1 { font-size: clamp(21px, 3.4vw, 29px); line-height: 1.28; font-weight: 600; letter-spacing: -.015em; text-wrap: balance; }
h2 { font-size: 13px; font-weight: 600; color: var(--soft); }
h3 { font-size: 12px; font-weight: 400; color: var(--soft); margin-bottom: 12px; }
.head { padding: 40px 0 26px; align-items: center; }
.periods { gap: 2px; padding: 3px; background: var(--track); border-radius: 9px; font-size: 13px; }
.periods a { padding: 4px 13px; border-radius: 6px; }
.periods a:hover { text-decoration: none; }
.periods a[aria-current] { background: var(--card); box-shadow: 0 1px 2px rgb(0 0 0 / .09); }
.pictures { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 12px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px 16px; margin-bottom: 12px; min-width: 0; }
#volume, #cost { grid-column: 1 / -1; }
#volume, #cost { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 32px; }
#volume > *, #cost > * { grid-column: 1 / -1; } #volume > figure, #cost > figure { grid-column: auto; }
.csv { font-size: 12px; letter-spacing: .03em; }
.sentence { font-size: 18px; line-height: 1.38; font-weight: 600; letter-spacing: -.01em; margin: 6px 0 18px; text-wrap: pretty; }
.empty, .unknown { margin-top: 8px; color: var(--soft); } .unknown { color: var(--warning); }
.chart { height: 210px; }
.chart svg { display: block; width: 100%; height: 100%; } .chart text { font: 11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; font-variant-numeric: tabular-nums; }
.note { font-size: 13px; color: var(--soft); margin-top: 12px; text-wrap: pretty; }
details { margin-top: 10px; font-size: 13px; } summary { color: var(--soft); cursor: pointer; width: fit-content; border-radius: 4px; } summary:hover { color: var(--ink); }
.table { max-height: 320px; overflow: auto; margin-top: 8px; overflow-wrap: normal; }
table { width: 100%; border-collapse: collapse; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
td, th { padding: 5px 0 5px 14px; text-align: left; font-weight: 400; vertical-align: bottom; border-top: 1px solid var(--line); }
tr > :first-child { padding-left: 0; white-space: nowrap; }
thead th { color: var(--soft); font-size: 12px; line-height: 1.3; border-top: 0; position: sticky; top: 0; background: var(--card); }
.number { text-align: right; } td.number { white-space: nowrap; }
code { font: 12.5px/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }
footer { display: flex; flex-wrap: wrap; gap: 4px 20px; padding: 16px 0 40px; font-size: 13px; color: var(--soft); }
@media (max-width: 820px) { .pictures { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 620px) { #volume > figure, #cost > figure { grid-column: 1 / -1; } figure + figure { margin-top: 20px; } }
@media screen and (min-width: 821px) { .card:not(#volume, #cost) { display: grid; grid-template-rows: subgrid; grid-row: span 5; align-content: start; } }
@media (max-width: 520px) {
  .top, main { padding-left: 16px; padding-right: 16px; } .head { padding: 26px 0 18px; } .card { padding: 15px 15px 14px; margin-bottom: 8px; } .sentence { font-size: 17px; } .chart { height: 190px; } .periods { width: 100%; } .periods a { flex: 1; text-align: center; padding: 6px 0; }
}
@media print {
  @page { size: A4; margin: 14mm; }
  :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #111; --soft: #555; --line: #ddd; --track: #eee; --ok: #2c8a5a; --problem: #bd3b2f;
    --quiet: #b9b5ab; --accent: #33658f; --second: #9db8cf; --fair: #d9b36c; --worse: #8b7fa8; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10pt; } .top, main { max-width: none; padding: 0; } nav, .csv, details { display: none; }
  .head { padding: 10px 0 12px; } .pictures { display: block; columns: 2; column-gap: 10px; } #volume, #cost { column-span: all; } #cost { margin-top: 10px; }
  .card { break-inside: avoid; margin-bottom: 10px; padding: 12px 14px; } .sentence { font-size: 12pt; margin-bottom: 10px; } .note { font-size: 8.5pt; margin-top: 8px; }
  .chart { height: 140px; } footer { padding: 6px 0 0; font-size: 8.5pt; }
}
`;
