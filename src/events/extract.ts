import { hash } from 'node:crypto';
import { type EventType, eventTypeOf } from '../event-types.ts';
import { storableText } from '../storable.ts';
import { readTree } from './body.ts';
import { callHints } from './calls.ts';
import { type Hint, hintKey } from './hint.ts';
import type { EventNode } from './node.ts';
import { canonical, redactText } from './redact.ts';
import { messageHints, threadHints } from './threads.ts';
import { walk } from './walk.ts';

type IsOurLine = (number: string) => boolean;

/** A webhook request as it arrived. `pathType` is the event type's word in the path that was registered. */
export interface Delivery {
  pathType: string | undefined;
  contentType: string | undefined;
  query: string;
  body: Buffer;
}

export interface DeliveryFacts {
  /** The registered type, from the path; from the body only where the path names none. */
  type: EventType | undefined;
  /** What the body says it is, which may contradict the path. */
  claimedType: EventType | undefined;
  hints: readonly Hint[];
  /** The body holds more references than {@link maxReferences}: `hints` are the first of them. */
  isCut: boolean;
  /** What is kept: without secrets and URLs, compact JSON where it could be read, storable as Postgres text. */
  body: string;
  /** The same for the same type and kept body: a repeated delivery, as far as one can tell without an event id. */
  fingerprint: string;
}

/**
 * References that are taken from one delivery: far more than a batch of events ever held, and few enough that a delivery
 * that nobody may have sent cannot ask for thousands of reads.
 */
export const maxReferences = 500;

/** Numbers that hints may name in all, whatever the limit: the groups of one mebibyte can be read in many ways. */
const maxNamed = 100_000;

/**
 * Turns a delivery into what is kept of it and what it points at. Payloads are not specified (section 6), so any shape
 * is read as far as it can be; this never throws and its work is bounded by the body's size. Without a body the query
 * is the delivery. No two hints are the same, and there are at most `limit` of them.
 */
export function extract(delivery: Delivery, isOurLine: IsOurLine, limit = maxReferences): DeliveryFacts {
  const { contentType, text } = contentOf(delivery);
  const tree = readTree(text, contentType);
  const registered = delivery.pathType === undefined ? undefined : eventTypeOf(delivery.pathType);
  const { hints, claimedType, isCut } = tree === undefined ? nothing : readHints(tree, registered, isOurLine, limit);
  const type = registered ?? claimedType;
  const body = tree === undefined ? storableText(redactText(text)) : canonical(tree);
  const fingerprint = hash('sha256', `${type ?? ''}\n${body}`, 'base64url');
  return { type, claimedType, hints, isCut, body, fingerprint };
}

function contentOf({ body, query, contentType }: Delivery): { text: string; contentType: string | undefined } {
  if (body.length > 0 || query === '') return { text: body.toString('utf8'), contentType };
  return { text: query.startsWith('?') ? query.slice(1) : query, contentType: 'application/x-www-form-urlencoded' };
}

/** The first distinct hints of a body, and whether it holds more. */
interface Collected {
  hints: readonly Hint[];
  isCut: boolean;
}

interface Reading extends Collected {
  claimedType: EventType | undefined;
}

const nothing: Reading = { hints: [], isCut: false, claimedType: undefined };

/**
 * Reads what the usual wrappers lead to, and only where nothing was found there, what any key leads to. The ids of texts
 * come last, since every object may have an id of its own.
 */
function readHints(tree: object, registered: EventType | undefined, isOurLine: IsOurLine, limit: number): Reading {
  const nodes = walk(tree, 'wrappers');
  const collected = readEvents(nodes, registered, isOurLine, limit);
  if (collected.hints.length > 0) return readingOf(nodes, collected);
  const all = walk(tree, 'every key');
  const found = all.length > nodes.length ? readEvents(all, registered, isOurLine, limit) : nothing;
  if (found.hints.length > 0) return readingOf(all, found);
  const isText = (node: EventNode) => typesOf(node, registered).includes('AccountSMS');
  return readingOf(
    all,
    collect(all, limit, (node) => (isText(node) ? messageHints(node) : [])),
  );
}

function readingOf(nodes: EventNode[], { hints, isCut }: Collected): Reading {
  return { hints, isCut, claimedType: nodes.find(({ claim }) => claim !== undefined)?.claim };
}

/** Reads every node as what it should be, and only where nothing at all was found, as what it turns out to be. */
function readEvents(
  nodes: EventNode[],
  registered: EventType | undefined,
  isOurLine: IsOurLine,
  limit: number,
): Collected {
  const expected = collect(nodes, limit, (node) =>
    typesOf(node, registered).flatMap((type) => readAs(type, node, isOurLine)),
  );
  if (expected.hints.length > 0) return expected;
  return collect(nodes, limit, (node) => readAsFound(node, registered, isOurLine));
}

/**
 * What an event is read as. One that contradicts its path is read as both: the body can be wrong, and a subscription can
 * have been retyped at the service. But what says it is a call, and names one, is no text, though it names two numbers.
 */
function typesOf({ claim, callIds }: EventNode, registered: EventType | undefined): (EventType | undefined)[] {
  if (claim === undefined || registered === undefined || claim === registered) return [registered ?? claim];
  return registered === 'AccountSMS' && callIds.length > 0 ? [claim] : [registered, claim];
}

/** A text may name a call too; its mere `id` is its own. */
function readAs(type: EventType | undefined, node: EventNode, isOurLine: IsOurLine): Hint[] {
  if (type !== 'AccountSMS') return callHints(node, type);
  const threads = threadHints(node, isOurLine);
  return node.callIds.length === 0 ? threads : [...threads, ...callHints(node, type)];
}

/**
 * A call id tells a call by itself, but two numbers make a conversation only where nothing says that the event is about
 * something else.
 */
function readAsFound(node: EventNode, registered: EventType | undefined, isOurLine: IsOurLine): Hint[] {
  const calls = callHints(node, node.claim);
  if (calls.length > 0) return calls;
  return (node.claim ?? registered ?? 'AccountSMS') === 'AccountSMS' ? threadHints(node, isOurLine) : [];
}

/** The first hints of all nodes, each once, in the order in which they were found. */
function collect(nodes: EventNode[], limit: number, read: (node: EventNode) => Hint[]): Collected {
  const distinct = new Map<string, Hint>();
  let named = 0;
  for (const node of nodes) {
    const hints = read(node);
    if (nodes.length === 1 && hints.length < 2) return { hints, isCut: false };
    for (const hint of hints) {
      const key = hintKey(hint);
      if (distinct.has(key)) continue;
      if (distinct.size === limit || named >= maxNamed) return { hints: [...distinct.values()], isCut: true };
      distinct.set(key, hint);
      named += hint.kind === 'thread' ? Math.max(1, hint.participants.length) : 1;
    }
  }
  return { hints: [...distinct.values()], isCut: false };
}
