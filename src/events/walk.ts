import { openJson } from './body.ts';
import { traitsOf } from './keys.ts';

const maxDepth = 6;
const maxNodes = 2_000;

/** An object in a delivery that may be an event: what it says of itself, and what encloses it. */
export interface EventNode {
  fields: Readonly<Record<string, unknown>>;
  parent: EventNode | undefined;
}

interface Step {
  value: object;
  depth: number;
  parent: EventNode | undefined;
}

/**
 * The objects of a delivery breadth-first, through arrays and the usual wrappers, at most six levels down and 2,000
 * containers in all. A wrapper may hold its content as JSON text; a person's words are never opened.
 */
export function walk(root: object): EventNode[] {
  const nodes: EventNode[] = [];
  const steps: Step[] = [{ value: root, depth: 0, parent: undefined }];
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] as Step;
    if (Array.isArray(step.value)) visitList(step.value, step, steps);
    else nodes.push(visitObject(step.value as Record<string, unknown>, step, steps));
  }
  return nodes;
}

function visitList(list: unknown[], { depth, parent }: Step, steps: Step[]): void {
  const end = Math.min(list.length, maxNodes);
  for (let at = 0; at < end; at++) follow(list[at], depth + 1, parent, steps);
}

function visitObject(object: Record<string, unknown>, { depth, parent }: Step, steps: Step[]): EventNode {
  const fields: Record<string, unknown> = {};
  const node = { fields, parent };
  for (const key in object) {
    const { field, isWrapper, isText } = traitsOf(key);
    const value = object[key];
    if (value === null || value === undefined) continue;
    if (field !== undefined) fields[field] ??= value;
    if (isWrapper && !(isText && typeof value === 'string')) follow(value, depth + 1, node, steps);
  }
  return node;
}

function follow(value: unknown, depth: number, parent: EventNode | undefined, steps: Step[]): void {
  if (depth > maxDepth || steps.length >= maxNodes) return;
  const container = typeof value === 'string' ? openJson(value) : value;
  if (typeof container === 'object' && container !== null) steps.push({ value: container, depth, parent });
}

/** The first of the named fields that the object has. */
export function own(node: EventNode, names: readonly string[]): unknown {
  for (const name of names) {
    const value = node.fields[name];
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The first of the named fields, of the object itself or of the nearest one that encloses it. */
export function inherited(node: EventNode, names: readonly string[]): unknown {
  for (let at: EventNode | undefined = node; at !== undefined; at = at.parent) {
    const value = own(at, names);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The same as a word to compare: lower-cased and trimmed, empty when it is not there or not text. */
export function inheritedWord(node: EventNode, names: readonly string[]): string {
  const value = inherited(node, names);
  return typeof value === 'string' ? value.trim().toLowerCase() : '';
}
