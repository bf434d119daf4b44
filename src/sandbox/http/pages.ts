import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { OAuthClient, Scope, User } from '../account.ts';
import type { Context } from '../context.ts';

/** Escaped markup; only `html` creates it. */
interface Html {
  readonly markup: string;
}

type Value = string | Html | readonly Html[] | undefined | false;

/** Escapes every value except markup from `html`. Undefined and false render as nothing. */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { markup: texts.reduce((markup, text, at) => markup + markupOf(values[at - 1]) + text) };
}

function markupOf(value: Value): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
}

/** GET / and /_sandbox/: the landing page for browsers. */
export function landingRoutes(app: FastifyInstance, { store }: Pick<Context, 'store'>): void {
  const handler = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const key = store.keys.values().find(({ name }) => name === 'default')?.key ?? '';
    const base = `${request.protocol}://${request.host}`;
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', pagePolicy())
      .send(landingPage(base, key));
  };
  for (const url of ['/', '/_sandbox/']) app.get(url, { schema: { hide: true }, handler });
}

const controls = [
  ['POST /_sandbox/events/sms, call, transcript', 'create a text, a call or a transcript now'],
  ['POST /_sandbox/faults', 'make the API slow or failing, deliveries late, repeated or lost; an empty body ends it'],
  ['POST /_sandbox/scripts', 'run a fault scenario: flaky, slow, outage, late, drift, shuffle'],
  ['GET /_sandbox/requests, sends, deliveries, state', 'list requests, charges and deliveries; count everything'],
  ['POST /_sandbox/keys', 'create an API key with the given scopes'],
  ['POST /_sandbox/tokens', 'create a token for a user without a login'],
  ['POST /_sandbox/customers/{number}', 'let a customer answer every text automatically'],
  ['PATCH /_sandbox/account', 'change rates and restrictions of the account'],
  ['POST /_sandbox/reset', 'restore the seeded state'],
] as const;

function landingPage(base: string, key: string): string {
  const rows = controls.map(([route, does]) => html`<tr><td><code>${route}</code><td>${does}`);
  return page(
    'Trunkline sandbox',
    html`<h1>Sandbox of the telephony service</h1>
<p>A runnable implementation of the whole API: a generated account with lines, texts, calls, recordings and transcripts.
Nothing here is real or costs money, and only webhooks leave this machine.</p>
<p class="links"><a href="/docs">Browse the API</a> <a href="/openapi.json">OpenAPI document</a></p>
<h2>Call the API</h2>
<pre>curl ${base}/api/public/v1/sms/lines \\
  -H 'Authorization: Bearer ${key}'</pre>
<p>The key <code>${key}</code> has all scopes. Any client of the service works with this address unchanged.</p>
<h2>Control the sandbox</h2>
<p>These routes are not part of the service and need no credential.</p>
<table>
${rows}
</table>`,
  );
}

/** What a scope allows, for the consent page (5.1), with the portal permission that it needs (5.2). */
const scopeWords: Record<Scope, { does: string; note?: string; permission?: string; isRisky?: true }> = {
  'webhooks:read': { does: 'See webhook subscriptions' },
  'webhooks:write': { does: 'Change webhook subscriptions', note: 'Create, update, delete, enable and disable.' },
  'reports:read': { does: 'Read the call history', permission: 'Call reports' },
  'users:read': { does: 'See the users of the account', note: 'Personal data.', permission: 'Users' },
  'sms:read': { does: 'See the lines that can text, and blocked senders', permission: 'Phone numbers' },
  'sms:write': {
    does: 'Manage conversations',
    note: 'Resolve, reopen, assign, comment, block, drafts and saved replies. Cannot send.',
    permission: 'Phone numbers',
  },
  'sms:send': { does: 'Send texts and pictures', note: 'Spends money.', permission: 'Phone numbers', isRisky: true },
  'recordings:read': {
    does: 'Hear recordings and read transcripts of calls',
    permission: 'Call reports, allow recordings',
  },
  'messages:read': { does: 'Read texts and unread counts', permission: 'Phone numbers' },
  'messages:write': {
    does: 'Mark texts read, and delete them',
    note: 'Deleted messages cannot be restored.',
    permission: 'Phone numbers',
    isRisky: true,
  },
};

