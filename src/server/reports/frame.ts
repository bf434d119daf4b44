import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { documentOf, type Html, html, pageHeader, pageStyle } from '../html.ts';
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
    header: pageHeader('/reports'),
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
${pageStyle}
:root { --second: #9db8cf; --fair: #d9b36c; --worse: #8b7fa8; }
@media (prefers-color-scheme: dark) { :root { --second: #587891; --fair: #a98546; --worse: #8f84b0; } }
.periods { gap: 2px; flex-wrap: wrap; padding: 3px; background: var(--track); border-radius: 9px; font-size: 13px; }
.periods a { padding: 4px 13px; border-radius: 6px; }
.periods a:hover { text-decoration: none; }
.periods a[aria-current] { background: var(--card); box-shadow: 0 1px 2px rgb(0 0 0 / .09); }
.pictures { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 12px; }
#volume, #cost { grid-column: 1 / -1; }
#volume, #cost { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 32px; }
#volume > *, #cost > * { grid-column: 1 / -1; } #volume > figure, #cost > figure { grid-column: auto; }
.filters { grid-template-columns: repeat(2, minmax(0, 150px)) repeat(3, minmax(0, 1fr)) auto auto; }
.headlines { margin-bottom: 12px; } .headlines h2 { font-weight: 400; margin-bottom: 8px; }
.headlines ul { list-style: none; padding: 0; display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 1px; background: var(--line); border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.headlines li { background: var(--card); padding: 13px 16px 12px; min-width: 0; } .headlines h3 { margin: 0; }
.headlines .value { display: inline-block; color: var(--ink); font-size: 25px; line-height: 1.3; font-weight: 600; letter-spacing: -.02em; }
.change { font-size: 12.5px; color: var(--soft); } .change a { white-space: nowrap; text-decoration: underline dotted; text-underline-offset: 3px; } .delta { font-weight: 600; white-space: nowrap; } .delta:not(.ok, .problem) { color: var(--ink); }
.limits { margin: -12px 0 16px; } .limit { font-size: 13px; color: var(--warning); } .limit::first-letter { text-transform: uppercase; }
.swatch { display: inline-block; width: 12px; height: 12px; border-radius: 3px; background: var(--track); border: 1px solid var(--quiet); margin-right: 6px; vertical-align: -1px; }
.sentence { font-size: 18px; line-height: 1.38; font-weight: 600; letter-spacing: -.01em; margin: 6px 0 18px; text-wrap: pretty; }
.chart { height: 210px; }
.chart svg { display: block; width: 100%; height: 100%; } .chart text { font: 11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; font-variant-numeric: tabular-nums; }
@media (max-width: 820px) { .pictures { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 620px) { #volume > figure, #cost > figure { grid-column: 1 / -1; } figure + figure { margin-top: 20px; } }
@media screen and (min-width: 821px) { .card:not(#volume, #cost) { display: grid; grid-template-rows: subgrid; grid-row: span 5; align-content: start; } }
@media (max-width: 980px) { .filters { grid-template-columns: repeat(6, minmax(0, 1fr)); } .field { grid-column: span 2; } .field:nth-child(-n+2) { grid-column: span 3; } .filters :is(button, .link) { grid-column: span 3; width: fit-content; } .headlines ul { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media (max-width: 520px) {
  .sentence { font-size: 17px; } .chart { height: 190px; } .periods { width: 100%; } .periods a { flex: 1 0 30%; text-align: center; padding: 6px 0; } .field:not(:nth-child(-n+2)) { grid-column: 1 / -1; } .headlines li { padding: 11px 13px; }
}
@media print {
  :root { --second: #9db8cf; --fair: #d9b36c; --worse: #8b7fa8; }
  .pictures { display: block; columns: 2; column-gap: 10px; } #volume, #cost { column-span: all; } #cost { margin-top: 10px; } .sentence { font-size: 12pt; margin-bottom: 10px; }
  .headlines h2 { display: none; } .headlines ul { grid-template-columns: repeat(7, minmax(0, 1fr)); } .headlines li { padding: 4px 6px; } .headlines h3 { font-size: 7pt; } .headlines .value { font-size: 11pt; } .change, .headlines .tag { font-size: 6.5pt; }
  .chart { height: 125px; }
}
`;
