import { createHash } from 'node:crypto';
import { type Scope, ServiceError } from '../api-client/client.ts';
import { type Client, createOAuth, type OAuth, type PendingLogin } from '../api-client/oauth/oauth.ts';
import { type Database, query, sql } from '../db/database.ts';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import { type Sealer, WrongEncryptionKey } from './sealer.ts';
import { storeLogin } from './tokens.ts';

/** The program's name on the service's consent page. */
const clientName = 'Trunkline';

/** The daemon's client registration for a service and callback address (section 5.3), stored after the first time. */
async function registeredClient(
  db: Database,
  oauth: Pick<OAuth, 'register'>,
  { service, redirectUri, registerAgain }: { service: string; redirectUri: string; registerAgain: boolean },
): Promise<Client> {
  const [known] = await query(
    db,
    sql<{ clientId: string }>`select client_id as "clientId" from secrets.oauth_clients
         where service = ${service} and redirect_uri = ${redirectUri}`,
  );
  if (known && !registerAgain) return { clientId: known.clientId, redirectUri };
  const client = await oauth.register({ name: clientName, redirectUri });
  await query(
    db,
    sql`insert into secrets.oauth_clients (service, redirect_uri, client_id)
         values (${service}, ${redirectUri}, ${client.clientId})
     on conflict (service, redirect_uri) do update set client_id = excluded.client_id, registered_at = now()`,
  );
  return client;
}

/** How a login ended. */
export type LoginOutcome =
  | { readonly outcome: 'granted'; readonly missingScopes: readonly string[] }
  | { readonly outcome: 'denied' }
  | { readonly outcome: 'failed'; readonly reason: string };

/** Stores a login until its callback, which may reach another process. Deletes logins that expired a day ago. */
async function storePendingLogin(
  db: Database,
  sealer: Sealer,
  { login, service, validMs }: { login: PendingLogin; service: string; validMs: number },
): Promise<string> {
  await query(db, sql`delete from secrets.oauth_logins where expires_at < now() - interval '1 day'`);
  const { client, scopes, verifier, state } = login;
  const [row] = await query(
    db,
    sql<{
      id: string;
    }>`insert into secrets.oauth_logins (state_hash, verifier, service, client_id, redirect_uri, scopes, expires_at)
     values (${hashOf(state)}, ${sealer.seal(verifier, 'oauth_logins.verifier')}, ${service}, ${client.clientId},
           ${client.redirectUri}, ${scopes}, now() + ${validMs} * interval '1 millisecond') returning login_id as id`,
  );
  return row?.id as string;
}

interface TakenLogin {
  readonly id: string;
  readonly service: string;
  /** Sealed. */
  readonly verifier: Buffer;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: string[];
}

/** Claims the login of a state; only the first call gets it. Reads before it writes, because anybody can send invented states. */
async function takePendingLogin(db: Database, state: string): Promise<TakenLogin | undefined> {
  const isPending = sql`state_hash = ${hashOf(state)} and answered_at is null and expires_at > now()`;
  const [pending] = await query(db, sql`select from secrets.oauth_logins where ${isPending}`);
  if (pending === undefined) return undefined;
  const [taken] = await query(
    db,
    sql<TakenLogin>`update secrets.oauth_logins set answered_at = now() where ${isPending}
     returning login_id as id, service, verifier, client_id as "clientId", redirect_uri as "redirectUri", scopes`,
  );
  return taken;
}

/** Stores the outcome of a login, for the process that waits for it. */
async function storeOutcome(db: Database, id: string, ended: LoginOutcome): Promise<void> {
  await query(
    db,
    sql`update secrets.oauth_logins set outcome = ${ended.outcome},
           reason = ${ended.outcome === 'failed' ? ended.reason : null},
           missing_scopes = ${ended.outcome === 'granted' ? ended.missingScopes : []}, verifier = ''
         where login_id = ${id}`,
  );
}

/** Stops accepting the callback of a login. */
export async function abandonLogin(db: Database, id: string): Promise<void> {
  await query(
    db,
    sql`update secrets.oauth_logins set expires_at = now() where login_id = ${id} and answered_at is null`,
  );
}

/** How a login ended; undefined while it is pending. */
export async function readOutcome(db: Database, id: string): Promise<LoginOutcome | undefined> {
  const [row] = await query(
    db,
    sql<{
      outcome: LoginOutcome['outcome'] | null;
      reason: string;
      missingScopes: string[];
    }>`select outcome, reason, missing_scopes as "missingScopes" from secrets.oauth_logins where login_id = ${id}`,
  );
  if (!row?.outcome) return undefined;
  const { outcome, reason, missingScopes } = row;
  switch (outcome) {
    case 'granted':
      return { outcome, missingScopes };
    case 'denied':
      return { outcome };
    case 'failed':
      return { outcome, reason };
  }
}

