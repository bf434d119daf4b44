import { adviceOf, type Finding } from '../../checks/check.ts';
import { type Html, html } from '../html.ts';
import { dayField, renderPage, section, select } from '../page.ts';
import { type Row, renderTable } from '../table.ts';
import { formatValue, headingOf, number, writtenNumber } from '../words.ts';
import type { Answer, Choice, Options, Value } from './answer.ts';
import { areDays, draw, type Size, type State, stateWords } from './draw.ts';
import { type Expression, Fault, type Report, type Template } from './file.ts';
import {
  compared,
  dayAfter,
  dayName,
  daysOf,
  type Period,
  periodName,
  periodOf,
  periodTitle,
  spans,
} from './period.ts';

const maxTableRows = 200;
const wide: Size = { width: 1_060, height: 300 };
const narrow: Size = { width: 340, height: 220 };
const small: Size = { width: 330, height: 110, isSmall: true };

/** What all pages of one request have in common. */
export interface Now {
  readonly today: string;
  readonly zone: string;
  /** The first day whose calls were proven complete. Null: none. */
  readonly callsFrom: string | null;
  /** The first day with a text. Null: none. */
  readonly textsFrom: string | null;
  readonly areTextsComing: boolean;
  /** Days of the period with an hour whose calls aren't proven complete, and when the first of these begins. */
  readonly unprovenDays: readonly string[];
  readonly completeUntil: string | null;
  /** Missed calls of this day and later may still be returned. */
  readonly returnsFrom: string;
  /** What the figures lack. */
  readonly findings: readonly Finding[];
}

/** A report and its answers: of the period, of its days that are over, and of as many days before. */
export interface Told {
  readonly report: Report;
  readonly now: Answer;
  readonly over?: Answer | undefined;
  readonly past?: Answer | 'not held' | undefined;
}

/** What the page of a report needs beside its answers. */
interface Opened extends Told {
  readonly options: readonly Options[];
  /** The report that a row opens. */
  readonly target: Report | undefined;
}

/** The start page: figures, and a list of all other reports. */
export async function renderStart(
  told: readonly (readonly [Report, Told | Fault])[],
  reports: readonly Report[],
  period: Period,
  now: Now,
): Promise<string> {
  const cards = await Promise.all(told.map(([report, each]) => card(report, each, period, now)));
  const all = { isOf: { calls: true, texts: true, returns: false }, draws: [] };
  const others = reports
    .filter(({ figure }) => !figure)
    .map((report) => {
      const words = report.fault ? 'Its file has an error.' : report.question;
      const address = pathOf(report, { period, chosen: {} });
      return html`<li><a class="link" href="${address}">${report.title}</a> <span class="soft">${words}</span></li>`;
    });
  return renderPage({
    title: periodTitle(period, now.today),
    beside: spanLinks('/reports', { period, chosen: {} }, now.today),
    about: `${comparison(period, now)} ${trustWords(all, period, now)}`,
    current: '/reports',
    parts: [
      findings(now),
      html`<div class="figures">${cards}</div>`,
      section('More reports', html`<ul class="reports">${others}</ul>`),
    ],
  });
}

async function card(report: Report, told: Told | Fault, period: Period, now: Now): Promise<Html> {
  const path = pathOf(report, { period, chosen: {} });
  const title = html`<h2><a href="${path}">${report.title}</a></h2>`;
  if (told instanceof Fault)
    return html`<section class="card">${title}<p class="unknown">${told.message}</p></section>`;
  const answer = told.now;
  const [drawn] = report.draws;
  const stateOf = statesOf(report, now);
  const isRising = [...now.unprovenDays, now.returnsFrom].some((day) => day <= period.to && stateOf(day) === 'rising');
  const picture = drawn && answer.rows.length > 0 && (await draw(drawn, answer, { period, size: small, stateOf }));
  return html`<section class="card">${title}
<p class="figure"><a href="${path}">${figureOf(report, answer)}</a> <small>${report.figure?.name.toLowerCase()}${isRising && html` <span class="tag">not final</span>`}</small></p>
${changeWords(told)}
<p class="told">${sentenceOf(report, answer)}</p>
${picture && html`<div class="drawn" role="img" aria-label="${report.title}: the page of the report has the figures">${picture}</div>`}
</section>`;
}

