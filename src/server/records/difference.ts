import { structuredPatch } from 'diff';
import { type Html, html } from '../html.ts';
import { section, soft } from '../page.ts';

/** Lines around a change that are shown with it; and how many may change: the work grows with their square. */
const limits = { context: 3, maxEditLength: 2_000 };
const kinds: Readonly<Record<string, string>> = { '-': 'removed', '+': 'added' };

/** The changes between two texts as a unified diff. Undefined if they are too many. */
export function differenceOf(before: string, after: string) {
  const [old, next] = [before, after].map((text) => `${linesOf(text).join('\n')}\n`);
  return structuredPatch('', '', old ?? '', next ?? '', '', '', limits)?.hunks;
}

/** The lines of a text, without the empty one after its last line break. */
export function linesOf(text: string): string[] {
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}

/** A card with the changes between two texts. */
export function differenceCard(title: string, before: string, after: string, id?: string): Html {
  const hunks = differenceOf(before, after);
  const line = (text: string) =>
    html`<tr class="${kinds[text[0] ?? '']}"><td>${text[0]}</td><td><code>${text.slice(1)}</code></td></tr>`;
  const tables = hunks?.map(
    ({ newStart, lines }) =>
      html`<table><caption>From line ${newStart}</caption><tbody>${lines.map(line)}</tbody></table>`,
  );
  if (!tables?.length) return section(title, soft(tables ? 'The text is the same.' : 'Too many lines differ.'), id);
  return section(
    title,
    html`<div class="difference" tabindex="0" role="region" aria-label="${title}">${tables}</div>`,
    id,
  );
}
