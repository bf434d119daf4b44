import { type DiffLine, differenceOf, linesOf } from '../../shared/line-diff.ts';
import { type Html, html, verbatim } from '../html.ts';

/** Lines that the numbers beside a text that grows are enough for. */
const spareLines = 300;
const minRows = 12;

/** A text with numbered lines. */
export function numberedText(text: string, label: string): Html {
  const lines = linesOf(text);
  return html`<div class="source" tabindex="0" role="region" aria-label="${label}">${lineNumbers(lines.length)}<pre>${text}</pre></div>`;
}

/** A form field for a text, with numbered lines. `marks`: how to mark the numbers of some lines. */
export function sourceField(
  name: string,
  text: string,
  { label, marks }: { readonly label: string; readonly marks: ReadonlyMap<number, string> },
): Html {
  const lines = linesOf(text);
  const columns = lines.reduce((longest, line) => Math.max(longest, line.length), 0);
  return html`<div class="source">${lineNumbers(lines.length + spareLines, marks)}<textarea name="${name}" aria-label="${label}" wrap="off" rows="${Math.max(lines.length + 2, minRows)}" cols="${columns + 2}" spellcheck="false" autocapitalize="off" autocomplete="off" autocorrect="off">
${verbatim(text)}</textarea></div>`;
}

/** The id of a line of a `sourceField`. */
export const lineId = (line: number) => `line-${line}`;

function lineNumbers(count: number, marks?: ReadonlyMap<number, string>): Html {
  const numbers = Array.from({ length: count }, (_, at) =>
    marks?.has(at + 1) ? html`<li id="${lineId(at + 1)}" class="${marks.get(at + 1)}">` : html`<li>`,
  );
  return html`<ol class="numbers" aria-hidden="true">${numbers}</ol>`;
}

const signs = { same: ' ', removed: '−', added: '+' } as const;

/** The difference between two texts, unified. Undefined if there is none. */
export function renderDifference(before: string, after: string, label: string): Html | undefined {
  const hunks = differenceOf(before, after);
  if (hunks.length === 0) return undefined;
  const line = ({ kind, number, text }: DiffLine) =>
    html`<tr class="${kind}"><td>${number}</td><td>${signs[kind]}</td><td><code>${text}</code></td></tr>`;
  return html`<div class="difference" tabindex="0" role="region" aria-label="${label}"><table>${hunks.map(
    (hunk) => html`<tbody>${hunk.map(line)}</tbody>`,
  )}</table></div>`;
}
