import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { documentOf, type Html, html, palette } from '../html.ts';
import { browserSource } from './charts.ts';

const require = createRequire(import.meta.url);
/** The published browser build of Apache ECharts. */
export const libraryFile = () => require.resolve('echarts/dist/echarts.min.js');
const libraryPath = () => `/reports/echarts.js?v=${require('echarts/package.json').version}`;

/** Browser script: renders each chart again, with tooltips, legend and zoom. A bar or a point opens the rows behind it. */
export const chartsScript = `${browserSource}
for (const figure of document.querySelectorAll('figure')) {
  const place = figure.querySelector('.chart');
  place.replaceChildren();
  const drawing = echarts.init(place, null, { renderer: 'svg' });
  const [chart, figures, links] = ['chart', 'figures', 'links'].map((name) => JSON.parse(figure.dataset[name]));
  drawing.setOption(chartOptions(chart, figures, true));
  drawing.on('click', ({ seriesIndex, dataIndex }) => {
    const link = links[chart.series[seriesIndex].key];
    const { date } = figures.days[dataIndex];
    if (link) location.assign(link + '&from=' + date + '&to=' + date);
  });
  const resize = () => drawing.resize();
  new ResizeObserver(resize).observe(place);
  addEventListener('beforeprint', resize);
}
`;
const chartsPath = `/reports/charts.js?v=${createHash('sha256').update(chartsScript).digest('hex').slice(0, 16)}`;

/** A page of the reports. */
export function frame(title: string, content: Html, hasCharts = true): string {
  return documentOf({
    title,
    style,
    ...(hasCharts && {
      head: html`<script src="${libraryPath()}" defer></script><script src="${chartsPath}" type="module"></script>`,
    }),
    header: html`<header class="top"><strong>Trunkline</strong><nav aria-label="Pages"><a href="/">Status</a><a href="/reports" aria-current="page">Reports</a><a href="/queues">Queues</a></nav></header>`,
    content,
  });
}

