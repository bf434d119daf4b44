import { type EventType, eventTypeOf } from '../shared/event-types.ts';
import { readTree } from './body.ts';
import { canonical } from './redact.ts';
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
  /** Of a body with references: compact JSON without secrets and addresses, valid as Postgres text. Else empty. */
  body: string;
  /** A body without references, as it arrived: a later release may read it. */
  unread: Buffer | undefined;
}

/** Maximum references per delivery: real batches have fewer, and a forged delivery can't cause thousands of reads. */
export const maxReferences = 500;

/** A shorter secret could occur within ordinary words. */
const shortestOwn = 6;

/** A text without the secrets of our own address. */
export function withoutOwn(text: string, secrets: readonly string[]): string {
  const long = secrets.filter((secret) => secret.length >= shortestOwn);
  return long.reduce((kept, secret) => kept.replaceAll(secret, '[redacted]'), text);
}

/**
 * Extracts the references of a delivery and redacts its body. Payloads aren't specified (section 6), so wrappers, lists
 * and forms are accepted too. Never throws. The work is bounded by the size of the body. If the body is empty, the
 * query is parsed instead.
 */
export function extract(
  { pathType, query, body, ownSecrets = [] }: RawDelivery,
  isOurLine: (number: string) => boolean,
): DeliveryFacts {
  const bytes = body.length > 0 ? body : Buffer.from(query);
  const tree = readTree(bytes.toString());
  const registered = pathType === undefined ? undefined : eventTypeOf(pathType);
  const found = tree && referencesIn(tree, registered, isOurLine, maxReferences);
  const claimedType = found?.claimedType;
  const type = registered ?? claimedType;
  if (tree === undefined || found === undefined || found.references.length === 0) {
    const unread = bytes.length > 0 ? bytes : undefined;
    return { type, claimedType, references: [], isTruncated: false, body: '', unread };
  }
  const { references, isTruncated } = found;
  return {
    type,
    claimedType,
    references,
    isTruncated,
    body: withoutOwn(canonical(tree), ownSecrets),
    unread: undefined,
  };
}
