import { beginsLikeJson, openJson } from './body.ts';
import { namedCalls, unnamedCalls } from './call-ids.ts';
import { traitsOf } from './keys.ts';
import { createNode, type EventNode } from './node.ts';

const maxDepth = 6;

/** In one mebibyte there are no more objects with anything in them: each takes eight bytes. */
const maxContainers = 131_072;

/** So many texts may begin like JSON and be none: to find that out costs far more than to write them. */
const mostBroken = 10_000;

/** Through which keys an object is entered: the usual wrappers, or every one that may lead to an event. */
export type Reach = 'wrappers' | 'every key';

interface Walk {
  readonly steps: Step[];
  readonly reach: Reach;
  broken: number;
}

interface Step {
  readonly value: object;
  readonly depth: number;
  readonly parent: EventNode | undefined;
  readonly entersAsStranger: boolean;
}

/**
 * The objects of a delivery breadth-first, through arrays and the wrappers in reach, at most six levels down. A wrapper
 * may hold its content as JSON text; a person's words and what is not kept are never opened.
 */
export function walk(root: object, reach: Reach): EventNode[] {
  const nodes: EventNode[] = [];
  const steps: Step[] = [{ value: root, depth: 0, parent: undefined, entersAsStranger: false }];
  const way: Walk = { steps, reach, broken: 0 };
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] as Step;
    if (Array.isArray(step.value)) visitList(step.value, step, way);
    else nodes.push(visitObject(step.value as Record<string, unknown>, step, way));
  }
  return nodes;
}

function visitList(list: unknown[], { depth, parent, entersAsStranger }: Step, way: Walk): void {
  for (const entry of list) follow(entry, depth + 1, parent, entersAsStranger, way);
}

function visitObject(object: Record<string, unknown>, { depth, parent, entersAsStranger }: Step, way: Walk): EventNode {
  const fields: Record<string, unknown> = {};
  let wrapped: unknown[] | undefined;
  let others: unknown[] | undefined;
  for (const key in object) {
    const { field, isWrapper, isText, isSecret } = traitsOf(key);
    const value = object[key];
    if (value === null || value === undefined || value === '') continue;
    if (field !== undefined) fields[field] ??= value;
    if (isText && typeof value === 'string') continue;
    if (isWrapper) {
      wrapped ??= [];
      wrapped.push(value);
    } else if (way.reach === 'every key' && !isSecret) {
      others ??= [];
      others.push(value);
    }
  }
  const node = createNode(fields, parent, entersAsStranger);
  for (const value of wrapped ?? []) follow(value, depth + 1, node, false, way);
  // What else a call holds tells of its legs, which may have call ids of their own.
  if (others && namedCalls(fields).length === 0 && unnamedCalls(fields).length === 0)
    for (const value of others) follow(value, depth + 1, node, true, way);
  return node;
}

function follow(
  value: unknown,
  depth: number,
  parent: EventNode | undefined,
  entersAsStranger: boolean,
  way: Walk,
): void {
  const { steps } = way;
  if (depth > maxDepth || steps.length >= maxContainers) return;
  const container = typeof value === 'string' ? open(value, way) : value;
  if (typeof container === 'object' && container !== null)
    steps.push({ value: container, depth, parent, entersAsStranger });
}

function open(text: string, way: Walk): object | undefined {
  if (way.broken >= mostBroken || !beginsLikeJson(text)) return undefined;
  const opened = openJson(text);
  if (opened === undefined) way.broken += 1;
  return opened;
}