/** The page of one report. */
export async function renderReport(told: Opened, choice: Choice, now: Now): Promise<string> {
  const { report, options, now: answer, past } = told;
  const { period } = choice;
  const sentence = sentenceOf(report, answer);
  const start = pathOf({ name: '', hasPeriod: true }, { period, chosen: {} }).replace('/?', '?');
  const csv = pathOf({ ...report, name: `${report.name}.csv` }, choice);
  return renderPage({
    title: report.title,
    current: '/reports',
    head: html`<div class="head"><div class="report"><p class="crumb"><a href="${start}">Reports</a> › ${report.title}</p><h1>${sentence ?? (report.question || report.title)}</h1></div>${report.hasPeriod ? spanLinks(`/reports/${report.name}`, choice, now.today) : html`<span class="soft">As of now</span>`}</div>`,
    parts: [
      (report.hasPeriod || options.length > 0) && form(report, choice, options, now),
      html`<p class="soft beside">${report.hasPeriod && report.says.length > 0 && pastWords(report, past, period, now)} <a class="link" href="${csv}">CSV of all rows</a></p>`,
      findings(now),
      ...(await content(told, choice, now)),
      html`<p class="note">${report.hasPeriod && trustWords(report, period, now)} ${report.about}</p>`,
      html`<details><summary>The query, for every tool</summary><pre class="words-of">${report.sql}</pre></details>`,
    ],
  });
}

async function content(told: Opened, choice: Choice, now: Now): Promise<Html[]> {
  const { report, now: answer } = told;
  if (answer.rows.length === 0) return [html`<p class="soft">Nothing of this in this time.</p>`];
  const about = { period: choice.period, stateOf: statesOf(report, now), linkOf: linksOf(told, choice) };
  const figures = await Promise.all(
    report.draws.map(async (each) => {
      const [large, slim] = await Promise.all([wide, narrow].map((size) => draw(each, answer, { ...about, size })));
      return html`<figure class="drawn" aria-label="${report.title}. The table below has the figures."><div class="wide">${large}</div><div class="narrow">${slim}</div></figure>`;
    }),
  );
  return [
    ...(figures.length > 0 ? [html`<section class="card">${figures}</section>`] : []),
    table(report, answer, about, now),
  ];
}

/** How many days a row of a report by day or by week is about. Undefined: its rows aren't about days. */
function daysOfRows({ columns: [first], rows }: Answer): number | undefined {
  if (first?.type !== 'date') return undefined;
  return areDays(rows.map((row) => row[first.name] ?? null)) ? 1 : 7;
}

/** The address behind a row: its call or thread, or the rows of its day, or of what it names. */
function linksOf({ report, target, now: answer }: Opened, { period, chosen }: Choice) {
  const count = daysOfRows(answer);
  return (row: Row): string | undefined => {
    if (row.call_id) return `/calls/${row.call_id}`;
    if (row.thread) return `/threads/${row.thread}`;
    if (!target || !report.hasPeriod) return undefined;
    const day = count && row[answer.columns[0]?.name ?? ''];
    const keys = target.choices.flatMap(({ name }) => {
      const value = row[`${name}_key`] ?? chosen[name];
      return value ? [[name, value] as const] : [];
    });
    if (!day && keys.length === 0) return undefined;
    const own = day ? { from: day < period.from ? period.from : day, to: dayAfter(day, count - 1) } : period;
    return pathOf(target, { period: own, chosen: Object.fromEntries(keys) });
  };
}

/** Whether a day, or one of several days from it on, isn't over or can still rise. */
function statesOf({ isOf }: Report, { today, unprovenDays, returnsFrom }: Now) {
  return (day: string, count = 1): State => {
    const last = dayAfter(day, count - 1);
    if (day <= today && today <= last) return 'open';
    if (isOf.returns && last >= returnsFrom) return 'rising';
    return isOf.calls && unprovenDays.some((each) => day <= each && each <= last) ? 'rising' : 'over';
  };
}