/** Inline style sheet of all pages; their content security policy has its hash. */
const style = `
:root { color-scheme: light dark; --paper: light-dark(#f3f4f6, #121417); --card: light-dark(#fff, #1a1d22);
  --ink: light-dark(#1b1f24, #e8eaed); --soft: light-dark(#5b6472, #9aa4b2); --line: light-dark(#d5dae1, #343a44);
  --accent: light-dark(#0b5fc0, #7db4ff); --on-accent: light-dark(#fff, #0c1420); --grave: light-dark(#a3420a, #f0a36a) }
* { box-sizing: border-box; margin: 0 }
body { font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; background: var(--paper); color: var(--ink);
  -webkit-text-size-adjust: 100%; overflow-wrap: anywhere }
main { max-width: 33rem; margin: 6vh auto; padding: 2rem 2.25rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .75rem }
main:has(table) { max-width: 48rem }
h1 { font-size: 1.4rem; line-height: 1.3; font-weight: 500; letter-spacing: -.01em; margin-bottom: .35rem; text-wrap: balance }
p + p { margin-top: .6rem }
h2 { font-size: 1.1rem; margin: 1.75rem 0 .35rem }
a { color: var(--accent) }
.links { display: flex; flex-wrap: wrap; gap: .6rem 1.5rem }
pre { margin: .6rem 0; padding: .7rem .9rem; background: var(--paper); font: .875rem/1.5 ui-monospace, monospace; white-space: pre-wrap }
table { margin-top: .6rem; border-collapse: collapse }
td { padding: .5rem .8rem .5rem 0; border-top: 1px solid var(--line); vertical-align: top }
.soft, small, td + td { color: var(--soft) }
.small, small { font-size: .875rem }
.host { color: var(--ink) }
.notice { margin-top: 1rem; padding: .6rem .9rem; border-left: 3px solid var(--grave); background: var(--paper) }
form { margin-top: 1.5rem }
label[for], legend { display: block; font-weight: 600; margin-bottom: .35rem; padding: 0 }
select { width: 100%; min-height: 2.75rem; padding: .4rem .6rem; font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--line); border-radius: .45rem }
select + p { margin-top: .35rem }
fieldset { border: 0; padding: 0; margin: 1.5rem 0 .9rem; min-width: 0 }
.scope { display: grid; grid-template-columns: auto 1fr; gap: .75rem; padding: .6rem 0; border-top: 1px solid var(--line);
  cursor: pointer }
.scope input { width: 1.15rem; height: 1.15rem; margin: .18rem 0 0; accent-color: var(--accent) }
.scope small { display: block }
code { font: .8125rem/1.4 ui-monospace, 'SF Mono', Menlo, Consolas, monospace }
.scope .grave { color: var(--grave); font-weight: 600 }
.decision { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; margin-top: 1.5rem }
button { min-height: 2.9rem; font: inherit; font-weight: 600; color: var(--ink); background: none;
  border: 1px solid var(--line); border-radius: .45rem; cursor: pointer }
button.main { color: var(--on-accent); background: var(--accent); border-color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
@media (max-width: 560px) {
  body { background: var(--card) }
  main { margin: 0; padding: 1.5rem 1.15rem 2rem; border: 0; border-radius: 0 }
  td { display: block; padding-right: 0 }
  td + td { border: 0; padding-top: 0 }
}
`;

interface Consent {
  client: OAuthClient;
  redirectUri: string;
  /** The requested scopes. */
  scopes: readonly Scope[];
  /** Identifies the request when the form is submitted. */
  ticket: string;
  /** Users with portal access, in display order. */
  users: readonly User[];
  /** The earlier choice, and why the form is shown again. */
  chosen?: { userId: string; scopes: readonly string[]; notice: string };
}

/** The page that asks a user to approve a client; the form is posted to the page's own address (5.3). */
export function consentPage({ client, redirectUri, scopes, ticket, users, chosen }: Consent): string {
  const checked = (scope: Scope) => chosen === undefined || chosen.scopes.includes(scope);
  return page(
    `Allow ${client.name}?`,
    html`<h1><b>${client.name}</b> asks to act for you</h1>
<p class="soft">The program chose this name. You will return to <span class="host">${new URL(redirectUri).host}</span>.</p>
${chosen && html`<p class="notice" role="alert">${chosen.notice}</p>`}
<form method="post">
<input type="hidden" name="ticket" value="${ticket}">
<label for="user">Sign in as</label>
<select id="user" name="user" required aria-describedby="sandbox">
<option value="">Choose a user</option>
${users.map((user) => option(user, String(user.id) === chosen?.userId))}
</select>
<p class="soft small" id="sandbox">This is a sandbox: no password is needed.</p>
<fieldset>
<legend>It may</legend>
${scopes.map((scope) => choice(scope, checked(scope)))}
</fieldset>
<p class="soft small">Your portal role still applies: a ticked scope has no effect if your role lacks the permission shown beside it.</p>
<div class="decision">
<button name="decision" value="deny" formnovalidate>Deny</button>
<button name="decision" value="allow" class="main">Allow</button>
</div>
</form>`,
  );
}

/** The page for a request whose redirect URI cannot be trusted. */
export function refusalPage(message: string): string {
  return page(
    'This login cannot continue',
    html`<h1>This login cannot continue</h1>
<p>${message}</p>
<p class="soft">Go back to the program that sent you here and start again.</p>`,
  );
}

/** The content security policy. Browsers apply `form-action` to the redirect after the form too. */
export function pagePolicy(redirectUri?: string): string {
  const hash = createHash('sha256').update(style).digest('base64');
  const targets = redirectUri === undefined ? "'none'" : `'self' ${new URL(redirectUri).origin}`;
  return `default-src 'none'; style-src 'sha256-${hash}'; form-action ${targets}; base-uri 'none'; frame-ancestors 'none'`;
}

function option(user: User, isChosen: boolean): Html {
  const named = `${user.firstName} ${user.lastName}${user.title === '' ? '' : `, ${user.title}`}`;
  return html`<option value="${String(user.id)}"${isChosen && html` selected`}>${named}</option>
`;
}

function choice(scope: Scope, isChecked: boolean): Html {
  const { does, note, permission, isRisky } = scopeWords[scope];
  const tone = isRisky ? 'grave' : 'soft';
  return html`<label class="scope"><input type="checkbox" name="scope" value="${scope}"${isChecked && html` checked`}>
<span>${does}${note && html`<small class="${tone}">${note}</small>`}
<small><code>${scope}</code>${permission && html` · role: ${permission}`}</small></span></label>
`;
}

function page(title: string, content: Html): string {
  const head = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
`;
  return `${head.markup}<style>${style}</style>\n<main>\n${content.markup}\n</main>\n</html>\n`;
}
