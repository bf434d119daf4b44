import { parseJson } from '../shared/json.ts';
import { storableJson } from '../shared/storable.ts';
import { isKnownWord, traitsOf } from './keys.ts';

/*
 * Decides what is stored of a delivery. Removes values whose key is known to hold a secret, and anything that looks
 * like an address or a token under other keys. Texts written by people stay. In a body that can't be parsed, nobody
 * knows where a value ends, so only names, numbers and words of the service are kept. Each pass is linear in the length
 * of the body.
 */

const redacted = '[redacted]';
const maxDepth = 64;

/** Failed parses are expensive. After this many in one delivery, no further text is parsed as JSON. */
const maxBroken = 10_000;

/** Redacts a tree and returns it as compact JSON that text and jsonb can hold. */
export function canonical(tree: object): string {
  redactTree(tree, { isText: false, isField: false }, { depth: 0, broken: 0 });
  return storableJson(tree);
}

/** What the key tells about its value. */
interface Kept {
  readonly isText: boolean;
  readonly isField: boolean;
}

interface Progress {
  readonly depth: number;
  broken: number;
}

/**
 * Redacts in place. Below 64 levels, removes whole branches: no real delivery is that deep, and a serializer may fail
 * on it.
 */
function redactTree(node: object, kept: Kept, progress: Progress): void {
  if (Array.isArray(node)) {
    let isNamed = false;
    for (let at = 0; at < node.length; at++) {
      const value = node[at];
      const next = isNamed && isFilled(value) ? redacted : redactBranch(value, kept, progress);
      // ["authorization", "Bearer …"]
      isNamed = !isNamed && !kept.isText && isSecretName(value);
      if (next !== value) node[at] = next;
    }
    return;
  }
  const values = node as Record<string, unknown>;
  const isPair = namesSecret(values);
  const isTyped = isSecretName(values.type);
  for (const key in values) {
    const value = values[key];
    const { isSecret, isText, field } = traitsOf(key);
    const isNamed = (isPair && !nameKeys.has(key.toLowerCase())) || (isTyped && valueKeys.has(key.toLowerCase()));
    const isHidden = isFilled(value) && (isSecret || isNamed);
    const next = isHidden ? redacted : redactBranch(value, { isText, isField: field !== undefined }, progress);
    if (next !== value) values[key] = next;
  }
}

function isFilled(value: unknown): boolean {
  return value !== null && value !== '' && typeof value !== 'boolean';
}

const nameKeys = new Set(['name', 'key', 'field', 'header', 'label', 'param', 'parameter', 'property', 'n', 'k']);

/** If an object's `type` is a secret's name, these keys hold its value. Other keys don't: `type` may mean something else. */
const valueKeys = new Set(['value', 'val', 'v']);

/** Whether an object is a name/value pair with a secret's name: `{"name": "token", "value": "…"}`. */
function namesSecret(values: Record<string, unknown>): boolean {
  for (const key in values) if (nameKeys.has(key.toLowerCase()) && isSecretName(values[key])) return true;
  return false;
}

function isSecretName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 40 && traitsOf(value).isSecret;
}

function redactBranch(value: unknown, kept: Kept, progress: Progress): unknown {
  if (typeof value === 'string') return redactString(value, kept, progress);
  if (typeof value !== 'object' || value === null) return value;
  if (progress.depth >= maxDepth) return redacted;
  const deeper = { depth: progress.depth + 1, broken: progress.broken };
  redactTree(value, kept, deeper);
  progress.broken = deeper.broken;
  return value;
}