/** The rows, newest day first, without the days before anything was held. */
function table(
  report: Report,
  answer: Answer,
  { stateOf, linkOf }: { stateOf: (day: string, count?: number) => State; linkOf: (row: Row) => string | undefined },
  now: Now,
): Html {
  const { columns, rows, isCut } = answer;
  const count = daysOfRows(answer);
  const day = count && columns[0]?.name;
  const from = heldFrom(report, now) ?? '';
  const held = day ? rows.filter((row) => from <= dayAfter(row[day] ?? '', count - 1)).toReversed() : rows;
  const shown = held.slice(0, maxTableRows);
  const dates = columns.filter(({ type }) => type === 'date').map(({ name }) => name);
  const show = (name: string) => (value: string) =>
    `${dayName(value)}${name === day ? stateWords[stateOf(value, count)] : ''}`;
  const options = {
    show: Object.fromEntries(dates.map((name) => [name, show(name)])),
    opens: linkOf,
  };
  return html`${renderTable(report.title, { columns, rows: shown }, options, now.zone)}
${(isCut || shown.length < held.length) && html`<p class="note">The first ${shown.length} rows; the CSV has more.</p>`}`;
}

/**
 * A template filled with its values. After the value 1, `[call|calls]` becomes `call`. Undefined if no value is known.
 */
function filled(template: Template, values: readonly Value[]): string | undefined {
  const left = values.values();
  let isOne = false;
  const parts = template.map((part) => {
    if (typeof part === 'string') return part.replace(/\[([^|\]]*)\|([^\]]*)\]/g, isOne ? '$1' : '$2');
    const value = left.next().value;
    isOne = value?.text === '1';
    return wordOf(part, value);
  });
  return values.every(({ text }) => text === null) ? undefined : parts.join('');
}

function wordOf({ unit }: Expression, { text, isNumber }: Value = { text: null, isNumber: false }): string {
  if (text === null || !isNumber) return text ?? '–';
  return unit === '' ? writtenNumber(text, '') : formatValue(Number(text), unit);
}

const nothing = 'Nothing of this in this time.';

function sentenceOf({ says }: Report, { said }: Answer): string | undefined {
  return says.length === 0 ? undefined : (filled(says, said) ?? nothing);
}

function figureOf({ figure }: Report, { figure: value }: Answer): string {
  return figure ? wordOf(figure, value) : '–';
}

/** What changed since the period before: in percent, or a share in points. */
function changeWords({ report, over, past }: Told): Html {
  if (past === 'not held') return html`<p class="note">The period before is not held.</p>`;
  if (!past || !over) return html`<p class="note">Nothing to compare yet.</p>`;
  const [now, then] = [over.figure?.text, past.figure?.text];
  if (now == null || then == null) return html`<p class="note">Nothing to compare before.</p>`;
  const more = report.figure?.more;
  const isShare = report.figure?.unit === '%';
  const exact = isShare ? Number(now) - Number(then) : (100 * (Number(now) - Number(then))) / Number(then);
  const change = Math.round(10 * exact) / 10;
  const tone = change === 0 || !more ? '' : change > 0 === (more === 'good') ? 'ok' : 'problem';
  const size = `${change > 0 ? '+' : change < 0 ? '−' : '±'}${number(Math.abs(change))}\u00a0${isShare ? 'points' : '%'}`;
  return html`<p class="note">${Number.isFinite(change) && html`<b class="${tone}">${size}</b>, `}now ${figureOf(report, over)}, before ${figureOf(report, past)}</p>`;
}

const onlyToday = 'Today is not over: nothing to compare yet.';

function comparison(period: Period, { today }: Now): string {
  const both = compared(period, today);
  if (!both) return onlyToday;
  const left = both.over.to === period.to ? '' : ' Today is not over and is left out of them.';
  return `Changes: ${periodName(both.over)} beside ${periodName(both.past)}.${left}`;
}

