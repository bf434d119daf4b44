import type { AccountSettings } from '../entities/settings.ts';

type Operator = Pick<AccountSettings, 'redirectHosts' | 'plainLoopbackRedirects'>;

const loopback = ['localhost', '127.0.0.1'];

/** Why nobody may be sent to this address after an approval (5.3), or undefined when it will do. */
export function faultOfRedirect(uri: string, { redirectHosts, plainLoopbackRedirects }: Operator): string | undefined {
  if (!URL.canParse(uri)) return 'is not an address';
  const { protocol, hostname, username, password } = new URL(uri);
  if (uri.includes('#')) return 'must not have a fragment';
  if (username !== '' || password !== '') return 'must not have a user or a password';
  const isPlainLoopback = plainLoopbackRedirects && protocol === 'http:' && loopback.includes(hostname);
  if (protocol !== 'https:' && !isPlainLoopback) return 'must be HTTPS';
  if (!redirectHosts.includes(hostname)) return `has the host ${hostname}, which is not on the operator's allow-list`;
  return undefined;
}

/** The address with what the program is to learn, beside the query that it may have. */
export function redirectTo(uri: string, answer: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(uri);
  for (const [key, value] of Object.entries(answer)) if (value !== undefined) url.searchParams.append(key, value);
  return url.href;
}
