import { hash } from 'node:crypto';
import { type EventType, eventTypeOf } from '../shared/event-types.ts';
import { readTree } from './body.ts';
import { canonical, redactText } from './redact.ts';
import { type Reference, referencesIn } from './references.ts';

/** A webhook request as it arrived. */
export interface RawDelivery {
  /** The event type in the registered path. */
  pathType: string | undefined;
  query: string;
  body: Buffer;
}

export interface DeliveryFacts {
  /** The type from the path, or from the body if the path has none. */
  type: EventType | undefined;
  /** The type that the body claims, which may contradict the path. */
  claimedType: EventType | undefined;
  references: readonly Reference[];
  /** The body holds more references than {@link maxReferences}: `references` are the first of them. */
  isTruncated: boolean;
  /** The body to store: without secrets and URLs, as compact JSON if it could be parsed, storable as Postgres text. */
  body: string;
  /** Equal for the same type and stored body. Identifies repeated deliveries, which have no event id. */
  fingerprint: string;
}

/**
 * The maximum number of references from one delivery: more than any real batch has, and too few for a forged delivery to cause
 * thousands of reads.
 */
export const maxReferences = 500;

/** Stored instead of a body with NUL characters: it is not UTF-8 text, so its secrets could not be redacted. */
const notText = '[not text]';

/**
 * Extracts the references of a delivery, and redacts its body. Payloads are not specified (section 6), so it accepts any shape.
 * Never throws; its work is bounded by the size of the body. If the body is empty, it parses the query instead.
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
