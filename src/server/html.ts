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

/** A text that a form sends back unchanged. Escapes markup, but leaves invisible characters as they are. */
export function verbatim(text: string): Html {
  return { markup: escaped(text) };
}

/** Marks our own text, such as a style sheet, as safe markup. Never use it for text from outside. */
export function trusted(markup: string): Html {
  return { markup };
}

function markupOf(value: Value): string {
  if (value === undefined || value === null || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escaped(printable(String(value)));
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
}

const entities: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
