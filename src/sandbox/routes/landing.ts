import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { html } from '../oauth/page/markup.ts';

/** GET / and /_sandbox/: says to whoever opens the sandbox in a browser what it is, and where to go from here. */
export function landingRoutes(app: FastifyInstance, { store }: Pick<Context, 'store'>): void {
  const show = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const key = store.keys.values().find(({ name }) => name === 'default')?.key ?? '';
    const base = `${request.protocol}://${request.host}`;
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      .send(landingPage(base, key));
  };
  for (const url of ['/', '/_sandbox/']) app.get(url, { schema: { hide: true } }, show);
}

const controls = [
  ['POST /_sandbox/events/sms, call, transcript', 'make a text, a call or a transcript happen now'],
  ['POST /_sandbox/faults', 'make the API slow or failing, deliveries late, doubled, lost; an empty body ends it'],
  ['POST /_sandbox/scripts', 'let faults come and go by themselves: flaky, slow, outage, late, drift, shuffle'],
  ['GET /_sandbox/requests, sends, deliveries, state', 'see what was asked, charged, delivered, and what there is'],
  ['POST /_sandbox/keys', 'make an API key with the scopes you name'],
  ['POST /_sandbox/tokens', 'make a token that acts for a user, without the login'],
  ['POST /_sandbox/customers/{number}', 'let a customer answer every text by itself'],
  ['PATCH /_sandbox/account', 'change rates and restrictions of the account'],
  ['POST /_sandbox/reset', 'begin again'],
] as const;

function landingPage(base: string, key: string): string {
  const rows = controls.map(([route, does]) => html`<tr><td><code>${route}</code><td>${does}`);
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Trunkline sandbox</title>
<style>${css}</style>
<main>
<h1>Sandbox of the telephony service</h1>
<p>A runnable implementation of the whole API: an invented account with lines, texts, calls, recordings and transcripts.
Nothing here is real, nothing leaves this machine but webhooks, and nothing costs money.</p>
<p class="doors"><a href="/docs">Browse the API</a> <a href="/openapi.json">OpenAPI document</a></p>
<h2>Ask it something</h2>
<pre>curl ${base}/api/public/v1/sms/lines \\
  -H 'Authorization: Bearer ${key}'</pre>
<p>The key <code>${key}</code> has all scopes. Any client of the service runs against this address unchanged.</p>
<h2>Make things happen</h2>
<p>These routes are the sandbox’s own and ask for no credential.</p>
<table>
${rows}
</table>
</main>
`.markup;
}

const css = {
  markup: `
:root { color-scheme: light dark; --quiet: light-dark(#5b6472, #9aa4b2); --line: light-dark(#d8dce3, #343a44);
  --wash: light-dark(#f4f6f8, #1d2127); --accent: light-dark(#0b5fc0, #7db4ff) }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; background: light-dark(#fff, #14171b); color: light-dark(#1b1f24, #e6e9ed) }
main { max-width: 46rem; margin: 0 auto; padding: 2.5rem 1.25rem }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .8rem }
h2 { font-size: 1.1rem; margin: 2rem 0 .4rem }
p { margin: .5rem 0 }
a { color: var(--accent) }
.doors { display: flex; flex-wrap: wrap; gap: .6rem; margin-top: 1.2rem }
.doors a { padding: .45rem .9rem; border: 1px solid var(--accent); border-radius: .4rem; text-decoration: none }
code, pre { font: .88em/1.5 ui-monospace, monospace }
pre { padding: .8rem 1rem; background: var(--wash); border-radius: .4rem; white-space: pre-wrap; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100%; margin-top: .6rem }
td { padding: .5rem .8rem .5rem 0; border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }
td + td { color: var(--quiet) }
@media (max-width: 560px) { td { display: block; padding-right: 0 } td + td { border: 0; padding-top: 0 } }
`,
};
