import { printable } from '../shared/storable.ts';

/** Markup that is safe to send. Only `html` and `trusted` create it. */
export interface Html {
  readonly markup: string;
}

type Value = string | number | Html | readonly Html[] | undefined | null | false;

/**
 * Markup with every value escaped, except values that are `Html`; characters that hide or turn text become `\\uXXXX`. Undefined,
 * null and false add nothing.
 */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Html {
  let markup = texts[0] ?? '';
  for (const [at, value] of values.entries()) markup += markupOf(value) + (texts[at + 1] ?? '');
  return { markup };
}

/** A sentence in which commands stand between back-quotes, with these as code. */
export function withCode(sentence: string): Html {
  return html`${sentence.split('`').map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}

/** Marks our own text, such as a style sheet, as markup. Never for text from outside. */
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
  return printable(text).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** The parts of a page. */
export interface Sheet {
  readonly title: string;
  readonly style: string;
  /** Further elements of the head. */
  readonly head?: Html;
  readonly header: Html;
  readonly content: Html;
  readonly script?: string;
}

/** A self-contained document for any width, hidden from search engines. */
export function documentOf({ title, style, head, header, content, script }: Sheet): string {
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
${header}
<main id="content">
${content}
</main>
${script !== undefined && html`<script>${trusted(script)}</script>`}
</body>
</html>
`.markup;
}

/** A field of a form: one of the options, which are values and their names. */
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

/** A field of a form for the first or the last day, with its further attributes. */
export function dayField(name: 'from' | 'to', value: string | undefined, attributes?: Html): Html {
  return html`<div class="field"><label for="${name}">${name === 'from' ? 'From' : 'To'}</label><input type="date" id="${name}" name="${name}" value="${value}"${attributes}></div>`;
}

/** Of every page: its light and dark colours, its texts and its header. */
const baseStyle = `:root { color-scheme: light dark;
  --paper: #f7f6f3; --card: #fffefc; --ink: #22262a; --soft: #6a6f76; --line: #e4e1da; --track: #ece9e2;
  --ok: #2c8a5a; --warning: #a86a0c; --problem: #bd3b2f; --quiet: #b9b5ab; --accent: #33658f; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #121417; --card: #191c20; --ink: #e7e5e1; --soft: #969ca4; --line: #2a2e33; --track: #262a2f;
  --ok: #5fc08d; --warning: #e0a84c; --problem: #f0806f; --quiet: #50565d; --accent: #84b4dd; } }
* { box-sizing: border-box; margin: 0; }
body { font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; color: var(--ink); background: var(--paper);
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; overflow-wrap: anywhere; }
nav { display: flex; gap: 20px; }
h1 { font-size: clamp(21px, 3.4vw, 29px); line-height: 1.28; font-weight: 600; letter-spacing: -.015em; text-wrap: balance; }
code { font: 12.5px/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }
.skip { position: absolute; left: -9999px; } .skip:focus { left: 12px; top: 8px; padding: 4px 10px; background: var(--card); color: var(--ink); z-index: 2; }
.top nav { flex-wrap: wrap; gap: 4px 20px; } .top nav a[aria-current] { color: var(--ink); font-weight: 600; }
.adrift { display: none; color: var(--warning); font-size: 13px; } .stale .adrift { display: inline; } .stale main { opacity: .6; }
@media (max-width: 520px) { .top nav { gap: 4px 16px; width: 100%; } }
`;

/** The pages that every page leads to. */
const pages: readonly (readonly [path: string, name: string])[] = [
  ['/', 'Status'],
  ['/deliveries', 'Deliveries'],
  ['/targets', 'Reads'],
  ['/coverage', 'Coverage'],
  ['/rules', 'Rules'],
  ['/sends', 'Sends'],
  ['/reports', 'Reports'],
];

/** The header of every page. `current` is the path of its entry, `note` stands beside the name, `pathOf` adds to the paths. */
export function pageHeader(current: string, note?: Html, pathOf = (path: string) => path): Html {
  return html`<header class="top"><strong>Trunkline</strong>${note}<nav aria-label="Pages">${pages.map(
    ([path, name]) => html`<a href="${pathOf(path)}"${path === current && html` aria-current="page"`}>${name}</a>`,
  )}</nav></header>`;
}

/** Stands in the header of a live page; shown while the daemon does not answer. */
export const adriftNote = html`<span class="adrift" role="status">The daemon does not answer; this is its last known state.</span>`;

/** How often a page refreshes itself, in seconds. */
export const refreshSeconds = 5;

/**
 * Refreshes a page: fetches it and replaces what changed in `main`, which keeps the scroll position, the focus and what is unfolded.
 * Waits while the page is hidden, text in it is selected, a form is in use or a question (`details.ask`) is open, and shows when
 * the daemon does not answer. Escape closes a question.
 */
export const liveScript = `
(() => {
  const main = document.querySelector('main');
  const questions = 'details.ask[open]';
  const isBusy = () => document.hidden || getSelection()?.type === 'Range' || main.querySelector(questions)
    || document.activeElement?.closest('main form');
  const regions = 'details, [tabindex="0"]';
  const links = 'a[href], summary, button, [tabindex="0"]';
  const within = (root, selector) => [root, ...root.querySelectorAll(selector)].filter((each) => each.matches(selector));
  const isLike = (one, other) => other && one.tagName === other.tagName && one.getAttribute('href') === other.getAttribute('href');
  const replace = (old, next) => {
    const active = old.contains(document.activeElement) ? document.activeElement : undefined;
    const place = active && within(old, links).indexOf(active);
    const kept = within(old, regions).map(({ open, scrollTop, scrollLeft }) => ({ open, scrollTop, scrollLeft }));
    old.replaceWith(next);
    const news = within(next, regions);
    if (news.length === kept.length) news.forEach((each, at) => {
      if (kept[at].open) each.open = true;
      each.scrollTop = kept[at].scrollTop;
      each.scrollLeft = kept[at].scrollLeft;
    });
    if (!active) return;
    const others = within(next, links);
    const same = isLike(active, others[place]) ? others[place] : others.find((each) => isLike(active, each));
    same?.focus({ preventScroll: true });
  };
  const refresh = async () => {
    if (isBusy()) return;
    try {
      const answer = await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(10000) });
      if (answer.status === 401) return location.reload();
      const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const fresh = next.querySelector('main');
      if (!fresh) throw new Error('no page');
      document.body.classList.remove('stale');
      if (isBusy()) return;
      const [olds, news] = [[...main.children], [...fresh.children]];
      if (olds.length === news.length) olds.forEach((old, at) => { if (!old.matches('form') && !old.isEqualNode(news[at])) replace(old, news[at]); });
      else main.replaceChildren(...news);
      document.title = next.title;
    } catch {
      document.body.classList.add('stale');
    }
  };
  const again = () => setTimeout(() => refresh().finally(again), ${refreshSeconds * 1_000});
  again();
  document.addEventListener('visibilitychange', refresh);
  document.addEventListener('keydown', ({ key }) => {
    const question = key === 'Escape' && main.querySelector(questions);
    if (!question) return;
    question.open = false;
    question.querySelector('summary').focus();
  });
})();
`;

/** The style sheet of reports, lists and records. */
export const pageStyle = `${baseStyle}.top, main { max-width: 1120px; margin: 0 auto; padding: 0 24px; }
.top, .head, .card header { display: flex; align-items: baseline; justify-content: space-between; gap: 8px 24px; flex-wrap: wrap; }
.top { padding-top: 28px; }
a { color: var(--soft); text-decoration: none; border-radius: 4px; }
a:hover, a:focus-visible { color: var(--ink); text-decoration: underline; text-underline-offset: 3px; }
a:focus-visible, summary:focus-visible, .table:focus-visible, .rows:focus-visible, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
a[aria-current] { color: var(--ink); }
h2 { font-size: 13px; font-weight: 600; color: var(--soft); }
h3 { font-size: 12px; font-weight: 400; color: var(--soft); margin-bottom: 12px; }
.head { padding: 40px 0 26px; align-items: center; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px 16px; margin-bottom: 12px; min-width: 0; }
.link { color: var(--accent); } .soft, .hint { color: var(--soft); } .hint { padding: 4px 0 22px; } .ok { color: var(--ok); } .problem { color: var(--problem); }
.filters { display: grid; grid-template-columns: repeat(auto-fill, minmax(148px, 1fr)); gap: 10px 12px; align-items: end; padding-bottom: 22px; font-size: 13px; }
.field { display: grid; gap: 4px; color: var(--soft); min-width: 0; }
.filters input, .filters select, .filters button { font: inherit; font-size: 14px; color: var(--ink); background: var(--card); border: 1px solid var(--line); border-radius: 7px; padding: 6px 9px; height: 36px; width: 100%; min-width: 0; }
.filters button { width: auto; padding: 0 18px; background: var(--ink); color: var(--paper); border-color: var(--ink); cursor: pointer; } .filters .link { height: 36px; line-height: 36px; white-space: nowrap; }
.filters :is(input, select, button):focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.tag { font-size: 11px; padding: 0 6px; border-radius: 4px; background: var(--track); color: var(--soft); white-space: nowrap; }
td a { color: var(--ink); text-decoration: underline dotted var(--quiet); text-underline-offset: 3px; } .whole > * { font-weight: 600; }
.about { color: var(--soft); margin: -18px 0 20px; } .rows { padding: 6px 20px; overflow: auto; overflow-wrap: normal; font-size: 13.5px; } .rows td { white-space: nowrap; vertical-align: top; } .rows td.words { white-space: normal; min-width: 160px; }
.rows thead th { white-space: nowrap; }
.pager { display: flex; gap: 8px 20px; flex-wrap: wrap; justify-content: space-between; padding: 4px 0 40px; font-size: 14px; } .pager nav { gap: 16px; }
.csv { font-size: 12px; letter-spacing: .03em; }
.empty, .unknown { margin-top: 8px; color: var(--soft); } .unknown { color: var(--warning); }
.note { font-size: 13px; color: var(--soft); margin-top: 12px; text-wrap: pretty; }
details { margin-top: 10px; font-size: 13px; } summary { color: var(--soft); cursor: pointer; width: fit-content; border-radius: 4px; } summary:hover { color: var(--ink); }
.table { max-height: 320px; overflow: auto; margin-top: 8px; overflow-wrap: normal; }
table { width: 100%; border-collapse: collapse; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
td, th { padding: 5px 0 5px 14px; text-align: left; font-weight: 400; vertical-align: bottom; border-top: 1px solid var(--line); }
tr > :first-child { padding-left: 0; white-space: nowrap; }
thead th { color: var(--soft); font-size: 12px; line-height: 1.3; border-top: 0; position: sticky; top: 0; background: var(--card); }
.number { text-align: right; } td.number { white-space: nowrap; }
footer { display: flex; flex-wrap: wrap; gap: 4px 20px; padding: 16px 0 40px; font-size: 13px; color: var(--soft); }
@media (max-width: 520px) {
  .top, main { padding-left: 16px; padding-right: 16px; } .head { padding: 26px 0 18px; } .card { padding: 15px 15px 14px; margin-bottom: 8px; } .about { margin-top: -10px; }
}
@media print {
  @page { size: A4; margin: 14mm; }
  :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #111; --soft: #555; --line: #ddd; --track: #eee; --ok: #2c8a5a; --problem: #bd3b2f;
    --quiet: #b9b5ab; --accent: #33658f; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10pt; } .top, main { max-width: none; padding: 0; } nav, .csv, details, .skip { display: none; }
  .head { padding: 10px 0 12px; } .card { break-inside: avoid; margin-bottom: 10px; padding: 12px 14px; } .note { font-size: 8.5pt; margin-top: 8px; }
  .tag, .filters, .pager { display: none; } footer { padding: 6px 0 0; font-size: 8.5pt; }
}
`;

/**
 * The inline style sheet of the status page. The content security policy contains its hash. A refresh keeps the scroll position, so
 * the browser's own anchoring is off.
 */
export const style = `${baseStyle}body > header, main { max-width: 1120px; margin: 0 auto; padding: 0 24px; }
header { display: flex; align-items: baseline; justify-content: space-between; gap: 8px 24px; flex-wrap: wrap; }
body > header { padding-top: 28px; }
header strong { font-size: 15px; letter-spacing: .01em; }
a { color: var(--soft); text-decoration: none; }
a:hover, a:focus-visible { color: var(--ink); text-decoration: underline; text-underline-offset: 3px; }
h2 { font-size: 13px; font-weight: 600; color: var(--soft); margin-bottom: 12px; }
h3 { font-size: 14px; font-weight: 600; }
.verdict { display: grid; grid-template-columns: auto 1fr; column-gap: 16px; padding: 44px 0 40px; }
.verdict > .dot { width: 13px; height: 13px; margin-top: clamp(8px, 1.1vw, 12px); box-shadow: 0 0 0 5px color-mix(in srgb, currentColor 16%, transparent); }
.verdict .remedy { margin-top: 8px; }
.remedy, .soft { color: var(--soft); }
.checks { grid-column: 2; list-style: none; padding: 0; margin-top: 18px; display: grid; gap: 12px; }
.checks li { display: grid; grid-template-columns: auto 1fr; column-gap: 10px; }
.checks .remedy { display: block; }
.dot { display: inline-block; width: 8px; height: 8px; margin-top: 7px; border-radius: 50%; background: currentColor; flex: none; }
.ok { color: var(--ok); } .warning { color: var(--warning); } .problem { color: var(--problem); } .quiet { color: var(--quiet); } .notice { color: var(--accent); }
.streams { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 12px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; min-width: 0; }
.stream header { flex-wrap: nowrap; align-items: center; gap: 8px; }
.stream h3 { flex: 1; }
.stream .state { font-size: 13px; display: flex; gap: 7px; }
.stream .state .dot { margin-top: 6px; }
.stream p { font-size: 13px; color: var(--soft); }
.stream .newest { color: var(--ink); font-size: 25px; line-height: 1.3; font-weight: 600; letter-spacing: -.02em; margin: 10px 0 2px; }
.columns { display: grid; grid-template-columns: minmax(0, 1.55fr) minmax(0, 1fr); gap: 12px; margin-top: 12px; align-items: start; }
.stack { display: grid; gap: 12px; min-width: 0; }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
td, th { padding: 6px 0; text-align: left; font-weight: 400; vertical-align: top; border-top: 1px solid var(--line); }
tr:first-child > td, tr:first-child > th { border-top: 0; }
td + td, th + th, th + td { padding-left: 14px; }
thead th { color: var(--soft); font-size: 12px; padding-top: 0; }
thead + tbody tr:first-child > td { border-top: 1px solid var(--line); }
.number { text-align: right; white-space: nowrap; }
.when { color: var(--soft); white-space: nowrap; }
.pace { display: block; width: 100%; height: 56px; fill: var(--accent); margin-bottom: 4px; }
.pace .base { fill: var(--track); }
.axis { display: flex; justify-content: space-between; font-size: 12px; color: var(--soft); margin-bottom: 14px; }
.latest { margin-top: 22px; }
.entries { list-style: none; padding: 0; font-size: 14px; }
.entries li { display: grid; grid-template-columns: 84px minmax(0, 1fr) auto; gap: 0 14px; padding: 6px 0; border-top: 1px solid var(--line); }
.entries li:first-child { border-top: 0; }
.entries .aside { text-align: right; }
.note { font-size: 13px; color: var(--soft); margin-top: 8px; }
.bar { display: block; width: 100%; height: 7px; border-radius: 4px; background: var(--track); margin: 6px 0; }
.bar .complete, .key .complete { fill: var(--ok); color: var(--ok); } .bar .pending, .key .pending { fill: var(--accent); color: var(--accent); }
.bar .none, .key .none { fill: var(--quiet); color: var(--quiet); } .bar .gone, .key .gone { fill: var(--warning); color: var(--warning); }
.bar .forbidden, .key .forbidden { fill: var(--problem); color: var(--problem); }
.key { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 13px; color: var(--soft); }
.key span { display: inline-flex; gap: 6px; } .key b { font-weight: 400; color: var(--soft); }
.key + h3 { margin-top: 16px; }
.unknown { color: var(--warning); font-size: 14px; }
footer { display: flex; flex-wrap: wrap; gap: 4px 20px; padding: 28px 0 40px; font-size: 13px; color: var(--soft); }
.wide { margin-top: 12px; }
td a, .entries a, .note a, .warning a, .stream p a { color: inherit; text-decoration: underline dotted var(--quiet); text-underline-offset: 3px; }
.stream .state:hover .word { text-decoration: underline; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 4px; }
main { overflow-anchor: none; } .fold > summary { list-style: none; } .fold > summary::-webkit-details-marker { display: none; }
@media (min-width: 521px) {
  .fold > summary { pointer-events: none; } .fold > summary a { pointer-events: auto; } .brief { display: none; }
  .fold::details-content { display: block; content-visibility: visible; height: auto; }
}
@media (max-width: 820px) { .streams { grid-template-columns: repeat(2, minmax(0, 1fr)); } .columns { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 520px) {
  body > header, main { padding-left: 16px; padding-right: 16px; }
  .verdict { padding: 30px 0 28px; column-gap: 13px; } .card { padding: 15px 15px; }
  .streams { gap: 8px; } .columns, .stack { gap: 8px; margin-top: 8px; } .stack { margin-top: 0; } .wide { margin-top: 8px; }
  .stream p { font-size: 13px; color: var(--soft); }
.stream .newest { color: var(--ink); font-size: 20px; } .stream .state .word { display: none; }
  .hint { display: none; }
  .fold > summary { display: flex; justify-content: space-between; gap: 12px; cursor: pointer; margin: -15px; padding: 12px 15px; font-size: 13px; color: var(--soft); }
  .fold > summary h2 { margin: 0; color: var(--ink); } .fold > summary a { pointer-events: none; color: inherit; }
  .brief { flex: none; } .brief::after { content: '+'; display: inline-block; width: 18px; text-align: right; } .fold[open] > summary .brief::after { content: '–'; } .fold[open] > summary { margin-bottom: -3px; }
  .entries li { grid-template-columns: minmax(0, 1fr) auto; padding: 8px 0; }
  .entries .when { order: 2; text-align: right; } .entries .aside { order: 3; grid-column: 1 / -1; text-align: left; }
}
`;
