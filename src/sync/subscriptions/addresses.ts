import type { EventType } from '../../event-types.ts';

/** The address of one event type. */
export function hookUrl(publicUrl: string, secret: string, type: EventType): string {
  return `${publicUrl}/hooks/${secret}/${type}`;
}

export function sameAddress(a: string, b: string): boolean {
  return a.replace(/\/+$/, '') === b.replace(/\/+$/, '');
}

/** Whether an address is one of this receiver's, under its present or its previous secret. */
export function isOurAddress(
  receiver: { publicUrl: string | undefined; secret: string | undefined; previousSecret?: string | undefined },
  url: string,
): boolean {
  const { publicUrl, secret, previousSecret } = receiver;
  if (publicUrl === undefined) return false;
  return [secret, previousSecret].some((each) => each !== undefined && url.startsWith(`${publicUrl}/hooks/${each}/`));
}
