import { countOf, streamNames } from '../../ops/format.ts';
import type { TargetState } from '../../ops/target-states.ts';
import type { Trace } from '../../ops/trace.ts';
import { documentOf, type Html, html, link, readAssets } from '../html.ts';
import type { View } from './view.ts';

export const style = readAssets('page.css', 'rows.css', 'records/records.css');

/** A page that refreshes itself, unless `isLive` is false. `current` is the path of its entry in the header. */
export function frame(page: { title: string; current: string; content: Html; isLive?: boolean }): string {
  return documentOf({ isLive: true, ...page, style });
}

/** A record, as shown on its page. */
export interface RecordPage {
  readonly title: string;
  /** The title with markup. */
  readonly heading?: Html;
  readonly about?: Html | string;
  /** One element each: a live page replaces them separately. */
  readonly parts: readonly (Html | false)[];
}

/** The page of a record. `done` is the message of the action that led here. */
export function renderRecord(record: RecordPage, current: string, done: string | undefined): string {
  const { title, heading, about, parts } = record;
  return frame({
    title,
    current,
    content: html`<div class="head"><h1>${heading ?? title}</h1></div>
${about && html`<p class="about">${about}</p>`}
${doneNote(done)}
${parts.filter((each) => each !== false)}`,
  });
}

export function doneNote(sentence: string | undefined): Html {
  return html`${sentence !== undefined && html`<p class="done" role="status">${sentence}</p>`}`;
}

/** Why something was not done. */
export function refusalNote(content: Html | string): Html {
  return html`<div class="done refused" role="alert">${content}</div>`;
}

/** A page of one sentence, for example why something can't be read. */
export function renderOutage(sentence: string): string {
  return frame({
    title: sentence,
    current: '',
    content: html`<div class="head"><h1>${sentence}</h1></div><p class="soft"><a class="link" href="/">Status</a></p>`,
  });
}

type Fact = readonly [name: string, value: Html | Date | string | number | null | undefined | false];

/** Names and values of a record, without those that have no value. */
export function facts({ time }: View, pairs: readonly Fact[]): Html {
  return html`<dl class="facts">${pairs.flatMap(([name, value]) => {
    if (value === null || value === undefined || value === false || value === '') return [];
    return html`<div><dt>${name}</dt><dd>${value instanceof Date ? time(value) : value}</dd></div>`;
  })}</dl>`;
}

/** A card with a heading. */
export function section(title: string, content: Html | string, id?: string): Html {
  return html`<section class="card"${id && html` id="${id}"`}><h2>${title}</h2>${content}</section>`;
}

/** A list without bullets; with `lines`, for sentences that contain links. */
export function items(entries: readonly Html[], style: 'prose' | 'lines' | 'lines apart' = 'lines'): Html {
  return html`<ul class="plain ${style}">${entries.map((each) => html`<li>${each}</li>`)}</ul>`;
}

/** Events in order of time, each with its time, a word and a sentence. */
export function steps(entries: readonly (readonly [at: Html, word: string, what: Html])[], more = ''): Html {
  const lines = entries.map(
    ([at, word, what]) => html`<li>${at}<span class="step">${word}</span><span>${what}</span></li>`,
  );
  return html`<ol class="steps${more}">${lines}</ol>`;
}

/** Replaces texts that are hidden or missing. */
export function soft(text: string | Html): Html {
  return html`<p class="soft">${text}</p>`;
}

/** The confirmation of an action. */
export interface Question {
  /** The label of the button that opens it: `Replay`. */
  readonly label: string;
  /** What would happen. */
  readonly question: string;
  /** The answers, each with the path it posts to. */
  readonly answers: readonly (readonly [label: string, path: string])[];
}

/** Asks for confirmation. Works without JavaScript. The page doesn't refresh while the question is open. */
export function ask({ label, question, answers }: Question): Html {
  return html`<details class="ask"><summary>${label} …</summary><p>${question}</p><div class="answers">${answers.map(
    ([label, path]) => html`<form method="post" action="${path}"><button>${label}</button></form>`,
  )}</div></details>`;
}

/** Actions next to each other. */
export function asks(...parts: readonly (Html | false)[]): Html {
  return html`<div class="asks">${parts.filter((each) => each !== false)}</div>`;
}

/** Events in order of time. */
export function story({ steps: taken, pending, isCut }: Trace, view: View): Html {
  return html`${steps(
    taken.map(({ at, step, subject, what }) => [view.time(at, true), step, html`${subjectLink(subject)}: ${what}`]),
  )}
${pending.map(
  ({ target, dueAt, attempts, error }) =>
    html`<p class="note">Pending: ${target} is read at ${view.time(dueAt)}${attempts > 0 && `; ${countOf(attempts, 'read')} failed`}${error !== null && `: ${error}`}.</p>`,
)}
${isCut && html`<p class="note">Only the newest are shown.</p>`}`;
}

/** The subject of a trace, such as `delivery 42`, linked to its page if it has one. */
function subjectLink(subject: string): Html {
  const [kind = '', key] = subject.split(' ');
  const page = { delivery: '/deliveries', call: '/calls', send: '/sends' }[kind];
  return page === undefined ? html`${subject}` : link(`${page}/${key}`, subject);
}

/** For each target: the last read, the delivery that caused it, and the next read. */
export function renderOrigins(origins: readonly TargetState[], view: View): Html {
  return items(
    origins.map((each) => {
      const pending = each.isPending && html`; to be read ${view.time(each.dueAt)}`;
      return html`<b>${streamNames[each.kind]}</b>: ${readWords(each, view)}${causeOf(each, view)}${pending}`;
    }),
  );
}

function readWords({ readAt, state, error }: TargetState, { time }: View): Html {
  if (readAt === null) return html`not read yet`;
  const end = state === 'active' ? '' : `, which ended as ${state}`;
  return html`last read ${time(readAt)}${end}${error !== null && html` (${error})`}`;
}

function causeOf({ deliveryId, receivedAt, eventType }: TargetState, { time }: View): Html {
  if (deliveryId === null) return html``;
  if (receivedAt === null) return html`, last announced by delivery ${deliveryId}, which is no longer kept`;
  const delivery = link(`/deliveries/${deliveryId}`, `delivery ${deliveryId}`);
  return html`, last announced by ${delivery} (${eventType ?? 'no type'}, ${time(receivedAt)})`;
}
