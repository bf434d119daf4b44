import type { Log } from '../log.ts';
import { ServiceError } from '../service/errors.ts';
import { createOAuth, type OAuth } from '../service/oauth/oauth.ts';
import type { Database } from '../warehouse/database.ts';
import { endLogin, keepLogin, type LoginOutcome, takeLogin } from './logins.ts';
import { knownClient } from './registrations.ts';
import { type Sealer, WrongEncryptionKey } from './sealer.ts';
import { storeLogin } from './tokens.ts';

/** The path of the receiver that users are sent back to, below PUBLIC_URL. */
export const callbackPath = '/oauth/callback';

/** What the mirror reads and keeps in place (section 5.1). */
export const mirrorScopes = [
  'webhooks:read',
  'webhooks:write',
  'reports:read',
  'users:read',
  'sms:read',
  'messages:read',
  'recordings:read',
] as const;

/** The scopes that were named are not all offered. */
export class ScopesNotOffered extends Error {
  override readonly name = 'ScopesNotOffered';
  readonly code = 'scopes_not_offered';

  constructor(missing: readonly string[], offered: readonly string[]) {
    super(`The service does not offer ${missing.join(', ')}; it offers ${offered.join(', ')}.`);
  }
}

export interface Begun {
  readonly id: string;
  /** To be opened in a browser. It holds the state: it is for the user alone. */
  readonly url: string;
  readonly scopes: readonly string[];
  /** Of the mirror's, what the service does not offer. */
  readonly notOffered: readonly string[];
}

export interface LoginWish {
  /** Base address of the service. */
  readonly service: string;
  readonly publicUrl: string;
  /** Undefined: what the mirror needs, as far as it is offered. */
  readonly scopes: readonly string[] | undefined;
  /** Registers the daemon another time. */
  readonly isAnew: boolean;
  /** Milliseconds in which the answer must come. */
  readonly forMs: number;
}

/**
 * Begins a log in (5.3): discovery, registration where that is needed, and the address to open. Rejects with
 * `ServiceError` or `ScopesNotOffered`.
 */
export async function beginLogin(
  { db, sealer, oauth }: { db: Database; sealer: Sealer; oauth: OAuth },
  { service, publicUrl, scopes, isAnew, forMs }: LoginWish,
): Promise<Begun> {
  const { scopes: offered } = await oauth.discover();
  const missing = (scopes ?? mirrorScopes).filter((scope) => offered !== undefined && !offered.includes(scope));
  if (scopes !== undefined && offered !== undefined && missing.length > 0) throw new ScopesNotOffered(missing, offered);
  const asked = (scopes ?? mirrorScopes).filter((scope) => !missing.includes(scope));
  const client = await knownClient(db, oauth, { service, redirectUri: `${publicUrl}${callbackPath}`, isAnew });
  const { url, ...login } = await oauth.begin({ client, scopes: asked });
  return { id: await keepLogin(db, sealer, { login, service, forMs }), url, scopes: asked, notOffered: missing };
}

/** How an answer was taken; `unknown` is one that belongs to no log in under way, and changes nothing. */
export type Completed = LoginOutcome | { readonly outcome: 'unknown' };

/**
 * Takes the answer that a browser brought to the callback: exchanges its code and stores the tokens. Rejects only when
 * Postgres cannot be reached; all else is kept for whoever waits for the log in.
 */
export async function completeLogin(
  parts: { readonly db: Database; readonly sealer: Sealer | undefined; readonly log: Log },
  callback: string,
): Promise<Completed> {
  const { db, log } = parts;
  const state = new URL(callback, 'http://receiver').searchParams.get('state');
  const taken = state ? await takeLogin(db, state) : undefined;
  if (taken === undefined) return { outcome: 'unknown' };
  const ended = await exchange(parts, taken.open, callback);
  await endLogin(db, taken.id, ended);
  if (ended.outcome === 'granted') log.info({ missingScopes: ended.missingScopes }, 'Somebody logged in');
  else log.warn(ended, 'A log in did not succeed');
  return ended;
}

async function exchange(
  { db, sealer, log }: Parameters<typeof completeLogin>[0],
  open: (sealer: Sealer) => { service: string; login: Parameters<OAuth['complete']>[0] },
  callback: string,
): Promise<LoginOutcome> {
  if (sealer === undefined) {
    return {
      outcome: 'failed',
      reason: 'the process of the receiver has no ENCRYPTION_KEY; set the same one everywhere',
    };
  }
  let oauth: OAuth | undefined;
  try {
    const { service, login } = open(sealer);
    oauth = createOAuth({ baseUrl: service, log });
    const { tokens, missingScopes } = await oauth.complete(login, callback);
    await storeLogin(db, sealer, { service, clientId: login.client.clientId, tokens });
    return { outcome: 'granted', missingScopes };
  } catch (error) {
    if (error instanceof WrongEncryptionKey) {
      return { outcome: 'failed', reason: 'the process of the receiver has another ENCRYPTION_KEY than this one' };
    }
    if (!(error instanceof ServiceError)) throw error;
    return error.code === 'permission_denied' ? { outcome: 'denied' } : { outcome: 'failed', reason: error.message };
  } finally {
    await oauth?.close();
  }
}
