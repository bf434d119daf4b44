import { hash } from 'node:crypto';
import { type EventType, eventTypeOf } from '../shared/event-types.ts';
import { readTree } from './body.ts';
import { canonical, redactText } from './redact.ts';
import { type Reference, referencesIn } from './references.ts';

/** A webhook request as it arrived. */
export interface RawDelivery {
  /** The event type's word in the registered path. */
  pathType: string | undefined;
  query: string;
  body: Buffer;
}

export interface DeliveryFacts {
  /** The registered type, from the path; from the body only where the path names none. */
  type: EventType | undefined;
  /** The type that the body claims, which may contradict the path. */
  claimedType: EventType | undefined;
  references: readonly Reference[];
  /** The body holds more references than {@link maxReferences}: `references` are the first of them. */
  isTruncated: boolean;
  /** What is kept: without secrets and URLs, compact JSON where it could be read, storable as Postgres text. */
  body: string;
  /** Equal for the same type and kept body. It recognizes repeated deliveries, which have no event id. */
  fingerprint: string;
}

/**
 * References that are taken from one delivery: more than any real batch holds, and few enough that a forged delivery
 * cannot ask for thousands of reads.
 */
export const maxReferences = 500;

/** Kept in the place of a body that holds NUL characters: it is no UTF-8 text, so that no secret in it can be redacted. */
const notText = '[not text]';

/**
 * Turns a delivery into what is kept of it and what it points at. Payloads are not specified (section 6), so any shape is
 * read as far as possible. Never throws; its work is bounded by the size of the body. Without a body the query is read.
 */
export function extract(
  { pathType, query, body }: RawDelivery,
  isOurLine: (number: string) => boolean,
  limit = maxReferences,
): DeliveryFacts {
  const text = body.length > 0 ? body.toString('utf8') : query;
  const tree = readTree(text);
  const registered = pathType === undefined ? undefined : eventTypeOf(pathType);
  const { references, claimedType, isTruncated } =
    tree === undefined
      ? { references: [], claimedType: undefined, isTruncated: false }
      : referencesIn(tree, registered, isOurLine, limit);
  const type = registered ?? claimedType;
  const kept = tree === undefined ? (text.includes('\0') ? notText : redactText(text)) : canonical(tree);
  const fingerprint = hash('sha256', `${type ?? ''}\n${kept}`, 'base64url');
  return { type, claimedType, references, isTruncated, body: kept, fingerprint };
}
