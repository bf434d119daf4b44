import { exactly } from '../../ops/format.ts';
import { adviceOf } from '../../ops/health-checks/check.ts';
import { reportFindings } from '../../ops/health-checks/reporting.ts';
import { known } from '../../ops/snapshot.ts';
import { commandName } from '../../shared/command-name.ts';
import { dayField, type Html, html, select, trusted } from '../html.ts';
import { countWords, csvLink, renderPager, renderRows, type ShownRows } from '../row-list.ts';
import {
  type Chart,
  type Column,
  chartOptions,
  dayName,
  describeChart,
  drawnSize,
  type Figures,
  formatValue,
  stateNames,
} from './charts.ts';
import {
  type Choice,
  choiceOf,
  daysBetween,
  type Filter,
  filterNames,
  finishedPart,
  periodBefore,
  presets,
  queryOf,
} from './choice.ts';
import { chartsOf, type Headline, isEmpty, type Picture, wholeOf } from './figures.ts';
import { frame } from './frame.ts';
import type { Freshness, Option } from './freshness.ts';
import { rowSetOf } from './pictures.ts';
import type { Drawn, Report } from './report.ts';
import { followed } from './rows.ts';

/** The report page of a choice. Complete without JavaScript. Made for screens, phones and paper. */
export async function renderReport(report: Report): Promise<string> {
  const { choice, takenAt, timeZone, today, drawn } = report;
  const draw = await loadDrawing();
  const title = titleOf(choice, today);
  return frame(
    title,
    html`<div class="head"><h1>${title}</h1>${presetLinks(choice, today)}</div>
${form(report)}
${latenessWords(report)}
${headlines(report)}
${isNothing(report) && nothing(choice)}
<div class="pictures">${drawn.map((each) => card(each, report, draw))}</div>
<footer><span><time datetime="${takenAt.toISOString()}">${exactly(takenAt, timeZone)}</time></span>
<span>local days of ${timeZone}; a day that is not over is pale, and lines end before it; a bar, a point or a figure opens the rows behind it</span><span>definitions: <code>reporting</code> in the database</span></footer>`,
  );
}

/** What is missing in the figures, and what to do: the health checks of the reports. */
function latenessWords({ lateness, takenAt }: Report): Html {
  if (lateness.state === 'unknown')
    return html`<p class="limit">Whether the figures are up to date could not be read: ${lateness.reason}</p>`;
  return html`${reportFindings({ reporting: lateness, takenAt }).map(
    (each) => html`<p class="limit" data-check="${each.check}">${each.sentence} ${adviceOf(each)}</p>`,
  )}`;
}

function titleOf({ from, to }: Choice, today: string): string {
  if (to !== today) return rangeName(from, to);
  return from === today ? 'Today' : `The last ${daysBetween(from, to)} days`;
}

/** `1 – 21 Nov 2026`, without repeating what both ends share. */
function rangeName(from: string, to: string): string {
  const parts = (day: string) => [Number(day.slice(8)), dayName(day).split(' ')[2], day.slice(0, 4)];
  const [first, last] = [parts(from), parts(to)];
  if (from === to) return `${dayName(to)} ${to.slice(0, 4)}`;
  if (first[2] !== last[2]) return `${first.join(' ')} – ${last.join(' ')}`;
  return `${first.slice(0, first[1] === last[1] ? 1 : 2).join(' ')} – ${last.join(' ')}`;
}

function presetLinks(choice: Choice, today: string): Html {
  const filters = new URLSearchParams(choice.filters).toString();
  return html`<nav class="periods" aria-label="Period">${presets.map(({ name, query }) => {
    const preset = choiceOf(Object.fromEntries(new URLSearchParams(query)), today);
    const isChosen = preset.from === choice.from && preset.to === choice.to;
    return html`<a href="/reports?${query}${filters && `&${filters}`}"${isChosen && html` aria-current="page"`}>${name}</a>`;
  })}</nav>`;
}

const filterWords: Readonly<Record<Filter, { readonly name: string; readonly all: string }>> = {
  number: { name: 'Number', all: 'All numbers' },
  queue: { name: 'Queue', all: 'All queues' },
  agent: { name: 'Agent', all: 'All agents' },
  reached: { name: 'Callers', all: 'All callers' },
};

