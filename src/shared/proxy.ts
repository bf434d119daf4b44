import type { Agent, Dispatcher } from 'undici';

/* HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in upper or lower case. This machine is never asked through a proxy. */

/** A dispatcher for requests to `url` that honours these variables. Whoever opens it closes it. */
export async function openAgent(url: string, options: Agent.Options = {}): Promise<Dispatcher> {
  // It takes a tenth of a second to load, and most commands make no request.
  const { Agent, EnvHttpProxyAgent } = await import('undici');
  if (proxyFor(new URL(url)) === undefined) return new Agent(options);
  const { connect } = options;
  const tls = typeof connect === 'object' ? { requestTls: connect, proxyTls: connect } : {};
  return new EnvHttpProxyAgent({ ...options, ...tls });
}

/** The proxy to reach `url` through, whatever its protocol. Undefined without one, and for a host of NO_PROXY. */
export function proxyOf(url: string): string | undefined {
  const parsed = new URL(url);
  const host = hostOf(parsed);
  const isExempt = variable('NO_PROXY')
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      const exempt = URL.parse(`none://${entry}`) ?? URL.parse(`none://[${entry}]`);
      if (!exempt?.hostname || (exempt.port !== '' && exempt.port !== parsed.port)) return false;
      const name = hostOf(exempt).replace(/^\*?\./, '');
      return name === '*' || host === name || host.endsWith(`.${name}`);
    });
  return isExempt ? undefined : proxyFor(parsed);
}

function proxyFor(url: URL): string | undefined {
  if (isLoopback(hostOf(url))) return undefined;
  return (url.protocol === 'http:' ? '' : variable('HTTPS_PROXY')) || variable('HTTP_PROXY') || undefined;
}

/** Whether a host is this machine, as one that isn't given is. */
export function isLoopback(host: string | undefined): boolean {
  return host === undefined || host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Whether a URL points to this machine; false when it can't be parsed. */
export function isLoopbackUrl(url: string): boolean {
  return URL.canParse(url) && isLoopback(hostOf(new URL(url)));
}

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, '').toLowerCase();
const variable = (name: string) => process.env[name.toLowerCase()] ?? process.env[name] ?? '';
