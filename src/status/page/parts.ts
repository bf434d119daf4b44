import type { Part } from '../snapshot.ts';
import { ago, exactly } from '../words.ts';
import { type Html, html } from './html.ts';

/** A moment, told from the snapshot's, with the exact time where the pointer rests. */
export function moment(at: Date | null, from: Date, timeZone: string): Html {
  if (at === null) return html`<span class="soft">never</span>`;
  return html`<time datetime="${at.toISOString()}" title="${exactly(at, timeZone)}">${ago(at, from)}</time>`;
}

/** A card that shows its part, or in its place why it is not known. */
export function card<T>(title: string, part: Part<T>, show: (value: T) => Html): Html {
  return html`<section class="card"><h2>${title}</h2>${
    part.state === 'known' ? show(part.value) : html`<p class="unknown">This could not be asked: ${part.reason}</p>`
  }</section>`;
}

/** Lines of three: when, what, and what stands aside; two rows each on a phone. */
export function entries(lines: readonly Html[]): Html {
  return html`<ol class="entries">${lines.map((line) => html`<li>${line}</li>`)}</ol>`;
}
