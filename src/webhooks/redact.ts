import { storableJson } from '../shared/storable.ts';
import { secretWords, traitsOf } from './keys.ts';

const redacted = '[redacted]';
const maxDepth = 64;

/**
 * Redacts a tree in place: the values of secret keys, URLs in other values, and branches below 64 levels, which no real delivery
 * has and a serializer may not support. Texts of people stay.
 */
function redactTree(node: object, isText: boolean, depth: number): void {
  if (Array.isArray(node)) {
    for (let at = 0; at < node.length; at++) {
      const kept = redactBranch(node[at], isText, depth);
      if (kept !== node[at]) node[at] = kept;
    }
    return;
  }
  const values = node as Record<string, unknown>;
  for (const key in values) {
    const value = values[key];
    const traits = traitsOf(key);
    const isSecret = traits.isSecret && value !== null && value !== '' && typeof value !== 'boolean';
    const kept = isSecret ? redacted : redactBranch(value, traits.isText, depth);
    if (kept !== value) values[key] = kept;
  }
}

function redactBranch(value: unknown, isText: boolean, depth: number): unknown {
  if (typeof value === 'string') return isText ? value : redactValue(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= maxDepth) return redacted;
  redactTree(value, isText, depth + 1);
  return value;
}

const address = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>]+/gi;

function redactValue(value: string): string {
  const start = value.charCodeAt(0);
  if (start === 123 || start === 91) return redactText(value);
  if (!value.includes('://')) return value;
  return /^https?:/i.test(value) ? redacted : value.replace(address, redacted);
}

const url = /https?(?::|%3a)(?:\\?\/|%2f){2}[^\s"'<>\\]*/gi;

const name = `(?:${secretWords.join('|').replaceAll(' ', '[-_. ]?')})s?`;

/** Each level of quoting doubles the backslashes before a quote: six of them, and the quote itself. */
const deepest = 64;

/** Separates a name from its value: in JSON at any level of quoting, a form, XML, or a part of a multipart body. */
const separator = [
  String.raw`(?:[\\"'\]\s]|%5d|%22){0,${deepest}}(?::|=|>|%3a|%3d)(?:\s|%20){0,8}`,
  String.raw`"?(?:;[^\r\n]{0,200})?\r?\n(?:[^\r\n]+\r?\n){0,4}\r?\n`,
].join('|');

/**
 * A value, or the rest of the text if its end is missing. The alternatives never scan a character twice: a delivery may be a
 * mebibyte of backslashes.
 */
const value = [
  String.raw`\[[^\]]*\]?`,
  String.raw`\{[^}]*\}?`,
  String.raw`(?<quote>\\+")[^\\]*(?:(?!\k<quote>)\\+"?[^\\]*)*(?:\k<quote>|$)`,
  String.raw`"[^"\\]*(?:\\[\s\S][^"\\]*)*"?`,
  `'[^']*'?`,
  String.raw`(?:(?:bearer|basic)\s+)?[^\s&,;"'<>}\]]+`,
].join('|');

/** The quote that ends a name. Before an unquoted value it tells at which level the JSON is quoted. */
const quoteOfName = new RegExp(String.raw`\\{0,${deepest}}["'](?=\s{0,8}:\s{0,8}$)`);

const secretPair = new RegExp(`(${name}(?:${separator}))(${value})`, 'gi');

/**
 * Removes URLs and the values of secret-looking pairs from a text that could not be parsed. What was JSON stays JSON, so that it
 * can be parsed later.
 */
export function redactText(text: string): string {
  return text.replace(url, redacted).replace(secretPair, (pair, key: string, found: string) => {
    if (found === 'null' || found.startsWith(redacted)) return pair;
    const quote = /^\\*["']/.exec(found)?.[0] ?? quoteOfName.exec(key)?.[0] ?? '';
    return `${key}${quote}${redacted}${quote}`;
  });
}

/** Redacts a tree, and returns it as compact JSON that text and jsonb can store. */
export function canonical(tree: object): string {
  redactTree(tree, false, 0);
  return storableJson(tree);
}
