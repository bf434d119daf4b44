import { hash } from 'node:crypto';
import { type EventType, eventTypeOf } from '../shared/event-types.ts';
import { storableText } from '../shared/storable.ts';
import { readPairs, readTree, textOf } from './body.ts';
import { canonical, redactText } from './redact.ts';
import { type Reference, referencesIn } from './references.ts';

/** A webhook request as it arrived. */
export interface RawDelivery {
  /** The event type from the registered path. */
  pathType: string | undefined;
  query: string;
  body: Buffer;
  /** The secrets of our own address, which a body may repeat. */
  ownSecrets?: readonly string[];
}

export interface DeliveryFacts {
  /** The type from the path, or else from the body. */
  type: EventType | undefined;
  /** The type that the body states, which may contradict the path. */
  claimedType: EventType | undefined;
  references: readonly Reference[];
  /** The body has more references than {@link maxReferences}, so `references` has only the first ones. */
  isTruncated: boolean;
  /** The body to store: without secrets and URLs, as compact JSON if it could be parsed, and valid as Postgres text. */
  body: string;
  /** Equal for the same type and stored body. Identifies repeated deliveries, since events have no id. */
  fingerprint: string;
}

/**
 * Maximum references per delivery: more than any real batch has, and too few for a forged delivery to cause thousands
 * of reads.
 */
export const maxReferences = 500;

/** A shorter secret could occur within ordinary words. */
const shortestOwn = 6;

/** A text without the secrets of our own address. */
export function withoutOwn(text: string, secrets: readonly string[]): string {
  const long = secrets.filter((secret) => secret.length >= shortestOwn);
  return long.reduce((kept, secret) => kept.replaceAll(secret, '[redacted]'), text);
}

/** A body that isn't text and can't be decompressed is stored as a data URL, so that a later release can parse it. */
export const unreadMark = 'data:application/octet-stream;base64,';
const unreadMarkBytes = Buffer.from(unreadMark);

function decoded(stored: Buffer): Buffer {
  return Buffer.from(stored.subarray(unreadMark.length).toString('latin1'), 'base64');
}

/** A stored body as far as it can be searched: of bytes that nobody could read so far, each as a character. */
export function searchable(stored: string): string {
  return isUnread(stored) ? decoded(Buffer.from(stored)).toString('latin1') : stored;
}

/** Whether a stored body holds bytes that nobody could read so far. */
export function isUnread(stored: string): boolean {
  return stored.startsWith(unreadMark);
}

/**
 * Extracts the references of a delivery and redacts its body. Payloads aren't specified (section 6), so any shape is
 * accepted. Never throws. The work is bounded by the size of the body. If the body is empty, the query is parsed
 * instead.
 */
export function extract(
  { pathType, query, body, ownSecrets = [] }: RawDelivery,
  isOurLine: (number: string) => boolean,
  limit = maxReferences,
): DeliveryFacts {
  const bytes = body.subarray(0, unreadMark.length).equals(unreadMarkBytes) ? decoded(body) : body;
  const text = body.length > 0 ? textOf(bytes) : query;
  const tree = text === undefined ? undefined : readTree(text);
  const readable = tree ?? (text === undefined ? undefined : readPairs(text));
  const registered = pathType === undefined ? undefined : eventTypeOf(pathType);
  const { references, claimedType, isTruncated } =
    readable === undefined
      ? { references: [], claimedType: undefined, isTruncated: false }
      : referencesIn(readable, registered, isOurLine, limit);
  const type = registered ?? claimedType;
  const stored =
    text === undefined
      ? unreadMark + bytes.toString('base64')
      : tree === undefined
        ? redactText(storableText(text))
        : canonical(tree);
  const kept = withoutOwn(stored, ownSecrets);
  const fingerprint = hash('sha256', `${type ?? ''}\n${kept}`, 'base64url');
  return { type, claimedType, references, isTruncated, body: kept, fingerprint };
}
