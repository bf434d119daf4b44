import { createHash } from 'node:crypto';
import type { User } from '../../account.ts';
import type { Scope } from '../../entities/access.ts';
import type { AuthorizationRequest } from '../requests.ts';
import { type Html, html } from './markup.ts';
import { style } from './style.ts';
import { scopeWords } from './words.ts';

interface Consent {
  request: AuthorizationRequest;
  /** Stands for the request when the form comes back. */
  ticket: string;
  /** Those with portal access, in the order to show. */
  users: readonly User[];
  /** What was chosen before, when the form has to be shown again, and why it has to. */
  chosen?: { userId: string; scopes: readonly string[]; notice: string };
}

/** The page that asks a user to approve a program; the form goes to the address of the page (5.3). */
export function consentPage({ request, ticket, users, chosen }: Consent): string {
  const { client, redirectUri, scopes } = request;
  const checked = (scope: Scope) => chosen === undefined || chosen.scopes.includes(scope);
  return page(
    `Allow ${client.name}?`,
    html`<h1><b>${client.name}</b> asks to act for you</h1>
<p class="soft">It named itself so, and returns you to <span class="host">${new URL(redirectUri).host}</span>.</p>
${chosen && html`<p class="notice" role="alert">${chosen.notice}</p>`}
<form method="post">
<input type="hidden" name="ticket" value="${ticket}">
<label for="user">Sign in as</label>
<select id="user" name="user" required aria-describedby="sandbox">
<option value="">Choose a user</option>
${users.map((user) => option(user, String(user.id) === chosen?.userId))}
</select>
<p class="soft small" id="sandbox">This is a sandbox: nobody asks for a password.</p>
<fieldset>
<legend>It may</legend>
${scopes.map((scope) => choice(scope, checked(scope)))}
</fieldset>
<p class="soft small">Your portal role still applies: a tick grants nothing where the role lacks the permission that stands beside it.</p>
<div class="decision">
<button name="decision" value="deny" formnovalidate>Deny</button>
<button name="decision" value="allow" class="main">Allow</button>
</div>
</form>`,
  );
}

/** The page for a request that must not be sent back, because nobody knows to whom. */
export function refusalPage(message: string): string {
  return page(
    'This login cannot go on',
    html`<h1>This login cannot go on</h1>
<p>${message}</p>
<p class="soft">Go back to the program that sent you here, and begin again.</p>`,
  );
}

/** What the pages may load, and where their form may lead: a redirect after it counts as a part of it. */
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
  const { does, note, permission, isGrave } = scopeWords[scope];
  const tone = isGrave ? 'grave' : 'soft';
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
