import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { OAuthClient, Scope, User } from '../account.ts';
import type { Context } from '../context.ts';

/** Escaped markup; only `html` creates it. */
interface Html {
  readonly markup: string;
}

type Value = string | Html | readonly Html[] | undefined | false;

/** Escapes every value except markup from `html`. Undefined and false render as nothing. */
function html(texts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { markup: texts.reduce((markup, text, at) => markup + markupOf(values[at - 1]) + text) };
}

function markupOf(value: Value): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
}

function page(title: string, content: Html): string {
  const head = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
`;
  return `${head.markup}<main>\n${content.markup}\n</main>\n</html>\n`;
}

/** The content security policy. Browsers apply `form-action` to the redirect after the form too. */
export function pagePolicy(redirectUri?: string): string {
  const targets = redirectUri === undefined ? "'none'" : `'self' ${new URL(redirectUri).origin}`;
  return `default-src 'none'; form-action ${targets}; base-uri 'none'; frame-ancestors 'none'`;
}

/** GET / and /_sandbox/: how to call the API and provoke events. */
export function controlPage(app: FastifyInstance, { store }: Pick<Context, 'store'>): void {
  const handler = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const key = store.keys.values().find(({ name }) => name === 'default')?.key ?? '';
    const base = `${request.protocol}://${request.host}`;
    const shown = page(
      'Trunkline sandbox',
      html`<h1>Sandbox of the telephony service</h1>
<p>A runnable implementation of the whole API with a generated account. Nothing here is real or costs money.</p>
<p>Every route is in the <a href="/openapi.json">OpenAPI document</a>.</p>
<p>The key <code>${key}</code> has all scopes:</p>
<pre>curl ${base}/api/public/v1/sms/lines -H 'Authorization: Bearer ${key}'</pre>
<p>The routes below <code>/_sandbox/</code> control the sandbox and need no credential. A text that arrives, a call that
ends, two answers that fail, and the seeded state again:</p>
<pre>curl -X POST ${base}/_sandbox/events/sms
curl -X POST ${base}/_sandbox/events/call
curl ${base}/_sandbox/faults -H 'content-type: application/json' -d '[{"kind":"answer","times":2}]'
curl -X POST ${base}/_sandbox/reset</pre>`,
    );
    return reply.type('text/html; charset=utf-8').header('content-security-policy', pagePolicy()).send(shown);
  };
  for (const url of ['/', '/_sandbox/']) app.get(url, handler);
}

interface Consent {
  client: OAuthClient;
  redirectUri: string;
  /** The requested scopes. */
  scopes: readonly Scope[];
  /** Identifies the request when the form is submitted. */
  ticket: string;
  /** Users with portal access, in display order. */
  users: readonly User[];
}

/** The page that asks a user to approve a client; the form is posted to the page's own address (5.3). */
export function consentPage({ client, redirectUri, scopes, ticket, users }: Consent): string {
  const options = users.map(
    ({ id, firstName, lastName, title }) =>
      html`<option value="${String(id)}">${firstName} ${lastName}${title && `, ${title}`}</option>
`,
  );
  const choices = scopes.map(
    (scope) => html`<label><input type="checkbox" name="scope" value="${scope}" checked> ${scope}</label><br>
`,
  );
  return page(
    `Allow ${client.name}?`,
    html`<h1><b>${client.name}</b> asks to act for you</h1>
<p>The program chose this name. You will return to ${new URL(redirectUri).host}.</p>
<form method="post">
<input type="hidden" name="ticket" value="${ticket}">
<label for="user">Sign in as</label>
<select id="user" name="user" required>
<option value="">Choose a user</option>
${options}</select>
<p>This is a sandbox: no password is needed. Your portal role still applies to what you allow:</p>
${choices}<button name="decision" value="deny" formnovalidate>Deny</button>
<button name="decision" value="allow">Allow</button>
</form>`,
  );
}

/** The page for a request whose redirect URI can't be trusted. */
export function refusalPage(message: string): string {
  return page(
    'This login cannot continue',
    html`<h1>This login cannot continue</h1>
<p>${message}</p>
<p>Go back to the page before, or to the program that sent you here.</p>`,
  );
}