function form({ choice, today, options }: Report): Html {
  const { from, to, filters } = choice;
  const limits = html` max="${today}" required`;
  return html`<form class="filters" action="/reports" aria-label="What the report is about">
${dayField('from', from, limits)}${dayField('to', to, limits)}
${filterNames.map((name) => filterField(name, filters[name], known(options, [])))}
<button>Show</button>${Object.keys(filters).length > 0 && html`<a class="link" href="/reports?from=${from}&amp;to=${to}">Clear filters</a>`}
</form>`;
}

function filterField(filter: Filter, chosen: string | undefined, options: readonly Option[]): Html {
  const own = options.flatMap((each) => (each.filter === filter ? [[each.value, each.name] as const] : []));
  const isKnown = chosen === undefined || own.some(([value]) => value === chosen);
  const unknown = isKnown ? [] : [[chosen, `${chosen} (not known)`] as const];
  const { name, all } = filterWords[filter];
  return select(filter, name, chosen, [['', all], ...unknown, ...own]);
}

/** The filters of a choice in words: `Queue: Support`. */
function filtersInWords({ filters }: Choice, options: readonly Option[]): string[] {
  return filterNames.flatMap((name) => {
    const value = filters[name];
    if (value === undefined) return [];
    const option = options.find((each) => each.filter === name && each.value === value);
    return [`${filterWords[name].name}: ${option?.name ?? value}`];
  });
}

/** The URL of the rows behind a figure, without filters that don't apply to them. */
function linkOf(rows: string, choice: Choice): string {
  return `/reports/rows?${rows}&${queryOf(followedBy(rows, choice))}`;
}

function followedBy(rows: string, choice: Choice): Choice {
  const set = rowSetOf(new URLSearchParams(rows).get('set'));
  return set ? followed(set.table, choice) : choice;
}

/** The filters of a choice that a figure ignores. */
function ignored(rows: string, choice: Choice): Filter[] {
  const own = followedBy(rows, choice).filters;
  return filterNames.filter((name) => choice.filters[name] !== undefined && own[name] === undefined);
}

function headlines({ choice, today, drawn }: Report): Html {
  const over = finishedPart(choice, today);
  const items = drawn.flatMap(({ figures, headlines }) => {
    const days = figures.state === 'known' ? figures.value.days : [];
    return (headlines?.now ?? []).map((now, at) => {
      const isFinal = days.every(({ state }) => state === undefined || (state === 'rising' && now.isFinal));
      const compared = over && comparedWords(over, now, headlines?.over?.[at], headlines?.before?.[at]);
      return headlineItem(now, choice, isFinal, compared);
    });
  });
  if (items.length === 0) return html``;
  return html`<section class="headlines" aria-labelledby="headlines-h"><h2 id="headlines-h">${comparison(choice, over)}</h2><ul>${items}</ul></section>`;
}

function comparison(choice: Choice, over: Choice | undefined): string {
  if (!over) return 'Today is not over: nothing to compare yet';
  const before = periodBefore(over);
  const ranges = `${rangeName(over.from, over.to)} beside ${rangeName(before.from, before.to)}`;
  return over === choice ? ranges : `Changes: ${ranges}. Today is not over and is left out of them.`;
}

function headlineItem(headline: Headline, choice: Choice, isFinal: boolean, compared: Html | undefined): Html {
  const { name, value, unit, rows, more } = headline;
  const tags = [
    ...(isFinal || value === null ? [] : [unit === 'count' && more !== 'bad' ? 'still rising' : 'not final']),
    ...ignored(rows, choice).map((filter) => filterWords[filter].all.toLowerCase()),
  ];
  return html`<li><h3>${name}</h3>
<a class="value" href="${linkOf(rows, choice)}" aria-label="${name}: ${formatValue(value, unit)}. Rows behind it">${formatValue(value, unit)}</a>
${compared}${tags.length > 0 && html`<p>${tags.map((tag) => html`<span class="tag">${tag}</span> `)}</p>`}</li>`;
}

function comparedWords(
  over: Choice,
  { unit, rows, more }: Headline,
  now: Headline | undefined,
  before: Headline | undefined,
): Html {
  if (!now || !before) return html`<p class="change">The period before could not be read.</p>`;
  const { text, direction } = changeOf(now.value, before.value, unit);
  const tone = direction === 0 || more === undefined ? '' : direction > 0 === (more === 'good') ? ' ok' : ' problem';
  const link = ({ value }: Headline, of: Choice) => html`<a href="${linkOf(rows, of)}">${formatValue(value, unit)}</a>`;
  if (before.value === null) return html`<p class="change">Nothing to compare before.</p>`;
  return html`<p class="change">${text && html`<b class="delta${tone}">${text}</b>, `}from ${link(before, periodBefore(over))} to ${link(now, over)}</p>`;
}