/** A page that is only a sentence, such as why a report cannot be read. */
export function renderOutage(sentence: string): string {
  return frame(
    sentence,
    html`<div class="head"><h1>${sentence}</h1></div><p class="soft"><a class="link" href="/reports">The last 30 days, of everything</a></p>`,
    false,
  );
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
.periods { gap: 2px; flex-wrap: wrap; padding: 3px; background: var(--track); border-radius: 9px; font-size: 13px; }
.periods a { padding: 4px 13px; border-radius: 6px; }
.periods a:hover { text-decoration: none; }
.periods a[aria-current] { background: var(--card); box-shadow: 0 1px 2px rgb(0 0 0 / .09); }
.pictures { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 12px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px 16px; margin-bottom: 12px; min-width: 0; }
#volume, #cost { grid-column: 1 / -1; }
#volume, #cost { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 32px; }
#volume > *, #cost > * { grid-column: 1 / -1; } #volume > figure, #cost > figure { grid-column: auto; }
.link { color: var(--accent); } .soft, .hint { color: var(--soft); } .hint { padding: 4px 0 22px; } .ok { color: var(--ok); } .problem { color: var(--problem); }
.filters { display: grid; grid-template-columns: repeat(2, minmax(0, 150px)) repeat(3, minmax(0, 1fr)) auto auto; gap: 10px 12px; align-items: end; padding-bottom: 22px; font-size: 13px; }
.field { display: grid; gap: 4px; color: var(--soft); min-width: 0; }
.filters input, .filters select, .filters button { font: inherit; font-size: 14px; color: var(--ink); background: var(--card); border: 1px solid var(--line); border-radius: 7px; padding: 6px 9px; height: 36px; width: 100%; min-width: 0; }
.filters button { width: auto; padding: 0 18px; background: var(--ink); color: var(--paper); border-color: var(--ink); cursor: pointer; } .filters .link { height: 36px; line-height: 36px; white-space: nowrap; }
.filters :is(input, select, button):focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.headlines { margin-bottom: 12px; } .headlines h2 { font-weight: 400; margin-bottom: 8px; }
.headlines ul { list-style: none; padding: 0; display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 1px; background: var(--line); border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.headlines li { background: var(--card); padding: 13px 16px 12px; min-width: 0; } .headlines h3 { margin: 0; }
.headlines .value { display: inline-block; color: var(--ink); font-size: 25px; line-height: 1.3; font-weight: 600; letter-spacing: -.02em; }
.change { font-size: 12.5px; color: var(--soft); } .change a { white-space: nowrap; text-decoration: underline dotted; text-underline-offset: 3px; } .delta { font-weight: 600; white-space: nowrap; } .delta:not(.ok, .problem) { color: var(--ink); }
.tag { font-size: 11px; padding: 0 6px; border-radius: 4px; background: var(--track); color: var(--soft); white-space: nowrap; }
.limits { margin: -12px 0 16px; } .limit { font-size: 13px; color: var(--warning); } .limit::first-letter { text-transform: uppercase; }
.swatch { display: inline-block; width: 12px; height: 12px; border-radius: 3px; background: var(--track); border: 1px solid var(--quiet); margin-right: 6px; vertical-align: -1px; }
td a { color: var(--ink); text-decoration: underline dotted var(--quiet); text-underline-offset: 3px; } .whole > * { font-weight: 600; }
.about { color: var(--soft); margin: -18px 0 20px; } .rows { padding: 6px 20px; overflow: auto; overflow-wrap: normal; font-size: 13.5px; } .rows td { white-space: nowrap; vertical-align: top; } .rows td.words { white-space: normal; min-width: 260px; }
.rows thead th { white-space: nowrap; }
.pager { display: flex; gap: 8px 20px; flex-wrap: wrap; justify-content: space-between; padding: 4px 0 40px; font-size: 14px; } .pager nav { gap: 16px; }
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
@media (max-width: 980px) { .filters { grid-template-columns: repeat(6, minmax(0, 1fr)); } .field { grid-column: span 2; } .field:nth-child(-n+2) { grid-column: span 3; } .filters :is(button, .link) { grid-column: span 3; width: fit-content; } .headlines ul { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media (max-width: 520px) {
  .top, main { padding-left: 16px; padding-right: 16px; } .head { padding: 26px 0 18px; } .card { padding: 15px 15px 14px; margin-bottom: 8px; } .sentence { font-size: 17px; } .chart { height: 190px; } .periods { width: 100%; } .periods a { flex: 1 0 30%; text-align: center; padding: 6px 0; } .field:not(:nth-child(-n+2)) { grid-column: 1 / -1; } .about { margin-top: -10px; } .headlines li { padding: 11px 13px; }
}
@media print {
  @page { size: A4; margin: 14mm; }
  :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #111; --soft: #555; --line: #ddd; --track: #eee; --ok: #2c8a5a; --problem: #bd3b2f;
    --quiet: #b9b5ab; --accent: #33658f; --second: #9db8cf; --fair: #d9b36c; --worse: #8b7fa8; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10pt; } .top, main { max-width: none; padding: 0; } nav, .csv, details { display: none; }
  .head { padding: 10px 0 12px; } .pictures { display: block; columns: 2; column-gap: 10px; } #volume, #cost { column-span: all; } #cost { margin-top: 10px; }
  .card { break-inside: avoid; margin-bottom: 10px; padding: 12px 14px; } .sentence { font-size: 12pt; margin-bottom: 10px; } .note { font-size: 8.5pt; margin-top: 8px; }
  .headlines h2, .tag, .filters, .pager { display: none; } .headlines ul { grid-template-columns: repeat(4, minmax(0, 1fr)); } .headlines li { padding: 6px 10px; } .headlines .value { font-size: 13pt; } .change { font-size: 8pt; }
  .chart { height: 125px; } footer { padding: 6px 0 0; font-size: 8.5pt; }
}
`;
