import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { documentOf, type Html, html, readAssets } from '../html.ts';
import { browserSource } from './charts.ts';

const require = createRequire(import.meta.url);
/** The published browser build of Apache ECharts. */
export const libraryFile = () => require.resolve('echarts/dist/echarts.min.js');
const libraryPath = () => `/reports/echarts.js?v=${require('echarts/package.json').version}`;

export const style = readAssets('page.css', 'rows.css', 'reports/reports.css');

/** The browser script of charts. */
export const chartsScript = `${browserSource}\n${readAssets('reports/draw.js')}`;
const chartsPath = `/reports/charts.js?v=${createHash('sha256').update(chartsScript).digest('hex').slice(0, 16)}`;

/** A page of the reports. */
export function frame(title: string, content: Html, hasCharts = true): string {
  return documentOf({
    title,
    style,
    ...(hasCharts && {
      head: html`<script src="${libraryPath()}" defer></script><script src="${chartsPath}" type="module"></script>`,
    }),
    current: '/reports',
    content,
  });
}

/** A page of one sentence, for example why a report can't be read. */
export function renderOutage(sentence: string): string {
  return frame(
    sentence,
    html`<div class="head"><h1>${sentence}</h1></div><p class="soft"><a class="link" href="/reports">The last 30 days, of everything</a></p>`,
    false,
  );
}