function redactString(value: string, kept: Kept, progress: Progress): string {
  if (value === redacted) return value;
  const first = value.trimStart()[0];
  // A person's text stays as it is. But JSON under its key was written by a program.
  if (kept.isText && (first !== '{' || progress.broken >= maxBroken || progress.depth >= maxDepth)) return value;
  if (first !== '{' && first !== '[') return /["']\s{0,8}:/.test(value) ? redactText(value) : redactValue(value, kept);
  if (progress.broken >= maxBroken || progress.depth >= maxDepth) return redactText(value);
  try {
    const branch = [parseJson(value.trimStart())];
    redactBranch(branch, kept, progress);
    return JSON.stringify(branch[0]);
  } catch {
    progress.broken += 1;
    return kept.isText ? value : redactText(value);
  }
}

// Within a value

/** A slash in any notation: percent-encoded, as an HTML entity, or escaped. */
const slash = /\/|%(?:25){0,8}2f|&(?:amp;){0,8}(?:#0{0,8}47|#x0{0,8}2f|sol);|u002f/i;
const entity = /&(?:amp;){0,8}#/i;
/** Texts with a slash that aren't addresses: `Mozilla/5.0`, `text/plain`, `12/31/2026`, a thread. */
const plainSlash = /^[\w+-]{1,40}\/[\w.+-]{0,20}[;,)]?$|^[\d/,.+-]+$/;

const opaqueLength = 24;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const moment = /^\d{4}-\d\d-\d\dT[\d:.]{5,20}(?:Z|[+-]\d\d:?\d\d)?$/;

const pieces = /[^\s"'<>]+/g;
const encoded = /%[0-9a-f]{2}|&(?:amp;){0,8}#/i;
const pair = /([a-z][\w.-]{0,39})(=|:)([^&;]*)/gi;

/**
 * Removes credentials from the value of an unknown key: addresses with or without a scheme, values after secret names,
 * and long tokens. In a field that is read (`isField`), long tokens are file names and stay.
 */
export function redactValue(value: string, { isField }: Pick<Kept, 'isField'> = { isField: false }): string {
  if (value.length < opaqueLength && !/[/%&=:\\]|bearer/i.test(value)) return value;
  let isNamed = false;
  return value.replace(pieces, (piece) => {
    if (isNamed) {
      isNamed = /^(?:bearer|basic|digest)$/i.test(piece);
      return redacted;
    }
    if (slash.test(piece) && !plainSlash.test(piece)) return redacted;
    if (encoded.test(piece)) return redacted;
    isNamed = /^bearer$/i.test(piece);
    const kept = piece.replace(pair, (whole, name: string, sign: string, rest: string) => {
      if (!traitsOf(name).isSecret) return whole;
      if (rest === '') isNamed = true;
      return rest === '' ? whole : `${name}${sign}${redacted}`;
    });
    return kept === piece && !isField && isOpaque(piece) ? redacted : kept;
  });
}

function isOpaque(piece: string): boolean {
  if (piece.length < opaqueLength || uuid.test(piece) || moment.test(piece)) return false;
  return /\d/.test(piece) && /[a-z]/i.test(piece);
}

// A body that could not be parsed

const words = /[^\s"'<>{}[\](),:=&|;?!*/\\]+/g;
const numeric = /^[+-]?\d[\d.+TZ-]{0,39}$/;
const nameShape = /^[a-z_][a-z_.-]{0,39}\d{0,2}$/i;
/** What can stand between a name and its value. First for quoted names, at any level of quoting. */
const afterQuotedName = /\\{0,64}["']\s{0,8}(?::|=>)/y;
const afterName = /\]{0,2}(?:=(?!=)|%5b|%3d)|\[|\s{0,8}(?::|=(?!=))/iy;
const beforePartName = /(?<![a-z*])name=\\{0,64}["']?$/i;

/**
 * Redacts a text that can't be parsed. Keeps its structure, the names of values, numbers, and words of the service,
 * because anything else may be a secret. Idempotent.
 */
export function redactText(text: string): string {
  let isSecret = false;
  const whole = text.replaceAll('\0', ' ');
  const kept = whole.replace(pieces, (piece, at: number) => {
    const end = piece.length - (/\\{1,64}$/.exec(piece.slice(-64))?.[0].length ?? 0);
    const body = piece.slice(0, end);
    const isTag = whole[at - 1] === '<';
    if (entity.test(body) || (slash.test(body) && !isTag && !/^[\d/,.+-]+$/.test(body))) {
      return redacted + piece.slice(end);
    }
    return piece.replace(words, (word, within: number) => {
      if (isNameAt(whole, at + within, word)) {
        isSecret = traitsOf(word).isSecret;
        return word;
      }
      if (numeric.test(word)) return isSecret ? '0' : word;
      if (word === 'null' || word === 'redacted') return word;
      return !isSecret && (word.length === 1 || isKnownWord(word)) ? word : redacted;
    });
  });
  return kept.replace(/\[redacted\](?:[ \t]*\[redacted\])+/g, redacted);
}

/** Whether a word is the name of a value: in JSON, a form, XML, a header, or a multipart body. */
function isNameAt(text: string, at: number, word: string): boolean {
  if (!nameShape.test(word)) return false;
  const before = text[at - 1] ?? ' ';
  if (before === '<' || (before === '/' && text[at - 2] === '<')) return true;
  if (beforePartName.test(text.slice(Math.max(0, at - 80), at))) return true;
  const after = /["']/.test(before) ? afterQuotedName : /[\s{,;&?[(]/.test(before) ? afterName : undefined;
  if (after === undefined) return false;
  after.lastIndex = at + word.length;
  return after.test(text);
}