/** A change in percent, or of a share in percentage points, with its sign. */
function changeOf(
  now: number | null,
  before: number | null,
  unit: Headline['unit'],
): { text: string; direction: number } {
  if (now === null || before === null || (before === 0 && unit !== 'percent')) return { text: '', direction: 0 };
  const exact = unit === 'percent' ? now - before : (100 * (now - before)) / before;
  const rounded = Math.round(exact * 10) / 10;
  const size = Math.abs(rounded).toLocaleString('en');
  const name = unit === 'percent' ? (size === '1' ? 'point' : 'points') : '%';
  const sign = rounded > 0 ? '+' : rounded < 0 ? '−' : '±';
  return { text: `${sign}${size}\u00a0${name}`, direction: Math.sign(rounded) };
}

function isNothing({ drawn }: Report): boolean {
  return drawn.every(({ figures }) => figures.state === 'known' && isEmpty(figures.value));
}

function nothing(choice: Choice): Html {
  return Object.keys(choice.filters).length > 0
    ? html`<p class="hint">Nothing of this time fits these filters. <a class="link" href="/reports?from=${choice.from}&amp;to=${choice.to}">Show all numbers, queues and agents</a></p>`
    : html`<p class="hint">Nothing is held of this time. New calls and texts appear within half a minute; <code>${commandName} backfill</code> reads older ones. <a class="link" href="/">Status</a></p>`;
}

function card({ picture, figures }: Drawn, report: Report, draw: Draw): Html {
  const { name, title } = picture;
  const { choice } = report;
  return html`<section class="card" id="${name}" aria-labelledby="${name}-h">
<header><h2 id="${name}-h">${title}</h2><a class="csv" href="/reports/${name}.csv?${queryOf(choice)}" download="${fileName(name, choice)}.csv" aria-label="${title} as CSV">CSV</a></header>
${figures.state === 'known' ? content(picture, figures.value, report, draw) : html`<p class="unknown">This could not be read: ${figures.reason}. A shorter range may help.</p>`}
</section>`;
}

/** The name of a downloaded file, without its extension. */
export function fileName(name: string, { from, to }: Choice): string {
  return `${name}-${from}-to-${to}`;
}

function content(picture: Picture, figures: Figures, report: Report, draw: Draw): Html {
  const { choice } = report;
  const limits = html`<div class="limits">${ignoredWords(figures.columns, choice).map((words) => html`<p class="limit">${words}</p>`)}</div>`;
  if (isEmpty(figures)) return html`<p class="empty">${picture.emptiness}</p>${limits}`;
  return html`<p class="sentence">${picture.sentence(figures)}</p>
${limits}
${chartsOf(picture, figures).map((chart) => figureOf(picture.title, chart, figures, choice, draw))}
<div class="notes">${risingWords(picture, figures, report)}
<p class="note">${picture.note(figures)}</p>
<details><summary>Figures</summary>${table(picture.title, figures, choice)}</details></div>`;
}

/** The filters that a picture ignores, and why. */
function ignoredWords(columns: readonly Column[], choice: Choice): string[] {
  const counted = columns.flatMap(({ name, rows }) => (rows === undefined ? [] : [{ name, rows }]));
  return filterNames.flatMap((filter) => {
    const without = counted.filter(({ rows }) => ignored(rows, choice).includes(filter));
    const [first] = without;
    if (!first) return [];
    const why = rowSetOf(new URLSearchParams(first.rows).get('set'))?.table.filters[filter];
    const what = without.length < counted.length ? `${[...new Set(without.map(({ name }) => name))].join(', ')}: ` : '';
    return [`${what}${filterWords[filter].all.toLowerCase()}, since ${String(why)}.`];
  });
}

/** Until when the calls of a picture are complete, and which of its figures can still rise. */
function risingWords({ rising }: Picture, figures: Figures, { freshness, timeZone }: Report): Html {
  if (rising === 'nothing') return html``;
  if (freshness.state !== 'known')
    return html`<p class="note">Whether the calls are complete could not be read: ${freshness.reason}</p>`;
  const isShaded = figures.days.some(({ state }) => state === 'rising');
  const returns =
    rising === 'returns' && `Missed calls since ${dayName(freshness.value.returnsFrom)} may still be returned.`;
  return html`<p class="note">${isShaded && html`<span class="swatch" aria-hidden="true"></span>Shaded: still rising. `}${completeWords(freshness.value, timeZone)} ${returns}</p>`;
}

