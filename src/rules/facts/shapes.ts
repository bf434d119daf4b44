import { maskNumbers } from '../../masking.ts';
import { declarationOf, declaredFacts, type FactGroup, type Facts } from './declared.ts';

type Shape = Record<string, unknown>;

/**
 * One class for each group of facts: CEL takes an instance as it is, where it would convert a plain object again for every
 * condition.
 */
export const groupClasses = Object.fromEntries(
  Object.keys(declaredFacts).map((group) => [group, class {}]),
) as unknown as Readonly<Record<FactGroup, new () => object>>;

/** Facts as CEL takes them: integers as BigInt, and what is missing is no key at all, so that `has(…)` tells. */
export function celFacts(facts: Facts): Shape {
  const shape = shaped(facts, (value, type) => {
    if (value === undefined) return undefined;
    if (type === 'int') return BigInt(value as number);
    return type === 'list<int>' ? (value as readonly number[]).map(BigInt) : value;
  });
  for (const [group, values] of Object.entries(shape)) {
    if (group !== 'now') shape[group] = Object.assign(new groupClasses[group as FactGroup](), values);
  }
  return shape;
}

/** Facts as templates take them: what is missing is nil, while a misspelt name is an error. */
export function templateFacts(facts: Facts): Shape {
  const shape = templateShapes.get(facts) ?? shaped(facts, (value) => value ?? null);
  templateShapes.set(facts, shape);
  return shape;
}

// Many rules ask and write about one event.
const templateShapes = new WeakMap<Facts, Shape>();
const notes = new WeakMap<Facts, Shape>();

function shaped(facts: Facts, convert: (value: unknown, type: string) => unknown): Shape {
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

/**
 * The facts that a rule asked for, as its run keeps them: enough to understand the reason, and nothing that anybody wrote,
 * said or is called. Of numbers the last four digits are left.
 */
export function notedFacts(facts: Facts, paths: readonly string[]): Shape {
  const known = notes.get(facts) ?? {};
  notes.set(facts, known);
  const chosen: Shape = {};
  for (const path of paths) {
    if (!(path in known)) known[path] = noted(facts, path);
    chosen[path] = known[path];
  }
  return chosen;
}

function noted(facts: Facts, path: string): unknown {
  if (path === 'now') return facts.now.toISOString();
  const [group = '', name = ''] = path.split('.');
  const value = (facts[group as FactGroup] as Shape | undefined)?.[name];
  if (value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'string') return value;
  return declarationOf(path)?.isPrivate ? `(${value.length} characters)` : maskNumbers(value);
}