function hashOf(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}

/** The path of the OAuth callback below PUBLIC_URL. */
export const callbackPath = '/oauth/callback';

/** The scopes that the mirror needs (section 5.1). */
export const mirrorScopes = [
  'webhooks:read',
  'webhooks:write',
  'reports:read',
  'users:read',
  'sms:read',
  'messages:read',
  'recordings:read',
] as const satisfies readonly Scope[];

/** The service does not offer all requested scopes. */
export class ScopesNotOffered extends UserError {
  constructor(missing: readonly string[], offered: readonly string[]) {
    super(`The service does not offer ${missing.join(', ')}; it offers ${offered.join(', ')}.`);
  }
}

export interface StartedLogin {
  readonly id: string;
  /** Open it in a browser. It holds the state, so show it only to the user. */
  readonly url: string;
  /** Default scopes that the service does not offer. */
  readonly notOffered: readonly string[];
}

export interface LoginRequest {
  /** Base address of the service. */
  readonly service: string;
  readonly publicUrl: string;
  /** Default: what the mirror needs, as far as the service offers it. */
  readonly scopes: readonly string[] | undefined;
  /** Registers the daemon again, for a service that has forgotten it. */
  readonly registerAgain: boolean;
  /** Milliseconds until the login expires. */
  readonly validMs: number;
}

/**
 * Starts a login (section 5.3): discovery and, if needed, registration. Rejects with `ServiceError` or
 * `ScopesNotOffered`.
 */
export async function beginLogin(
  { db, sealer, oauth }: { db: Database; sealer: Sealer; oauth: OAuth },
  { service, publicUrl, scopes, registerAgain, validMs }: LoginRequest,
): Promise<StartedLogin> {
  const { scopes: offered } = await oauth.discover();
  const missing = (scopes ?? mirrorScopes).filter((scope) => offered !== undefined && !offered.includes(scope));
  if (scopes !== undefined && offered !== undefined && missing.length > 0) throw new ScopesNotOffered(missing, offered);
  const requested = (scopes ?? mirrorScopes).filter((scope) => !missing.includes(scope));
  const client = await registeredClient(db, oauth, {
    service,
    redirectUri: `${publicUrl}${callbackPath}`,
    registerAgain,
  });
  const { url, ...login } = await oauth.begin({ client, scopes: requested });
  return {
    id: await storePendingLogin(db, sealer, { login, service, validMs }),
    url,
    notOffered: missing,
  };
}

/** The outcome of a callback; `unknown` belongs to no pending login, and changes nothing. */
export type CallbackOutcome = LoginOutcome | { readonly outcome: 'unknown' };

/**
 * Handles the browser's request to the callback: exchanges the code and stores the tokens. Rejects only when Postgres
 * cannot be reached; any other failure is stored as the login's outcome.
 */
export async function completeLogin(
  deps: { readonly db: Database; readonly sealer: Sealer | undefined; readonly log: Log },
  callback: string,
): Promise<CallbackOutcome> {
  const { db, log } = deps;
  const state = new URL(callback, 'http://receiver').searchParams.get('state');
  const taken = state ? await takePendingLogin(db, state) : undefined;
  if (!state || taken === undefined) return { outcome: 'unknown' };
  const ended = await exchange(deps, taken, state, callback);
  await storeOutcome(db, taken.id, ended);
  if (ended.outcome === 'granted') log.info({ missingScopes: ended.missingScopes }, 'Somebody logged in');
  else log.warn(ended, 'A login failed');
  return ended;
}

async function exchange(
  { db, sealer, log }: Parameters<typeof completeLogin>[0],
  { service, clientId, redirectUri, scopes, verifier: sealed }: TakenLogin,
  state: string,
  callback: string,
): Promise<LoginOutcome> {
  if (sealer === undefined) {
    return { outcome: 'failed', reason: 'the receiver has no ENCRYPTION_KEY; set the same one for all processes' };
  }
  let oauth: OAuth | undefined;
  try {
    const verifier = sealer.open(sealed, 'oauth_logins.verifier');
    oauth = createOAuth({ baseUrl: service, log });
    const login = { client: { clientId, redirectUri }, scopes, verifier, state };
    const { tokens, missingScopes } = await oauth.complete(login, callback);
    await storeLogin(db, sealer, { service, clientId, tokens });
    return { outcome: 'granted', missingScopes };
  } catch (error) {
    if (error instanceof WrongEncryptionKey) {
      return { outcome: 'failed', reason: 'the receiver has another ENCRYPTION_KEY than this process' };
    }
    if (!(error instanceof ServiceError)) throw error;
    return error.code === 'permission_denied' ? { outcome: 'denied' } : { outcome: 'failed', reason: error.message };
  } finally {
    await oauth?.close();
  }
}
