import { maskNumbers } from '../../shared/masking.ts';

/** Values that identify a row and not a person: they are not masked. */
const idName =
  /^(?:id|(?:message|event|call|leg|unique|transcript|recording|conversation|user|webhook|subscription)_?id)$/i;
/** Values of these names are words of the service, not of people. */
const codeName = /(?:^|_|[a-z](?=[A-Z]))(?:type|event|status|state|direction|kind)$/i;
const code = /^[\w.:-]{1,40}$/;
const moment = /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?(?:Z|[+-]\d\d:?\d\d)?$/;

/**
 * A stored body for a page: JSON and forms by line, with phone numbers masked. Unless words are shown, every value that people may
 * have written is replaced by its length.
 */
export function shownBody(body: string, contentType: string | null, areWordsShown: boolean): string {
  const tree = parsed(body, contentType);
  if (tree !== undefined) return JSON.stringify(shown(tree, '', areWordsShown), null, 2);
  return areWordsShown ? maskNumbers(body) : hidden(body);
}

function parsed(body: string, contentType: string | null): unknown {
  try {
    return JSON.parse(body);
  } catch {
    if (!/urlencoded/i.test(contentType ?? '')) return undefined;
    return Object.fromEntries(new URLSearchParams(body));
  }
}

function shown(node: unknown, name: string, areWordsShown: boolean): unknown {
  if (Array.isArray(node)) return node.map((each) => shown(each, name, areWordsShown));
  if (typeof node === 'object' && node !== null) {
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => [maskNumbers(key), shown(value, key, areWordsShown)]),
    );
  }
  if (typeof node !== 'string' && typeof node !== 'number') return node;
  const text = String(node);
  if ((idName.test(name) && code.test(text)) || moment.test(text)) return node;
  const masked = maskNumbers(text);
  if (typeof node === 'number') return masked === text ? node : masked;
  const isPlain = !/\p{L}/u.test(text) || (codeName.test(name) && code.test(text));
  return areWordsShown || isPlain ? masked : hidden(text);
}

function hidden(text: string): string {
  return `(${[...text].length} characters, hidden)`;
}
