import { isUtf8 } from 'node:buffer';
import { gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { parseMultipart } from '@remix-run/multipart-parser';
import { parseJson } from '../shared/json.ts';

/** More pairs than fit into a mebibyte: each takes ten bytes. */
const maxPairs = 105_000;
const maxSegments = 8;
const maxParts = 1_000;
const maxHeaderSize = 1_024;
const refused = new Set(['__proto__', 'constructor', 'prototype']);

type Branch = Record<string, unknown>;

/**
 * Returns the object or array in a body, or undefined. Ignores the content type: parses JSON if the body starts like
 * it, else multipart/form-data or a form. Call ids stay text (`parseJson`). The caller may change the tree.
 */
export function readTree(text: string): object | undefined {
  const trimmed = text.trimStart();
  if (!beginsLikeJson(trimmed)) return readMultipart(trimmed) ?? readForm(trimmed);
  // JSON lines. Such a line break can't occur within a JSON document or in one of its strings.
  const lines = `[${trimmed.replace(/\}[\r\n]+\{/g, '},{')}]`;
  return openJson(trimmed) ?? openJson(lines) ?? openJson(escaped(trimmed)) ?? openJson(escaped(lines));
}

/**
 * Escapes what JSON forbids in a string: line breaks and other control characters, and backslashes that start no
 * escape.
 */
function escaped(text: string): string {
  return text
    .replace(/[\0-\x1f]/g, ' ')
    .replace(/\\(?:["\\/bfnrt]|u[0-9a-f]{4})|\\/gi, (found) => (found.length > 1 ? found : '\\\\'));
}

/** Name/value pairs. A name that is repeated is ambiguous. */
const pairInText = /"([A-Za-z_][\w-]{0,39})"\s{0,8}:\s{0,8}(?:"([^"\\\r\n]{0,100})"|(-?\d[\d.]{0,39}))\s{0,8}[,}]/g;
const maxTextPairs = 200;
/** A text with more brackets isn't a single event. */
const maxBrackets = 64;

/**
 * Extracts the flat pairs of one JSON object that can't be parsed, for example because of an unescaped quote, so that
 * its references can still be read. Undefined for anything else, including an object without its end.
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

/**
 * Parses a multipart/form-data body. Takes the boundary from the first line that starts with `--`, because the content
 * type may lack it. Undefined if the body exceeds the limits or has no end.
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

/**
 * Builds a tree from form fields: expands `a[b][0][c]` and `a.b`, collects repeated keys and `a[]`, and parses JSON in
 * values.
 */
function treeOf(fields: Iterable<readonly [string, string]>): object | undefined {
  const root: Branch = Object.create(null);
  for (const [key, value] of fields) {
    const path = key.split(/[.[\]]+/).filter((segment) => segment !== '');
    if (!path.some((segment) => refused.has(segment))) plant(root, key, path, openJson(value) ?? value);
  }
  return Object.keys(root).length === 0 ? undefined : withArrays(root);
}

/** Puts a value at its path, or under its literal key if the path is too long or another value blocks it. */
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

/**
 * Appends to the array of a repeated key. Form libraries copy the array each time, which is quadratic for a hostile
 * body.
 */
function add(branch: Branch, key: string, value: unknown): void {
  const present = branch[key];
  if (Array.isArray(present)) present.push(value);
  else branch[key] = present === undefined ? value : [present, value];
}

/** Whether the form parser built this object. Parsed JSON values have the ordinary prototype, and must not grow. */
function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null;
}

/** Turns branches with only numeric keys into arrays without gaps, so a huge index costs nothing. */
function withArrays(branch: Branch): object {
  const keys = Object.keys(branch);
  for (const key of keys) if (isBranch(branch[key])) branch[key] = withArrays(branch[key]);
  return keys.length > 0 && keys.every((key) => /^\d+$/.test(key)) ? Object.values(branch) : branch;
}

const maxOpened = 1_048_576;
/** Magic bytes of formats that may be compressed without a header saying so. Raw deflate has none. */
const openers: readonly (readonly [
  magic: string,
  open: (body: Buffer, options: { maxOutputLength: number }) => Buffer,
])[] = [
  ['1f8b', gunzipSync],
  ['28b52ffd', zstdDecompressSync],
  ['78', inflateSync],
  ['', inflateRawSync],
];

/** Decodes a body as text: UTF-8, UTF-16 or an 8-bit encoding, compressed or not. Undefined if it isn't text. */
export function textOf(body: Buffer): string | undefined {
  const plain = plainTextOf(body);
  if (plain !== undefined) return plain;
  for (const [magic, open] of openers) {
    if (!body.subarray(0, 4).toString('hex').startsWith(magic)) continue;
    try {
      const text = plainTextOf(open(body, { maxOutputLength: maxOpened }));
      if (text !== undefined) return text;
    } catch {
      // Not compressed with this method, or too large.
    }
  }
  return undefined;
}

/** In compressed data, about every second byte is not text. */
const minTextPerOdd = 8;

function plainTextOf(body: Buffer): string | undefined {
  // UTF-16: a NUL next to each ASCII character, with or without a byte order mark.
  const isWide = body.length >= 4 && body.length % 2 === 0;
  if (isWide && ((body[0] === 0xff && body[1] === 0xfe) || (body[0] !== 0 && body[1] === 0))) {
    return body.toString('utf16le');
  }
  if (isWide && ((body[0] === 0xfe && body[1] === 0xff) || (body[0] === 0 && body[1] !== 0))) {
    return Buffer.from(body).swap16().toString('utf16le');
  }
  if (isUtf8(body)) return body.toString('utf8');
  // Another encoding, or some invalid bytes: only those words are lost.
  const text = body.toString('utf8');
  const odd = text.match(/[\0-\x08\x0e-\x1f\ufffd]/g)?.length ?? 0;
  return odd * minTextPerOdd > text.length ? undefined : text;
}
