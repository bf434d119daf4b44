import { maskNumbers } from '../../shared/masking.ts';
import { normalize } from '../../warehouse/phrases.ts';
import { declarationOf, declaredFacts, type FactGroup, type Facts, type FactType } from './declared.ts';

type Shape = Record<string, unknown>;

/** A class per group of facts: CEL uses an instance as it is, but converts a plain object for every condition. */
export const groupClasses = Object.fromEntries(
  Object.keys(declaredFacts).map((group) => [group, class {}]),
) as unknown as Readonly<Record<FactGroup, new () => object>>;

/** Facts for CEL: integers as BigInt; a missing fact has no key, for `has(…)`. */
export function celFacts(facts: Facts): Shape {
  const shape = converted(facts, (value, type) => {
    if (value === undefined) return undefined;
    return type === 'int' ? BigInt(value as number) : value;
  });
  for (const [group, values] of Object.entries(shape)) {
    if (group !== 'now') shape[group] = Object.assign(new groupClasses[group as FactGroup](), values);
  }
  return shape;
}

/** Facts for templates: a missing fact is nil, and a misspelt name is an error. */
export function templateFacts(facts: Facts): Shape {
  return converted(facts, (value) => value ?? null);
}

function converted(facts: Facts, convert: (value: unknown, type: FactType) => unknown): Shape {
  const shape: Shape = { now: facts.now };
  for (const [group, declared] of Object.entries(declaredFacts)) {
    const given = facts[group as FactGroup] as Shape | undefined;
    if (given === undefined) continue;
    const values: Shape = {};
    for (const [name, { type }] of Object.entries(declared)) {
      const value = convert(given[name], type);
      if (value !== undefined) values[name] = value;
    }
    shape[group] = values;
  }
  return shape;
}

/** Facts from a row of the database with columns such as `line.number`: null is a missing fact. */
export function factsOfRow(row: Shape): Omit<Facts, 'now'> {
  const facts: Record<string, Shape> = {};
  for (const [path, value] of Object.entries(row)) {
    const type = declarationOf(path)?.type;
    if (type === undefined || value === null) continue;
    const [group = '', name = ''] = path.split('.');
    facts[group] ??= {};
    // Postgres sends a bigint as a string.
    facts[group][name] = type === 'int' ? Number(value) : value;
  }
  return facts;
}

/**
 * The facts that a condition read, for the record of its run: enough to understand the result, but no text, speech or
 * name. Numbers are masked to their last four digits.
 */
export function recordedFacts(facts: Facts, paths: readonly string[]): Shape {
  return Object.fromEntries(paths.map((path) => [path, recordedValue(facts, path)]));
}

function recordedValue(facts: Facts, path: string): unknown {
  const value = factAt(facts, path);
  if (value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((each) => (typeof each === 'string' ? maskNumbers(each) : each));
  if (typeof value !== 'string') return value;
  return declarationOf(path)?.isPrivate ? `(${value.length} characters)` : maskNumbers(value);
}

/** The fact at a path such as `message.text`, or `now`. */
export function factAt(facts: Facts, path: string): unknown {
  const [group = '', name] = path.split('.');
  const value = facts[group as keyof Facts];
  return name === undefined ? value : (value as Shape | undefined)?.[name];
}

/** The facts at these paths, in their groups; by default all. */
export function chosenFacts(facts: Facts, paths: readonly string[] = Object.keys(facts)): object {
  const all: Shape = {};
  for (const path of paths) {
    const [group = '', name] = path.split('.');
    const value = factAt(facts, path);
    all[group] = name === undefined ? value : { ...(all[group] as object | undefined), [name]: value };
  }
  return all;
}

/** A text in lower case with single spaces, without punctuation and accents: the fact `message.plain`. */
export function plainText(text: string): string {
  return normalize(normalize(text, 'NFKD').replace(/\p{M}+/gu, ''), 'NFC')
    .toLowerCase()
    .replace(/[’']/gu, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
