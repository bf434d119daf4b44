import { documentOf } from '../page/document.ts';
import { type Html, html } from '../page/html.ts';
import { exactly } from '../words.ts';
import { drawChart } from './drawing/chart.ts';
import { type Figures, isEmpty, type Period, periods } from './picture.ts';
import type { Drawn, Report } from './pictures.ts';
import { style } from './style.ts';
import { dayName, told } from './told.ts';

/** The reports of one period: a document without script or foreign asset, for screens, phones and paper. */
export function renderReport({ period, takenAt, timeZone, drawn }: Report): string {
  return frame(
    `The last ${period} days`,
    html`<div class="head"><h1>The last ${period} days</h1>${choice(period)}</div>
<div class="pictures">${drawn.map((each) => card(each, period))}</div>
<footer><span><time datetime="${takenAt.toISOString()}">${exactly(takenAt, timeZone)}</time></span>
<span>local days of ${timeZone}; today is not over: its columns are pale, lines end before it</span><span>definitions: <code>reporting</code> in the database</span></footer>`,
  );
}

/** The page while there is nothing to tell but one sentence. */
export function renderReportOutage(sentence: string): string {
  return frame(sentence, html`<div class="head"><h1>${sentence}</h1></div>`);
}

function choice(chosen: Period): Html {
  return html`<nav class="periods" aria-label="Period">${periods.map(
    (days) => html`<a href="/reports?days=${days}"${days === chosen && html` aria-current="page"`}>${days} days</a>`,
  )}</nav>`;
}

function card({ picture, figures }: Drawn, period: Period): Html {
  const { name, title } = picture;
  return html`<section class="card" id="${name}" aria-labelledby="${name}-h">
<header><h2 id="${name}-h">${title}</h2><a class="csv" href="/reports/${name}.csv?days=${period}" download="${name}-${period}-days.csv" aria-label="${title} as CSV">CSV</a></header>
${figures.state === 'known' ? content(picture, figures.value) : html`<p class="unknown">This could not be read: ${figures.reason}</p>`}
</section>`;
}

function content(picture: Drawn['picture'], figures: Figures): Html {
  if (isEmpty(figures)) return html`<p class="empty">${picture.emptiness}</p>`;
  const { sentence, charts, note } = picture.show(figures);
  return html`<p class="sentence">${sentence}</p>
${charts.map((chart, at) => drawChart(chart, figures, { id: `${picture.name}-${at}`, title: picture.title }))}
${note && html`<p class="note">${note}</p>`}
<details><summary>Figures</summary>${table(picture.title, figures)}</details>`;
}

/** Newest first: the days that people look up. */
function table(title: string, { columns, days }: Figures): Html {
  return html`<div class="table" tabindex="0" role="region" aria-label="Figures: ${title}"><table><caption>${title} by day</caption>
<thead><tr><th scope="col">Day</th>${columns.map(({ name, unit }) => html`<th scope="col" class="number">${name}${unit === 'percent' && ' %'}</th>`)}</tr></thead>
<tbody>${days
    .toReversed()
    .map(
      ({ date, values }) =>
        html`<tr><th scope="row">${dayName(date)}</th>${values.map(
          (value, at) => html`<td class="number">${told(value, columns[at]?.unit ?? 'count')}</td>`,
        )}</tr>`,
    )}</tbody></table></div>`;
}

function frame(title: string, content: Html): string {
  return documentOf({
    title,
    style,
    header: html`<header class="top"><strong>Trunkline</strong><nav aria-label="Pages"><a href="/">Status</a><a href="/reports" aria-current="page">Reports</a><a href="/queues">Queues</a></nav></header>`,
    content,
  });
}
