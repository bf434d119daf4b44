import { concernsOf, verdictOf } from './concerns.ts';
import { credentialWords } from './facts/credential.ts';
import { artefacts, drift, errors, holdings, queues, subscriptions } from './page/cards.ts';
import { completeness } from './page/completeness.ts';
import { documentOf } from './page/document.ts';
import { type Html, html } from './page/html.ts';
import { inbox } from './page/inbox.ts';
import { rules } from './page/rules.ts';
import { refreshSeconds, script } from './page/script.ts';
import { sends } from './page/sends.ts';
import { streams } from './page/streams.ts';
import { style } from './page/style.ts';
import { known, type Snapshot } from './snapshot.ts';
import { exactly, span, timeOfDay } from './words.ts';

export interface PageOptions {
  /** IANA time zone of the moments shown. */
  readonly timeZone: string;
}

/** The status page: one document without a foreign asset, current by itself with or without JavaScript. */
export function renderPage(snapshot: Snapshot, { timeZone }: PageOptions): string {
  const schema = known(snapshot.schema, undefined);
  const credential = known(snapshot.credential, undefined);
  return frame(
    verdictOf(snapshot).sentence,
    html`${verdict(snapshot)}
${streams(snapshot, timeZone)}
<div class="columns">
  <div class="stack">${inbox(snapshot, timeZone)}${completeness(snapshot, timeZone)}${sends(snapshot, timeZone)}</div>
  <div class="stack">${artefacts(snapshot)}${queues(snapshot)}${subscriptions(snapshot, timeZone)}${rules(snapshot, timeZone)}${holdings(snapshot)}</div>
</div>
${errors(snapshot, timeZone)}${drift(snapshot, timeZone)}
<footer>
  <span><time datetime="${snapshot.takenAt.toISOString()}" title="${exactly(snapshot.takenAt, timeZone)}">${timeOfDay(snapshot.takenAt, timeZone)}</time> ${timeZone}</span>
  <span>release ${snapshot.release}</span>
  <span>up ${span(snapshot.uptimeSeconds)}</span>
  ${credential && html`<span>${credentialWords(credential, snapshot.takenAt)}</span>`}
  ${schema && html`<span>Postgres ${schema.postgres}</span><span>schema ${schema.newestMigration ?? 'none'}</span>`}
</footer>`,
  );
}

/** The page while there is nothing to tell but one sentence. */
export function renderOutage(sentence: string): string {
  return frame(
    sentence,
    html`<section class="verdict"><span class="dot problem"></span><h1>${sentence}</h1></section>`,
  );
}

function verdict(snapshot: Snapshot): Html {
  const { level, sentence } = verdictOf(snapshot);
  const concerns = concernsOf(snapshot);
  const gravest = level === 'ok' ? undefined : concerns[0];
  const others = gravest ? concerns.slice(1) : concerns;
  return html`<section class="verdict" aria-live="polite">
  <span class="dot ${level}"></span>
  <div><h1>${sentence}</h1>${gravest && html`<p class="cure">${gravest.cure}</p>`}</div>
  ${
    others.length > 0 &&
    html`<ul class="concerns">${others.map(
      (each) =>
        html`<li><span class="dot ${each.level}"></span><span>${each.sentence} <span class="cure">${each.cure}</span></span></li>`,
    )}</ul>`
  }
</section>`;
}

function frame(title: string, content: Html): string {
  return documentOf({
    title,
    style,
    head: html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`,
    header: html`<header><strong>Trunkline</strong><span class="adrift">The daemon does not answer; this is what it said last.</span>
<nav><a href="/reports">Reports</a><a href="/queues">Queues</a><a href="/api/status">JSON</a><a href="/metrics">Metrics</a></nav></header>`,
    content,
    script,
  });
}
