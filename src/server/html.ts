import { readFileSync } from 'node:fs';
import { printable } from '../shared/storable.ts';

/** Markup that is safe to send. Only created by `html` and `trusted`. */
export interface Html {
  readonly markup: string;
}

type Value = string | number | Html | readonly Html[] | undefined | null | false;

/**
 * Markup with all values escaped, except `Html` values. Characters that are invisible or change the text direction
 * become `\\uXXXX`. Undefined, null and false add nothing.
 */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Html {
  let markup = texts[0] ?? '';
  for (const [at, value] of values.entries()) markup += markupOf(value) + (texts[at + 1] ?? '');
  return { markup };
}

/** A sentence, with its commands in back-quotes shown as code. */
export function withCode(sentence: string): Html {
  return html`${sentence.split('`').map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}

/** A text that a form sends back as it is: only what is markup is escaped, and nothing is made visible. */
export function verbatim(text: string): Html {
  return { markup: escapedMarkup(text) };
}

/** Marks our own text, such as a style sheet, as safe markup. Never use it for text from outside. */
export function trusted(markup: string): Html {
  return { markup };
}

function markupOf(value: Value): string {
  if (value === undefined || value === null || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value));
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return escapedMarkup(printable(text));
}

function escapedMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** Style sheets, or a script, from files in this folder. */
export function readAssets(...files: readonly string[]): string {
  return files.map((file) => readFileSync(new URL(file, import.meta.url), 'utf8')).join('');
}

/** The script of self-refreshing pages. */
export const liveScript = readAssets('live.js');
/** Seconds between two refreshes of a live page. */
export const refreshSeconds = 5;

/** The parts of a page. */
export interface Page {
  readonly title: string;
  readonly style: string;
  readonly content: Html;
  /** The path of its entry in the header, or of any other page of ours. Without it, the page has no header. */
  readonly current?: string;
  /**
   * Makes the page refresh itself, and show in the header when the daemon doesn't answer. Each child of `content` is
   * replaced separately.
   */
  readonly isLive?: boolean;
  /** Further elements of the head. */
  readonly head?: Html;
}

/** A complete document for any screen width, hidden from search engines. */
export function documentOf({ title, style, content, current, isLive = false, head }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Trunkline</title>
<link rel="icon" href="data:,">
<style>${trusted(style)}</style>
${head}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${current !== undefined && headerOf(current, isLive)}
<main id="content"${isLive && html` data-refresh-seconds="${refreshSeconds}"`}>
${content}
</main>
${isLive && html`<script>${trusted(liveScript)}</script>`}
</body>
</html>
`.markup;
}

/** The pages in the header of every page. */
const pages: readonly (readonly [path: string, name: string])[] = [
  ['/', 'Status'],
  ['/deliveries', 'Deliveries'],
  ['/targets', 'Reads'],
  ['/coverage', 'Coverage'],
  ['/rules', 'Rules'],
  ['/sends', 'Sends'],
  ['/reports', 'Reports'],
];

function headerOf(current: string, isLive: boolean): Html {
  const links = pages.map(
    ([path, name]) => html`<a href="${path}"${path === current && html` aria-current="page"`}>${name}</a>`,
  );
  return html`<header class="top"><strong>Trunkline</strong>${
    isLive && html`<span class="adrift" role="status">The daemon does not answer; this is its last known state.</span>`
  }<nav aria-label="Pages">${links}</nav></header>`;
}

export function link(path: string, text: string | Html): Html {
  return html`<a href="${path}">${text}</a>`;
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
