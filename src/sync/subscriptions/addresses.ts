import { hash } from 'node:crypto';
import type { EventType } from '../../event-types.ts';

/** The address of one event type. */
export function hookUrl(publicUrl: string, secret: string, type: EventType): string {
  return `${publicUrl.replace(/\/+$/, '')}/hooks/${secret}/${type}`;
}

/** Whether two addresses lead to the same place: a service may write the host, a port or the end in another way. */
export function sameAddress(a: string, b: string): boolean {
  return plain(a) === plain(b);
}

/** Whether an address is one of this receiver's, under its present or its previous secret. */
export function isOurAddress(
  receiver: { publicUrl: string | undefined; secret: string | undefined; previousSecret?: string | undefined },
  url: string,
): boolean {
  const { publicUrl, secret, previousSecret } = receiver;
  if (publicUrl === undefined) return false;
  return [secret, previousSecret].some(
    (each) => each !== undefined && plain(url).startsWith(`${plain(publicUrl)}/hooks/${each}/`),
  );
}

/** Names the receiver that an address leads to, without telling its secret. */
export function receiverOf(url: string): string {
  return hash('sha256', plain(url).replace(/\/[^/]*$/, ''), 'hex');
}

function plain(url: string): string {
  return (URL.canParse(url) ? new URL(url).href : url).replace(/\/+$/, '');
}
