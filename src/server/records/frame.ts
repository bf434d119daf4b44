import { countOf, toTheSecond } from '../../ops/format.ts';
import type { Trace } from '../../ops/trace.ts';
import { documentOf, type Html, html, readAssets } from '../html.ts';
import { pathIn, type View } from './view.ts';

export const style = readAssets('page.css', 'rows.css', 'records/records.css');

/** A page about rows: a list, or one record. */
export interface RecordPage {
  readonly title: string;
  /** The path of its entry in the header. */
  readonly current: string;
  readonly content: Html;
  /** The links of the header keep its time zone. */
  readonly view?: View;
}

/** The pages of the header that take a time zone from their address. */
const zonedPages: readonly string[] = ['/deliveries', '/targets', '/coverage', '/rules', '/sends'];

/** A page that refreshes itself. Its direct parts are replaced one by one, so each card is one element of `content`. */
export function frame({ title, current, content, view }: RecordPage): string {
  const pathOf = (path: string) => (view && zonedPages.includes(path) ? pathIn(view, path) : path);
  return documentOf({ title, style, current, pathOf, content, isLive: true });
}

/** A page that is only a sentence, such as why something cannot be read. */
export function renderOutage(sentence: string): string {
  return frame({
    title: sentence,
    current: '',
    content: html`<div class="head"><h1>${sentence}</h1></div><p class="soft"><a class="link" href="/">Status</a></p>`,
  });
}

/** The names and values of a record; those without a value are left out. */
export function facts(
  pairs: readonly (readonly [name: string, value: Html | string | number | null | undefined | false])[],
): Html {
  const given = pairs.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '');
  return html`<dl class="facts">${given.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A card with a heading. */
export function section(title: string, content: Html, id?: string): Html {
  return html`<section class="card"${id && html` id="${id}"`}><h2>${title}</h2>${content}</section>`;
}

/** What an action asks before it is done. */
export interface Question {
  /** What opens the question: `Replay`. */
  readonly label: string;
  /** What would happen. */
  readonly question: string;
  /** The answers, each with the path that it posts to. */
  readonly answers: readonly { readonly label: string; readonly action: string }[];
}

/** Asks before it acts. Works without JavaScript; the page does not refresh while the question is open. */
export function ask({ label, question, answers }: Question): Html {
  return html`<details class="ask"><summary>${label}</summary><p>${question}</p><div class="answers">${answers.map(
    ({ label, action }) => html`<form method="post" action="${action}"><button>${label}</button></form>`,
  )}</div></details>`;
}

/** A moment in a zone, to the second: `2026-11-01 14:05:09`, or to the millisecond. */
export function timeIn(zone: string, at: Date | null, isExact = false): Html {
  if (at === null) return html`–`;
  const milliseconds = isExact && `.${String(at.getMilliseconds()).padStart(3, '0')}`;
  return html`<time datetime="${at.toISOString()}">${toTheSecond(at, zone).slice(0, 19)}${milliseconds}</time>`;
}

/** The time of day in a zone, `14:05`, or to the second. */
export function clockIn(zone: string, at: Date, isToTheSecond = false): Html {
  const time = toTheSecond(at, zone).slice(11, isToTheSecond ? 19 : 16);
  return html`<time datetime="${at.toISOString()}">${time}</time>`;
}

/** Says that an action was done, by its word in the address. */
export function doneNote(done: string | undefined, words: Readonly<Record<string, string>>): Html {
  const sentence = done !== undefined && Object.hasOwn(words, done) ? words[done] : undefined;
  return sentence === undefined ? html`` : html`<p class="done" role="status">${sentence}</p>`;
}

/** What happened to something, in the order of time. */
export function story({ steps, pending, isCut }: Trace, view: View): Html {
  return html`<ol class="steps">${steps.map(
    ({ at, step, subject, what }) =>
      html`<li>${timeIn(view.zone, at, true)}<span class="step">${step}</span><span>${subjectLink(subject, view)}: ${what}</span></li>`,
  )}</ol>
${pending.map(
  ({ target, dueAt, attempts, error }) =>
    html`<p class="note">Pending: ${target} is read at ${timeIn(view.zone, dueAt)}${attempts > 0 && `; ${countOf(attempts, 'read')} failed`}${error !== null && `: ${error}`}.</p>`,
)}
${isCut && html`<p class="note">Only the newest are shown.</p>`}`;
}

/** A subject of a trace, such as `delivery 42`, with a link to its page, if it has one. */
function subjectLink(subject: string, view: View): Html {
  const [kind = '', key] = subject.split(' ');
  const page = { delivery: '/deliveries', call: '/calls', send: '/sends' }[kind];
  return page === undefined ? html`${subject}` : html`<a href="${pathIn(view, `${page}/${key}`)}">${subject}</a>`;
}
