/** Markup that is safe to send: made by `html` alone. */
export interface Html {
  readonly markup: string;
}

type Value = string | number | Html | readonly Html[] | undefined | null | false;

/** Markup with every value in it escaped, but for markup that `html` made. Nothing stands for undefined and false. */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Html {
  let markup = texts[0] ?? '';
  for (const [at, value] of values.entries()) markup += markupOf(value) + (texts[at + 1] ?? '');
  return { markup };
}

/** Text of ours that is markup already, such as a style sheet. */
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
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