function pastWords(report: Report, past: Told['past'], period: Period, now: Now): string {
  const both = compared(period, now.today);
  if (!both) return onlyToday;
  const count = daysOf(both.past);
  const name = `The ${count === 1 ? 'day' : `${count} days`} before, ${periodName(both.past)}:`;
  return `${name} ${!past || past === 'not held' ? 'not held.' : sentenceOf(report, past)?.replace(nothing, 'nothing.')}`;
}

/**
 * The first day whose calls or texts, as the report counts them, are held. Null: none. Undefined: it counts neither.
 */
export function heldFrom({ isOf }: Pick<Report, 'isOf'>, { callsFrom, textsFrom }: Now): string | null | undefined {
  const firsts = [...(isOf.calls ? [callsFrom] : []), ...(isOf.texts ? [textsFrom] : [])];
  return firsts.includes(null) ? null : firsts.toSorted().at(-1);
}

/** Since when and until when what a report counts is held. */
function trustWords({ isOf, draws }: Pick<Report, 'isOf' | 'draws'>, { from }: Period, now: Now): string {
  const { today, callsFrom, textsFrom, completeUntil, unprovenDays, returnsFrom, areTextsComing } = now;
  const isProving = unprovenDays.some((day) => day < today);
  const isCut = (first: string | null) => first === null || from < first;
  const before = (what: string, first: string | null) =>
    first === null ? `No ${what} are held yet.` : `No ${what} are held before ${dayName(first)}.`;
  return [
    isOf.calls && isCut(callsFrom) && before('calls', callsFrom),
    isOf.calls && callsFrom && (completeUntil ? `Calls are complete until ${completeUntil}.` : 'Calls are complete.'),
    isOf.returns && `Missed calls since ${dayName(returnsFrom)} may still be returned.`,
    draws.length > 0 && (isOf.returns || (isOf.calls && isProving)) && 'Shaded days can still rise.',
    isOf.texts && isCut(textsFrom) && before('texts', textsFrom),
    isOf.texts && areTextsComing && 'The history of texts is still being read.',
  ]
    .filter(Boolean)
    .join(' ');
}

/** What the figures lack, and what to do: the health checks of the reports. */
function findings({ findings: found }: Now): Html {
  return html`${found.map((each) => html`<p class="warning" data-check="${each.check}">${each.sentence} ${adviceOf(each)}</p>`)}`;
}

function pathOf({ name, hasPeriod }: Pick<Report, 'name' | 'hasPeriod'>, { period, chosen }: Choice): string {
  const query = new URLSearchParams({ ...(hasPeriod && { ...period }), ...chosen }).toString();
  return `/reports/${name}${query && `?${query}`}`;
}

function spanLinks(path: string, { period, chosen }: Choice, today: string): Html {
  const more = new URLSearchParams(chosen).toString();
  return html`<nav class="periods" aria-label="Period">${Object.entries(spans).map(([name, query]) => {
    const own = periodOf(Object.fromEntries(new URLSearchParams(query)), today);
    const isChosen = own.from === period.from && own.to === period.to;
    return html`<a href="${path}?${query}${more && `&${more}`}"${isChosen && html` aria-current="page"`}>${name}</a>`;
  })}</nav>`;
}

function form(report: Report, { period, chosen }: Choice, options: readonly Options[], { today }: Now): Html {
  const limits = html` max="${today}" required`;
  const fields = options.map(({ name, options: own }) => {
    const value = chosen[name] ?? '';
    const all = [['', 'All'] as const, ...own];
    const isKnown = all.some(([known]) => known === value);
    return select(name, headingOf(name), value, isKnown ? all : [...all, [value, value]]);
  });
  return html`<form class="filters" action="/reports/${report.name}" aria-label="What the report is about">
${report.hasPeriod && html`${dayField('from', period.from, limits)}${dayField('to', period.to, limits)}`}
${fields}<button>Show</button></form>`;
}