function completeWords(
  { completeUntil, isComplete, provenHours, rollupsWaitSince }: Freshness,
  timeZone: string,
): string {
  const parts = { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const;
  const time = (moment: Date) => moment.toLocaleString('en-GB', { timeZone, ...parts });
  const held = isComplete
    ? 'Calls are complete: every hour was compared with the service.'
    : completeUntil
      ? `Calls are complete until ${time(completeUntil)}.`
      : provenHours > 0
        ? 'Calls of the shaded days are not proven complete.'
        : 'Calls of this time were not compared with the service yet.';
  return rollupsWaitSince ? `${held} Changes since ${time(rollupsWaitSince)} are being counted.` : held;
}

function figureOf(title: string, chart: Chart, figures: Figures, choice: Choice, draw: Draw): Html {
  const name = chart.title ? `${title}: ${chart.title}` : title;
  const links = figures.columns.flatMap(({ key, rows }) => {
    if (rows === undefined) return [];
    const filters = new URLSearchParams(followedBy(rows, choice).filters).toString();
    return [[key, `/reports/rows?${rows}${filters && `&${filters}`}`] as const];
  });
  return html`<figure data-chart="${JSON.stringify(chart)}" data-figures="${JSON.stringify(figures)}" data-links="${JSON.stringify(Object.fromEntries(links))}">
${chart.title && html`<h3>${chart.title}</h3>`}
<div class="chart" role="img" aria-label="${name}. ${describeChart(chart, figures)}">${draw(chartOptions(chart, figures))}</div>
</figure>`;
}

type Draw = (options: object) => Html;

/** Loaded at the first report, to save memory in receivers that render none. */
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
    // The content security policy blocks inline styles. The fonts come from the page's style sheet.
    return trusted(svg.replace(/<style[\s\S]*?<\/style>| style="[^"]*"/g, ''));
  };
}

/** The figures as a table, newest day first. Each links to the rows behind it. */
function table(title: string, figures: Figures, choice: Choice): Html {
  const { columns, days } = figures;
  const cell = (value: number | null, { rows, unit }: Column, of: Choice) => {
    const text = formatValue(value, unit);
    return html`<td class="number">${rows === undefined || !value ? text : html`<a href="${linkOf(rows, of)}">${text}</a>`}</td>`;
  };
  return html`<div class="table" tabindex="0" role="region" aria-label="Figures: ${title}"><table><caption>${title} by day</caption>
<thead><tr><th scope="col">Day</th>${columns.map(({ name, unit }) => html`<th scope="col" class="number">${name}${unit === 'percent' && ' %'}</th>`)}</tr></thead>
<tbody><tr class="whole"><th scope="row">All days</th>${columns.map((column) =>
    column.unit === 'count' || column.unit === 'dollars'
      ? cell(wholeOf(figures, column.key), column, choice)
      : html`<td></td>`,
  )}</tr>${days
    .toReversed()
    .map(
      ({ date, values, state }) =>
        html`<tr><th scope="row">${dayName(date)}${stateNames[state ?? 'over']}</th>${values.map((value, at) =>
          cell(value, columns[at] ?? { key: '', name: '', unit: 'count' }, { ...choice, from: date, to: date }),
        )}</tr>`,
    )}</tbody></table></div>`;
}

/** One page of the rows behind a figure. */
export function renderRowsPage(shown: ShownRows, choice: Choice, options: readonly Option[]): string {
  const { title, list, total } = shown;
  const about = [rangeName(choice.from, choice.to), ...filtersInWords(choice, options)].join(' · ');
  return frame(
    title,
    html`<div class="head"><h1>${title}</h1>${csvLink(shown)}</div>
<p class="about">${about} · ${countWords(total)} · <a class="link" href="/reports?${queryOf(choice)}">Report</a></p>
${list.rows.length === 0 ? html`<p class="hint">No such rows. A figure that was counted a moment ago may have changed since: open the report again.</p>` : renderRows({ title: `${title}, newest first`, list })}
${renderPager(shown)}`,
    false,
  );
}
