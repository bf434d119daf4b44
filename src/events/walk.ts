import { openJson } from './body.ts';
import { traitsOf } from './keys.ts';
import { createNode, type EventNode } from './node.ts';

const maxDepth = 6;

/** In one mebibyte there are no more objects with anything in them: each takes eight bytes. */
const maxContainers = 131_072;

interface Step {
  value: object;
  depth: number;
  parent: EventNode | undefined;
}

/**
 * The objects of a delivery breadth-first, through arrays and the usual wrappers, at most six levels down. A wrapper may hold its content as JSON text; a person's words are never opened.
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
  for (const entry of list) follow(entry, depth + 1, parent, steps);
}

function visitObject(object: Record<string, unknown>, { depth, parent }: Step, steps: Step[]): EventNode {
  const fields: Record<string, unknown> = {};
  let wrapped: unknown[] | undefined;
  for (const key in object) {
    const { field, isWrapper, isText } = traitsOf(key);
    const value = object[key];
    if (value === null || value === undefined) continue;
    if (field !== undefined) fields[field] ??= value;
    if (isWrapper && !(isText && typeof value === 'string')) {
      wrapped ??= [];
      wrapped.push(value);
    }
  }
  const node = createNode(fields, parent);
  for (const value of wrapped ?? []) follow(value, depth + 1, node, steps);
  return node;
}

function follow(value: unknown, depth: number, parent: EventNode | undefined, steps: Step[]): void {
  if (depth > maxDepth || steps.length >= maxContainers) return;
  const container = typeof value === 'string' ? openJson(value) : value;
  if (typeof container === 'object' && container !== null) steps.push({ value: container, depth, parent });
}
