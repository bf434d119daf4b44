import { hash } from 'node:crypto';
import { type EventType, eventTypeOf } from '../../event-types.ts';

/** The address of one event type. */
export function hookUrl(publicUrl: string, secret: string, type: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/hooks/${secret}/${type}`;
}

/**
 * Whether an address leads to `wanted`, one of ours: a service may write the host, a port, the type or the end in another
 * way, and the receiver takes whatever follows the type.
 */
export function sameAddress(shown: string, wanted: string): boolean {
  if (plain(shown) === plain(wanted)) return true;
  const [here, there] = [partsOf(shown), partsOf(wanted)];
  return here?.type !== undefined && here.type === there?.type && here.receiver === there.receiver;
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
  return hash('sha256', partsOf(url)?.receiver ?? plain(url), 'hex');
}

/** The receiver is told by the last `/hooks/{secret}`: a public address may hold such a path itself. */
function partsOf(url: string): { receiver: string; type: EventType | undefined } | undefined {
  const [, receiver, type = ''] = /^(.*\/hooks\/[^/]+)\/([^/]+)/.exec(plain(url)) ?? [];
  return receiver === undefined ? undefined : { receiver, type: eventTypeOf(type) };
}

function plain(url: string): string {
  const [address = ''] = (URL.canParse(url) ? new URL(url).href : url).split(/[?#]/, 1);
  return address.replace(/\/+$/, '');
}
