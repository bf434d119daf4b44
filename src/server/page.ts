import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type Html, html } from './html.ts';
import type { View } from './records/view.ts';
import { codes, headingOf, lengthOf, unitOf } from './words.ts';

/** A file that pages share. Its address changes with its content, so that browsers keep it. */
function assetOf(name: string, type: string) {
  const text = readFileSync(new URL(name, import.meta.url), 'utf8');
  return { path: `/${name}`, address: `/${name}?${hash('sha256', text).slice(0, 8)}`, text, type };
}

const style = assetOf('style.css', 'text/css');
const script = assetOf('page.js', 'text/javascript');

/** Serves the style sheet and the script, which say nothing of the account, to everybody. */
export function serveAssets(app: FastifyInstance): void {
  for (const { path, text, type } of [style, script]) {
    app.get(path, (_request, reply) =>
      reply
        .type(`${type}; charset=utf-8`)
        .headers({ 'cache-control': 'public, max-age=31536000, immutable', 'x-content-type-options': 'nosniff' })
        .send(text),
    );
  }
}

/**
 * Headers of pages that need a sign-in. Nobody stores such a page. Browsers run our script, use our style, play our
 * media, and nothing else. No other page can frame it. Forms must send an Origin, without which actions are refused.
 */
export const privately = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "media-src 'self'", "connect-src 'self'"],
    ...["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

/** The parts of a page. */
export interface Page {
  readonly title: string;
  /** The title with markup. */
  readonly heading?: Html;
  readonly about?: Html | string | false | undefined;
  /** The path of its entry in the menu. Without one, the page has no menu: for people who haven't signed in. */
  readonly current?: string | undefined;
  /** What an action that led here has done. */
  readonly done?: string | undefined;
  /** Beside the title. */
  readonly beside?: Html | undefined;
  readonly parts: readonly (Html | false | undefined)[];
  /** Makes the page refresh itself, and say when the daemon doesn't answer. */
  readonly isLive?: boolean;
  /** Replaces the title, its description and what was done. */
  readonly head?: Html;
}

/** What a record shows; the route adds the menu and what an action did. */
export type RecordPage = Pick<Page, 'title' | 'heading' | 'about' | 'parts'>;

/** Seconds between two refreshes of a live page. */
const refreshSeconds = 5;

/** A complete document for any screen width, hidden from search engines. */
export function renderPage(page: Page): string {
  const { title, current, parts, isLive = false } = page;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Trunkline</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style.address}">
<script src="${script.address}" defer></script>
${isLive && html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${current !== undefined && menuOf(current)}
<main id="content"${isLive && html` data-refresh-seconds="${refreshSeconds}"`}>
${page.head ?? headOf(page)}
${parts.filter((each) => each !== false && each !== undefined)}
</main>
</body>
</html>
`.markup;
}

function headOf({ title, heading, about, beside, done }: Page): Html {
  return html`<div class="head"><h1>${heading ?? title}</h1>${beside}</div>
${about && html`<p class="about prose">${about}</p>`}
${done !== undefined && html`<p class="done" role="status">${done}</p>`}`;
}

type Entry = readonly [path: string, name: string];
const operations: readonly Entry[] = [
  ['/', 'Status'],
  ['/deliveries', 'Deliveries'],
  ['/targets', 'Reads'],
  ['/coverage', 'Coverage'],
];
const menu: readonly Entry[] = [
  ['/threads', 'Conversations'],
  ['/calls', 'Calls'],
  ['/rules', 'Rules'],
  ['/sends', 'Texts'],
  ['/reports', 'Reports'],
];

function menuOf(current: string): Html {
  const isOfOperations = operations.some(([path]) => path === current);
  const links = (entries: readonly Entry[], isCurrent: (path: string) => boolean) =>
    entries.map(([path, name]) => html`<a href="${path}"${isCurrent(path) && html` aria-current="page"`}>${name}</a>`);
  return html`<header class="top"><strong>Trunkline</strong><span class="adrift" role="status">The daemon does not answer; this is its last known state.</span>
<nav aria-label="Pages">${links([...menu, ['/', 'Operations']], (path) => path === (isOfOperations ? '/' : current))}</nav>
<form class="search" action="/search" role="search"><input type="search" name="q" placeholder="A number or a name" aria-label="Search for a customer" autocomplete="off" maxlength="100"></form>
${isOfOperations && html`<nav class="second" aria-label="Operations">${links(operations, (path) => path === current)}</nav>`}</header>`;
}

/** Answers with a document of {@link renderPage}. */
export function answerPage(reply: FastifyReply, document: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(document);
}

/** A card with a heading. */
export function section(title: string, content: Html | string, id?: string): Html {
  return html`<section class="card"${id && html` id="${id}"`}><h2>${title}</h2>${content}</section>`;
}

/** Names and values of a record, without those that have no value. A column that ends in `_seconds` is a duration. */
export function factsOf({ time }: View, row: Readonly<Record<string, unknown>>, nameOf = headingOf): Html {
  const shown = (name: string, value: unknown) =>
    value instanceof Date
      ? time(value)
      : unitOf(name).unit === 's'
        ? lengthOf(Number(value))
        : (codes[name]?.[String(value)] ?? (value as Html | string));
  return html`<dl class="facts">${Object.entries(row).flatMap(([name, value]) => {
    if (value === null || value === undefined || value === false || value === '') return [];
    return html`<div><dt>${nameOf(name)}</dt><dd>${shown(name, value)}</dd></div>`;
  })}</dl>`;
}

/** A list without bullets; with `lines`, for sentences that contain links. */
export function items(entries: readonly Html[], style: 'prose' | 'lines' | 'lines apart' = 'lines'): Html {
  return html`<ul class="plain ${style}">${entries.map((each) => html`<li>${each}</li>`)}</ul>`;
}

/** Events in order of time, each with its time, a word and a sentence. */
export function steps(entries: readonly (readonly [at: Html, word: string, what: Html])[], more = ''): Html {
  return html`<ol class="steps${more}">${entries.map(
    ([at, word, what]) => html`<li>${at}<span class="step">${word}</span><span>${what}</span></li>`,
  )}</ol>`;
}

export function link(path: string, text: string | Html): Html {
  return html`<a href="${path}">${text}</a>`;
}

/** Replaces texts that are hidden or missing. */
export function soft(text: string | Html): Html {
  return html`<p class="soft">${text}</p>`;
}

/** Actions next to each other. */
export function asks(...parts: readonly (Html | false)[]): Html {
  return html`<div class="asks">${parts.filter((each) => each !== false)}</div>`;
}

/** A form field with options: their values and labels. */
export function select(
  name: string,
  label: string,
  chosen: string | undefined,
  options: readonly (readonly [value: string, name: string])[],
): Html {
  return html`<div class="field"><label for="${name}">${label}</label><select id="${name}" name="${name}">${options.map(
    ([value, name]) => html`<option value="${value}"${value === (chosen ?? '') && html` selected`}>${name}</option>`,
  )}</select></div>`;
}

/** A form field for the first or last day, with additional attributes. */
export function dayField(name: 'from' | 'to', value: string | undefined, attributes?: Html): Html {
  return html`<div class="field"><label for="${name}">${name === 'from' ? 'From' : 'To'}</label><input type="date" id="${name}" name="${name}" value="${value}"${attributes}></div>`;
}
