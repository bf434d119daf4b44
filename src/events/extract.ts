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
  /** What is kept: without secrets and URLs, compact JSON where it could be read, storable as Postgres text. */
  body: string;
  /** The same for the same type and kept body: a repeated delivery, as far as one can tell without an event id. */
  fingerprint: string;
}

/** Numbers and ids that hints may name in all: one mebibyte holds no more, unless its groups are read in many ways. */
const maxNamed = 100_000;

/**
 * Turns a delivery into what is kept of it and what it points at. Payloads are not specified (section 6), so any shape
 * is read as far as it can be; this never throws and its work is bounded by the body's size. Without a body the query
 * is the delivery. All events of a body up to one mebibyte count; no two hints are the same.
 */
export function extract(delivery: Delivery, isOurLine: IsOurLine): DeliveryFacts {
  const { contentType, text } = contentOf(delivery);
  const tree = readTree(text, contentType);
  const registered = delivery.pathType === undefined ? undefined : eventTypeOf(delivery.pathType);
  const { hints, claimedType } = tree === undefined ? nothing : readHints(tree, registered, isOurLine);
  const type = registered ?? claimedType;
  const body = tree === undefined ? storableText(redactText(text)) : canonical(tree);
  const fingerprint = hash('sha256', `${type ?? ''}\n${body}`, 'base64url');
  return { type, claimedType, hints, body, fingerprint };
}

function contentOf({ body, query, contentType }: Delivery): { text: string; contentType: string | undefined } {
  if (body.length > 0 || query === '') return { text: body.toString('utf8'), contentType };
  return { text: query.startsWith('?') ? query.slice(1) : query, contentType: 'application/x-www-form-urlencoded' };
}

interface Reading {
  hints: readonly Hint[];
  claimedType: EventType | undefined;
}

const nothing: Reading = { hints: [], claimedType: undefined };

/**
 * Reads what the usual wrappers lead to, and only where nothing was found there, what any key leads to. The ids of texts
 * come last, since every object may have an id of its own.
 */
function readHints(tree: object, registered: EventType | undefined, isOurLine: IsOurLine): Reading {
  const nodes = walk(tree, 'wrappers');
  const hints = readEvents(nodes, registered, isOurLine);
  if (hints.length > 0) return readingOf(nodes, hints);
  const all = walk(tree, 'every key');
  const found = all.length > nodes.length ? readEvents(all, registered, isOurLine) : [];
  if (found.length > 0) return readingOf(all, found);
  const texts = collect(all, (node) => (typesOf(node, registered).includes('AccountSMS') ? messageHints(node) : []));
  return readingOf(all, texts);
}

function readingOf(nodes: EventNode[], hints: readonly Hint[]): Reading {
  return { hints, claimedType: nodes.find(({ claim }) => claim !== undefined)?.claim };
}

/** Reads every node as what it should be, and only where nothing at all was found, as what it turns out to be. */
function readEvents(nodes: EventNode[], registered: EventType | undefined, isOurLine: IsOurLine): readonly Hint[] {
  const expected = collect(nodes, (node) => typesOf(node, registered).flatMap((type) => readAs(type, node, isOurLine)));
  return expected.length > 0 ? expected : collect(nodes, (node) => readAsFound(node, registered, isOurLine));
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

/** The hints of all nodes, each once, in the order in which they were found. */
function collect(nodes: EventNode[], read: (node: EventNode) => Hint[]): readonly Hint[] {
  const distinct = new Map<string, Hint>();
  let named = 0;
  for (const node of nodes) {
    const hints = read(node);
    if (nodes.length === 1 && hints.length < 2) return hints;
    for (const hint of hints) {
      const key = hintKey(hint);
      if (distinct.has(key)) continue;
      distinct.set(key, hint);
      named += hint.kind === 'thread' ? Math.max(1, hint.participants.length) : 1;
      if (named >= maxNamed) return [...distinct.values()];
    }
  }
  return [...distinct.values()];
}
