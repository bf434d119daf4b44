/** Markup that is safe to send: made by `html` alone. */
export interface Html {
  readonly markup: string;
}

type Value = string | Html | readonly Html[] | undefined | false;

/** Markup with every value in it escaped, but for markup that `html` made. Nothing stands for undefined and false. */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { markup: texts.reduce((markup, text, at) => markup + markupOf(values[at - 1]) + text) };
}

function markupOf(value: Value): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
}
