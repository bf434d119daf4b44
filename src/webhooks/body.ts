import { parseJson } from '../shared/json.ts';

/**
 * Returns the object or array in a body, or undefined. Ignores the content type: parses JSON if the body starts like
 * it, else a form. Call ids stay text (`parseJson`). The caller may change the tree.
 */
export function readTree(text: string): object | undefined {
  return beginsLikeJson(text) ? openJson(text) : readForm(text.trimStart());
}

/** Returns the object or array at the start of a text, or undefined. Skips blanks and a byte order mark. */
export function openJson(text: string): object | undefined {
  if (!beginsLikeJson(text)) return undefined;
  try {
    return parseJson(text.trimStart()) as object;
  } catch {
    return undefined;
  }
}

/** Whether a text starts like an object or array: a cheap test before parsing. */
export function beginsLikeJson(text: string): boolean {
  const first = text.trimStart()[0];
  return first === '{' || first === '[';
}

/** Of a name that is repeated, the last value counts. */
function readForm(text: string): object | undefined {
  return /^[^\s=&<>{"]{1,200}=/.test(text) ? Object.fromEntries(new URLSearchParams(text)) : undefined;
}
