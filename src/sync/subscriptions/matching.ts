import { hash } from 'node:crypto';
import type { Subscription } from '../../api-client/client.ts';
import { type EventType, eventTypeOf } from '../../shared/event-types.ts';

/** A receiver: where it is reached, and the secrets in its addresses. */
export interface ReceiverAddress {
  readonly publicUrl: string | undefined;
  readonly secret: string | undefined;
  readonly previousSecret?: string | undefined;
}

/** The delivery address of one event type. It contains the secret. */
export function hookUrl(publicUrl: string, secret: string, type: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/hooks/${secret}/${type}`;
}

/**
 * Whether a subscription delivers to `url`, one of our addresses. Compares addresses as URLs, and by event type rather
 * than spelling: the service may append the name of the trigger.
 */
export function deliversTo({ url: actual }: Subscription, url: string): boolean {
  return actual !== undefined && sameAddress(actual, url);
}

export function sameAddress(actual: string, wanted: string): boolean {
  if (normalized(actual) === normalized(wanted)) return true;
  const [a, b] = [partsOf(actual), partsOf(wanted)];
  return a?.type !== undefined && a.type === b?.type && a.receiver === b.receiver;
}

/** Whether an address is one of this receiver's, under its present or its previous secret. */
export function isOurAddress({ publicUrl, secret, previousSecret }: ReceiverAddress, url: string | undefined): boolean {
  if (publicUrl === undefined || url === undefined) return false;
  return [secret, previousSecret].some(
    (each) => each !== undefined && normalized(url).startsWith(`${normalized(publicUrl)}/hooks/${each}/`),
  );
}

/** Identifies a receiver by its public URL and its secret, without revealing the secret. */
export function receiverAt(publicUrl: string, secret: string): string {
  return receiverOf(hookUrl(publicUrl, secret, 'any'));
}

/** Identifies the receiver of an address without revealing its secret. */
export function receiverOf(url: string): string {
  return hash('sha256', partsOf(url)?.receiver ?? normalized(url), 'hex');
}

/**
 * The address of another receiver, up to its secret; undefined for ours, and for an address that isn't a receiver's.
 */
export function otherReceiverOf(own: ReceiverAddress, url: string): string | undefined {
  const receiver = partsOf(url)?.receiver;
  return receiver === undefined || isOurAddress(own, url) ? undefined : receiver.slice(0, receiver.lastIndexOf('/'));
}

/** The last `/hooks/{secret}` counts: PUBLIC_URL may contain such a path itself. */
function partsOf(url: string): { receiver: string; type: EventType | undefined } | undefined {
  const [, receiver, type = ''] = /^(.*\/hooks\/[^/]+)\/([^/]+)/.exec(normalized(url)) ?? [];
  return receiver === undefined ? undefined : { receiver, type: eventTypeOf(type) };
}

function normalized(url: string): string {
  const [address = ''] = (URL.canParse(url) ? new URL(url).href : url).split(/[?#]/, 1);
  // A pattern such as /\/+$/ takes quadratic time on an address with many slashes.
  let end = address.length;
  while (address[end - 1] === '/') end -= 1;
  return address.slice(0, end);
}
