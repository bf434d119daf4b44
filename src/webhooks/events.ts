import { isCallId } from '../shared/call-id.ts';
import { type EventType, eventTypeOf } from '../shared/event-types.ts';
import { beginsLikeJson, openJson } from './body.ts';
import { traitsOf } from './keys.ts';

/** The fields of an object that references are read from, by normalised name. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object in a delivery that may be an event. */
export interface EventNode {
  readonly fields: Fields;
  readonly parent: EventNode | undefined;
  /** The event type that the object, or else the nearest enclosing object, states. */
  readonly claim: EventType | undefined;
  /** The calls that it names explicitly, not just by an `id`. */
  readonly callIds: readonly string[];
  /** An enclosing object names a call, so this object describes a leg. */
  readonly isWithinCall: boolean;
}

const maxDepth = 6;

/** More objects than fit into a mebibyte: each takes eight bytes. */
const maxContainers = 131_072;

/** Maximum failed parses per delivery, because they are expensive. */
const maxBroken = 10_000;

const typeFields = ['webhooktype', 'type', 'event'];

interface Step {
  readonly value: object;
  readonly depth: number;
  readonly parent: EventNode | undefined;
}

/**
 * Returns the objects of a delivery breadth-first, through arrays and the usual wrappers, at most six levels deep.
 * Parses wrappers that contain JSON text, in place, but never texts that people wrote.
 */
export function eventsIn(root: object): EventNode[] {
  const nodes: EventNode[] = [];
  const steps: Step[] = [{ value: root, depth: 0, parent: undefined }];
  let broken = 0;

  function follow(
    holder: Record<PropertyKey, unknown>,
    key: string | number,
    depth: number,
    parent: EventNode | undefined,
  ): void {
    if (depth > maxDepth || steps.length >= maxContainers) return;
    const value = holder[key];
    const container = typeof value === 'string' ? open(value) : value;
    if (typeof container !== 'object' || container === null) return;
    if (container !== value) holder[key] = container;
    steps.push({ value: container, depth, parent });
  }

  function open(text: string): object | undefined {
    if (broken >= maxBroken || !beginsLikeJson(text)) return undefined;
    const opened = openJson(text);
    if (opened === undefined) broken += 1;
    return opened;
  }

  for (let index = 0; index < steps.length; index++) {
    const { value, depth, parent } = steps[index] as Step;
    const values = value as Record<string, unknown>;
    if (Array.isArray(value)) {
      for (const at of value.keys()) follow(values, at, depth + 1, parent);
      continue;
    }
    const fields: Record<string, unknown> = {};
    const wrapped: string[] = [];
    for (const key in values) {
      const inner = values[key];
      if (inner === null || inner === undefined || inner === '') continue;
      const { field, isWrapper, isText } = traitsOf(key);
      if (field !== undefined) fields[field] ??= inner;
      if (isWrapper && !(isText && typeof inner === 'string')) wrapped.push(key);
    }
    const node = {
      fields,
      parent,
      claim: claimIn(fields) ?? parent?.claim,
      callIds: callIdsNamed(fields),
      isWithinCall: parent !== undefined && (parent.isWithinCall || parent.callIds.length > 0),
    };
    nodes.push(node);
    for (const key of wrapped) follow(values, key, depth + 1, node);
  }
  return nodes;
}

function claimIn(fields: Fields): EventType | undefined {
  for (const name of typeFields) {
    const word = fields[name];
    const type = typeof word === 'string' ? eventTypeOf(word) : undefined;
    if (type !== undefined) return type;
  }
  return undefined;
}

/** The call ids in fields that only calls have. */
function callIdsNamed({ callid, callids, call }: Fields): readonly string[] {
  if (callid === undefined && callids === undefined && typeof call !== 'string') return [];
  return [...callIdsIn(callid), ...callIdsIn(callids), ...(typeof call === 'string' ? callIdsIn(call) : [])];
}

/** The call ids in a field. Ignores integers, which are ids of transcripts or messages. */
export function callIdsIn(field: unknown): string[] {
  if (Array.isArray(field)) return field.flatMap((entry) => (typeof entry === 'string' ? callIdsIn(entry) : []));
  if (typeof field !== 'string') return [];
  const id = field.trim();
  return isCallId(id) ? [id] : [];
}
