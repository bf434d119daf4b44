import { parseJson } from '../json.ts';
import { readMultipart } from './multipart.ts';

/** In one mebibyte there are no more pairs that tell anything: each takes ten bytes. */
const maxPairs = 105_000;
const maxSegments = 8;
const refused = new Set(['__proto__', 'constructor', 'prototype']);

type Branch = Record<string, unknown>;

/**
 * The object or array that a body holds, or undefined when it holds none. JSON when it begins like JSON, whatever the
 * content type says: a document, one in a JSON text, or one a line; otherwise a form, or the parts of one. Its call ids
 * are text (`parseJson`); it is private to the caller.
 */
export function readTree(text: string, contentType: string | undefined): object | undefined {
  const written = text.trimStart();
  if (beginsLikeJson(written)) return openJson(written) ?? readLines(written);
  if (written[0] === '"') return openQuoted(written);
  const parts = written[0] === '-' || contentType?.includes('multipart') ? readMultipart(written) : undefined;
  if (parts !== undefined || written[0] === '-') return treeOf(parts ?? []);
  return looksLikeForm(written, contentType) ? readForm(written) : undefined;
}

/** The object or array in a text that begins like one, or undefined. Blanks and byte order marks may stand before it. */
export function openJson(text: string): object | undefined {
  if (!beginsLikeJson(text)) return undefined;
  try {
    return parseJson(text.trimStart()) as object;
  } catch {
    return undefined;
  }
}

/** Whether a text begins like an object or array, which takes no time to see. */
export function beginsLikeJson(text: string): boolean {
  const first = text.trimStart()[0];
  return first === '{' || first === '[';
}

function openQuoted(text: string): object | undefined {
  try {
    return openJson(String(JSON.parse(text)));
  } catch {
    return undefined;
  }
}

/** A document a line, when every line holds one: of anything else a part would be kept as if it were the whole. */
function readLines(text: string): object | undefined {
  const documents: object[] = [];
  for (const line of text.split('\n')) {
    const document = openJson(line);
    if (document !== undefined) documents.push(document);
    else if (line.trim() !== '') return undefined;
  }
  return documents;
}

function looksLikeForm(text: string, contentType: string | undefined): boolean {
  return contentType?.includes('urlencoded') ? text.includes('=') : /^[^\s=&<>{"]{1,200}=/.test(text);
}

/** A form as a tree: `a[b][0][c]` and `a.b` expand, repeated keys and `a[]` collect, JSON in a value is opened. */
function readForm(text: string): object | undefined {
  return text.split('&', maxPairs + 1).length > maxPairs ? undefined : treeOf(new URLSearchParams(text));
}

function treeOf(pairs: Iterable<readonly [string, string]>): object | undefined {
  const root: Branch = Object.create(null);
  for (const [key, value] of pairs) {
    const path = key.split(/[.[\]]+/).filter((segment) => segment !== '');
    if (!path.some((segment) => refused.has(segment))) plant(root, key, path, openJson(value) ?? value);
  }
  return Object.keys(root).length === 0 ? undefined : withArrays(root);
}

/** Puts a value at its path, or under its literal key where the path is too long or a value stands in its way. */
function plant(root: Branch, key: string, path: string[], value: unknown): void {
  const branch = path.length > maxSegments ? undefined : branchAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (branch === undefined || last === undefined || isBranch(branch[last])) add(root, key, value);
  else add(branch, last, value);
}

function branchAt(root: Branch, path: string[]): Branch | undefined {
  let branch = root;
  for (const segment of path) {
    branch[segment] ??= Object.create(null);
    if (!isBranch(branch[segment])) return undefined;
    branch = branch[segment];
  }
  return branch;
}

function add(branch: Branch, key: string, value: unknown): void {
  const present = branch[key];
  if (Array.isArray(present)) present.push(value);
  else branch[key] = present === undefined ? value : [present, value];
}

/** Only what a form built: a JSON value keeps the ordinary prototype and is a value, never a branch to grow. */
function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null;
}

/** Branches whose keys are all numbers become arrays; gaps close, so a huge index costs nothing. */
function withArrays(branch: Branch): object {
  const keys = Object.keys(branch);
  for (const key of keys) if (isBranch(branch[key])) branch[key] = withArrays(branch[key]);
  return keys.length > 0 && keys.every((key) => /^\d+$/.test(key)) ? Object.values(branch) : branch;
}
