import { isUtf8 } from 'node:buffer';
import { gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { parseMultipart } from '@remix-run/multipart-parser';
import { parseJson } from '../shared/json.ts';

/** More pairs than fit into a mebibyte with any content: each takes ten bytes. */
const maxPairs = 105_000;
const maxSegments = 8;
const maxParts = 1_000;
const maxHeaderSize = 1_024;
const refused = new Set(['__proto__', 'constructor', 'prototype']);

type Branch = Record<string, unknown>;

/**
 * Returns the object or array in a body, or undefined. Ignores the content type: parses JSON if the body starts like it, else
 * multipart/form-data or a form. Call ids stay text (`parseJson`). The caller may change the tree.
 */
export function readTree(text: string): object | undefined {
  const trimmed = text.trimStart();
  if (!beginsLikeJson(trimmed)) return readMultipart(trimmed) ?? readForm(trimmed);
  // JSON lines: neither a document nor a string in one contains such a break.
  const lines = `[${trimmed.replace(/\}[\r\n]+\{/g, '},{')}]`;
  return openJson(trimmed) ?? openJson(lines) ?? openJson(escaped(trimmed)) ?? openJson(escaped(lines));
}

/** Escapes what JSON allows in no string: line breaks and other control characters, and backslashes that begin no escape. */
function escaped(text: string): string {
  return text
    .replace(/[\0-\x1f]/g, ' ')
    .replace(/\\(?:["\\/bfnrt]|u[0-9a-f]{4})|\\/gi, (found) => (found.length > 1 ? found : '\\\\'));
}

/** Names of which each has one value; of what is repeated, nobody can tell which belongs to what. */
const pairInText = /"([A-Za-z_][\w-]{0,39})"\s{0,8}:\s{0,8}(?:"([^"\\\r\n]{0,100})"|(-?\d[\d.]{0,39}))\s{0,8}[,}]/g;
const maxTextPairs = 200;
/** A text with more is no single event. */
const maxBrackets = 64;

/**
 * The flat pairs of one JSON object that cannot be parsed, such as one with a quote in a text: what it points at can still be read.
 * Undefined for anything else, as for an object without its end.
 */
export function readPairs(text: string): object | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) return undefined;
  if (trimmed.split(/[{[]/, maxBrackets + 1).length > maxBrackets) return undefined;
  const pairs = new Map<string, string | undefined>();
  for (const [, name = '', quoted, bare] of trimmed.matchAll(pairInText)) {
    if (pairs.size >= maxTextPairs) return undefined;
    const value = quoted ?? bare;
    pairs.set(name, pairs.has(name) && pairs.get(name) !== value ? undefined : value);
  }
  return Object.fromEntries([...pairs].filter(([name, value]) => value !== undefined && !refused.has(name)));
}

/** Returns the object or array in a text that begins like one, or undefined. Blanks and a byte order mark may precede. */
export function openJson(text: string): object | undefined {
  if (!beginsLikeJson(text)) return undefined;
  try {
    return parseJson(text.trimStart()) as object;
  } catch {
    return undefined;
  }
}

/** Whether a text begins like an object or array: a cheap test before parsing. */
export function beginsLikeJson(text: string): boolean {
  const first = text.trimStart()[0];
  return first === '{' || first === '[';
}

/**
 * Parses a multipart/form-data body. The boundary is taken from its first line that starts with `--`, since the content type may
 * lack it. Undefined for a body over the limits, or without its end.
 */
function readMultipart(text: string): object | undefined {
  const opening = /^--(\S{1,70})[ \t]*\r?$/m.exec(text);
  if (opening?.[1] === undefined) return undefined;
  const body = Buffer.from(text.slice(opening.index).replace(/\r?\n/g, '\r\n'));
  const pairs: [string, string][] = [];
  try {
    for (const part of parseMultipart(body, { boundary: opening[1], maxParts, maxHeaderSize })) {
      const value = part.text;
      if (part.name !== undefined && !value.includes('\0')) pairs.push([part.name, value]);
    }
  } catch {
    return undefined;
  }
  return treeOf(pairs);
}

function readForm(text: string): object | undefined {
  const isForm = /^[^\s=&<>{"]{1,200}=/.test(text) && text.split('&', maxPairs + 1).length <= maxPairs;
  return isForm ? treeOf(new URLSearchParams(text)) : undefined;
}

/** Builds a tree from fields: expands `a[b][0][c]` and `a.b`, collects repeated keys and `a[]`, parses JSON in values. */
function treeOf(fields: Iterable<readonly [string, string]>): object | undefined {
  const root: Branch = Object.create(null);
  for (const [key, value] of fields) {
    const path = key.split(/[.[\]]+/).filter((segment) => segment !== '');
    if (!path.some((segment) => refused.has(segment))) plant(root, key, path, openJson(value) ?? value);
  }
  return Object.keys(root).length === 0 ? undefined : withArrays(root);
}

/** Puts a value at its path, or under its literal key if the path is too long or blocked by another value. */
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

/** Appends repeated keys to one array. Form libraries copy it each time, which is quadratic for a hostile body. */
function add(branch: Branch, key: string, value: unknown): void {
  const present = branch[key];
  if (Array.isArray(present)) present.push(value);
  else branch[key] = present === undefined ? value : [present, value];
}

/** Whether the form built this object. A value that was JSON has the ordinary prototype, and must not grow. */
function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null;
}

/** Turns branches whose keys are all numbers into arrays without gaps, so that a huge index costs nothing. */
function withArrays(branch: Branch): object {
  const keys = Object.keys(branch);
  for (const key of keys) if (isBranch(branch[key])) branch[key] = withArrays(branch[key]);
  return keys.length > 0 && keys.every((key) => /^\d+$/.test(key)) ? Object.values(branch) : branch;
}

const maxOpened = 1_048_576;
/** Magic bytes of what may be compressed without saying so; raw deflate has none. */
const openers: readonly (readonly [
  magic: string,
  open: (body: Buffer, options: { maxOutputLength: number }) => Buffer,
])[] = [
  ['1f8b', gunzipSync],
  ['28b52ffd', zstdDecompressSync],
  ['78', inflateSync],
  ['', inflateRawSync],
];

/** The text of a body, in UTF-8, UTF-16 or an 8-bit encoding, compressed without a header that says so or not; undefined for others. */
export function textOf(body: Buffer): string | undefined {
  const plain = plainTextOf(body);
  if (plain !== undefined) return plain;
  for (const [magic, open] of openers) {
    if (!body.subarray(0, 4).toString('hex').startsWith(magic)) continue;
    try {
      const text = plainTextOf(open(body, { maxOutputLength: maxOpened }));
      if (text !== undefined) return text;
    } catch {
      // Not compressed in this way, or too large.
    }
  }
  return undefined;
}

/** Of compressed bytes, every other is odd. */
const minTextPerOdd = 8;

function plainTextOf(body: Buffer): string | undefined {
  // A NUL beside each ASCII character, with or without a byte order mark.
  const isWide = body.length >= 4 && body.length % 2 === 0;
  if (isWide && ((body[0] === 0xff && body[1] === 0xfe) || (body[0] !== 0 && body[1] === 0))) {
    return body.toString('utf16le');
  }
  if (isWide && ((body[0] === 0xfe && body[1] === 0xff) || (body[0] === 0 && body[1] !== 0))) {
    return Buffer.from(body).swap16().toString('utf16le');
  }
  if (isUtf8(body)) return body.toString('utf8');
  // A text in another encoding, or with some odd bytes in it: only words are lost.
  const text = body.toString('utf8');
  const odd = text.match(/[\0-\x08\x0e-\x1f\ufffd]/g)?.length ?? 0;
  return odd * minTextPerOdd > text.length ? undefined : text;
}
