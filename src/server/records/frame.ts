import { countOf, toTheSecond } from '../../ops/format.ts';
import type { Trace } from '../../ops/trace.ts';
import { adriftNote, documentOf, type Html, html, liveScript, pageHeader, pageStyle } from '../html.ts';
import { pathIn, type View } from './view.ts';

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
  return documentOf({ title, style, header: pageHeader(current, adriftNote, pathOf), content, script: liveScript });
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

/** The inline style sheet of lists and records. The content security policy contains its hash. */
export const style = `${pageStyle}
.card > h2 { margin-bottom: 10px; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(230px, 1fr)); gap: 12px 24px; }
.facts dt { font-size: 12px; color: var(--soft); } .facts dd { margin: 0; }
.plain { list-style: none; padding: 0; font-size: 14px; } .steps a, .facts a, .prose a { color: var(--ink); text-decoration: underline dotted var(--quiet); text-underline-offset: 3px; }
.about { text-wrap: pretty; } .state { font-weight: 600; } .warning { color: var(--warning); } .counted { margin: 0 0 8px; } .filters { padding-bottom: 14px; } .buttons { display: flex; gap: 14px; align-items: center; } .more { grid-column: 1 / -1; margin: 0; } .more .filters { padding: 10px 0 0; }
.words-of { white-space: pre-wrap; overflow-wrap: anywhere; font: 12.5px/1.55 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; max-height: 480px; overflow: auto; }
.steps { list-style: none; padding: 0; font-size: 14px; } .steps li { display: grid; grid-template-columns: 180px 76px minmax(0, 1fr); gap: 2px 14px; padding: 6px 0; border-top: 1px solid var(--line); } .steps li:first-child { border-top: 0; }
.steps time { white-space: nowrap; } .steps time, .steps .step { color: var(--soft); }
.asks { display: flex; flex-wrap: wrap; gap: 10px 16px; align-items: start; margin-bottom: 16px; }
.asks > .link { padding: 6px 0; font-size: 14px; } .ask { margin: 0; font-size: 14px; border: 1px solid var(--line); border-radius: 8px; background: var(--card); max-width: 560px; } .ask summary { padding: 6px 14px; color: var(--accent); width: auto; border-radius: 8px; list-style: none; } .ask summary::-webkit-details-marker { display: none; }
.ask[open] { padding-bottom: 12px; } .ask p { padding: 2px 14px 0; text-wrap: pretty; } .answers { display: flex; flex-wrap: wrap; gap: 8px; padding: 12px 14px 0; }
.answers button { font: inherit; font-size: 14px; padding: 5px 16px; border-radius: 7px; border: 1px solid var(--ink); background: var(--ink); color: var(--paper); cursor: pointer; }
.reason { margin: 6px 0 14px; padding-left: 12px; border-left: 3px solid var(--warning); } .state + * { margin-top: 0; } .card > p + .facts, .reason + .facts { margin-top: 14px; }
.gates { list-style: none; padding: 0; font-size: 14px; columns: 2; column-gap: 40px; } .gates li > :last-child { flex: none; } .gates li { display: flex; justify-content: space-between; gap: 14px; padding: 4px 0; break-inside: avoid; }
.rule { padding: 10px 0; border-top: 1px solid var(--line); } .rule:first-of-type { border-top: 0; padding-top: 0; } .rule h3 { font-size: 14px; margin: 0; color: var(--ink); } .clause { padding: 4px 0 0 14px; font-size: 14px; } .values th { width: 40%; } .values tr:first-child > * { border-top: 0; }
.done { border-left: 3px solid var(--ok); padding: 4px 12px; margin-bottom: 16px; }
.facts small { display: block; font-size: 12.5px; color: var(--soft); } time { white-space: nowrap; }
.lines { display: grid; gap: 4px; } .lines a { color: var(--ink); text-decoration: underline dotted var(--quiet); text-underline-offset: 3px; } .apart { margin-top: 12px; }
.points { padding-left: 20px; margin: 6px 0 12px; max-width: 68ch; } .prose + .facts, .points + .facts { margin-top: 12px; }
.said { list-style: none; padding: 0; margin-top: 8px; display: grid; gap: 6px; font-size: 14px; max-height: 480px; overflow: auto; }
@media (min-width: 521px) { .legs li { grid-template-columns: 68px 92px minmax(0, 1fr); } }
.thread { list-style: none; padding: 4px 0 12px; display: grid; gap: 12px; } .thread :target .bubble { outline: 2px solid var(--accent); outline-offset: 2px; }
.day { text-align: center; font-size: 12px; color: var(--soft); padding-top: 10px; } .aside { text-align: center; font-size: 13px; color: var(--soft); } .aside a { color: var(--ink); text-decoration: underline dotted var(--quiet); text-underline-offset: 3px; }
.text { max-width: min(78%, 560px); justify-self: start; min-width: 0; } .text.out { justify-self: end; }
.bubble { background: var(--card); border: 1px solid var(--line); border-radius: 4px 14px 14px 14px; padding: 8px 13px; width: fit-content; max-width: 100%; } .out .bubble { border-radius: 14px 4px 14px 14px; background: color-mix(in srgb, var(--accent) 14%, var(--card)); margin-left: auto; } .failed .bubble { border-color: var(--problem); }
.body { white-space: pre-wrap; overflow-wrap: anywhere; } .who, .meta { font-size: 12px; color: var(--soft); } .who { margin-bottom: 3px; } .meta { margin-top: 3px; } .out .who, .out .meta { text-align: right; }
.turn { justify-content: center; padding: 4px 0 12px; font-size: 14px; }
.in-force { font-size: 14px; } .in-force td { vertical-align: top; } .in-force small { display: block; color: var(--soft); white-space: normal; }
@media (max-width: 520px) { .in-force thead { display: none; } .in-force tr { display: block; padding: 8px 0; border-top: 1px solid var(--line); } .in-force tbody tr:first-child { border-top: 0; } .in-force td { display: block; padding: 0; border: 0; }
.gates { columns: 1; } .facts time { white-space: normal; } .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px 16px; } .steps li { grid-template-columns: minmax(0, 1fr) auto; } .steps li > :last-child { grid-column: 1 / -1; } .filters { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
`;
