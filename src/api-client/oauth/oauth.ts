import type { Configuration, DiscoveryRequestOptions, TokenEndpointResponse } from 'openid-client';
import type { Log } from '../../shared/log.ts';
import { ServiceError } from '../errors.ts';
import type { Limits } from '../transport/exchange.ts';
import { parseBase } from '../transport/operation.ts';
import { createConnections, createOAuthOperation, defaultOAuthLimits, type OAuthOperation } from './endpoints.ts';
import { readCallback } from './refusal.ts';

/** A registered program. A public client: it has no secret. */
export interface Client {
  clientId: string;
  /** Exactly as registered. */
  redirectUri: string;
}

/** A login that waits for the user: plain data to keep until the callback. `verifier` and `state` are secrets. */
export interface PendingLogin {
  client: Client;
  scopes: readonly string[];
  verifier: string;
  state: string;
}

/** What a user granted. */
export interface Grant {
  tokens: Tokens;
  /** Requested but not granted. */
  missingScopes: readonly string[];
}

/** The discovery document, read each time because addresses may change (section 9). */
export interface Discovery {
  authorizationEndpoint: string;
  tokenEndpoint: string;
  /** Undefined when clients must be registered manually. */
  registrationEndpoint: string | undefined;
  /** The live list of scopes; undefined when the document has none. */
  scopes: readonly string[] | undefined;
}

/**
 * OAuth 2.1 with PKCE as a public client (section 5.3). Every method rejects with `ServiceError`, which never holds a
 * code, a verifier, a state or a token. Nothing is retried: the caller knows whether that is safe.
 */
export interface OAuth {
  discover(): Promise<Discovery>;
  /** Registers under a name that users see. `redirectUri` must be HTTPS and on the operator's allow-list. */
  register(request: { name: string; redirectUri: string }): Promise<Client>;
  /** Returns the address to open in a browser, and the login to keep for the callback. */
  begin(request: { client: Client; scopes: readonly string[] }): Promise<PendingLogin & { url: string }>;
  /**
   * Checks the callback (the whole address, or its path with the query) against the login, and exchanges its code.
   * Rejects with `permission_denied` when the user denied access, `insufficient_scope` when no requested scope was
   * granted, and `unauthenticated` when the service does not accept the code.
   */
  complete(login: PendingLogin, callbackUrl: string): Promise<Grant>;
  /**
   * Exchanges the refresh token, which is invalid afterwards, for new tokens. `unauthenticated` with `effect: 'none'`
   * is a refusal: log in again. `effect: 'unknown'` means a lost answer: the token may be used up. `beforeSend` is
   * awaited after discovery and before the token is sent; when it rejects, nothing is sent, and `refresh` rejects with
   * its error.
   */
  refresh(client: Pick<Client, 'clientId'>, before: Refreshable, beforeSend?: () => Promise<void>): Promise<Tokens>;
  close(): Promise<void>;
}

export interface OAuthOptions {
  /** With or without a path and a trailing slash; `/.well-known/oauth-authorization-server` is added. */
  baseUrl: string;
  log: Log;
  limits?: Partial<Limits>;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

/** Opens the OAuth client of one service; sends and loads nothing before the first call. Throws for a bad `baseUrl`. */
export function createOAuth({ baseUrl, log, limits, now = Date.now }: OAuthOptions): OAuth {
  parseBase(baseUrl);
  const base = new URL(baseUrl).href.replace(/\/+$/, '');
  const document = new URL(`${base}/.well-known/oauth-authorization-server`);
  const connections = createConnections({ ...defaultOAuthLimits, ...limits });

  function startOperation(name: string, redirectUri?: string): OAuthOperation {
    return createOAuthOperation({ operation: name, connections, base, now, redirectUri });
  }

  /** Runs a part of an operation with the library. Rejects with `ServiceError`. */
  async function run<T>(operation: OAuthOperation, part: (context: Context) => Promise<T>): Promise<T> {
    try {
      // Loaded only for a login or a refresh: with an API key it is never needed.
      const library = await import('openid-client');
      const options: DiscoveryRequestOptions = { [library.customFetch]: operation.fetch, algorithm: 'oauth2' };
      // Without TLS only where the owner has configured the base address so; otherwise endpoints must be HTTPS.
      if (document.protocol === 'http:') options.execute = [library.allowInsecureRequests];
      const configure = (clientId: string) => library.discovery(document, clientId, undefined, library.None(), options);
      return await part({ library, options, configure });
    } catch (error) {
      throw operation.toServiceError(error);
    }
  }

  return {
    discover: () =>
      run(startOperation('oauth.discover'), async ({ configure }) => {
        const found = (await configure('unregistered')).serverMetadata();
        const { authorization_endpoint, token_endpoint, registration_endpoint, scopes_supported } = found;
        return {
          authorizationEndpoint: String(authorization_endpoint),
          tokenEndpoint: String(token_endpoint),
          registrationEndpoint: registration_endpoint,
          scopes: Array.isArray(scopes_supported) ? scopes_supported.map(String) : undefined,
        };
      }),

    register: ({ name, redirectUri }) =>
      run(startOperation('oauth.register'), async ({ library, options }) => {
        // Only the two fields of section 5.3: the service may refuse unknown ones (section 7).
        const metadata = { client_name: name, redirect_uris: [redirectUri] };
        const made = await library.dynamicClientRegistration(document, metadata, library.None(), options);
        const { client_id: clientId } = made.clientMetadata();
        log.info({ clientId }, 'Registered as an OAuth client');
        return { clientId, redirectUri };
      }),

    begin: ({ client, scopes }) =>
      run(startOperation('oauth.begin'), async ({ library, configure }) => {
        const configuration = await configure(client.clientId);
        const verifier = library.randomPKCECodeVerifier();
        const state = library.randomState();
        const url = library.buildAuthorizationUrl(configuration, {
          response_type: 'code',
          redirect_uri: client.redirectUri,
          scope: scopes.join(' '),
          state,
          code_challenge: await library.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        });
        return { url: url.href, client, scopes, verifier, state };
      }),

    async complete({ client, scopes, verifier, state }, callbackUrl) {
      const url = readCallback(callbackUrl, { state, redirectUri: client.redirectUri });
      return run(startOperation('oauth.complete', client.redirectUri), async ({ library, configure }) => {
        const configuration = await configure(client.clientId);
        const requestedAt = now();
        const checks = { expectedState: state, pkceCodeVerifier: verifier };
        const answer = await library.authorizationCodeGrant(configuration, url, checks);
        const tokens = tokensOf('oauth.complete', answer, { scopes }, requestedAt);
        const missingScopes = scopes.filter((scope) => !tokens.scopes.includes(scope));
        if (missingScopes.length > 0) log.warn({ missingScopes }, 'The user did not grant all requested scopes');
        if (scopes.length > 0 && missingScopes.length === scopes.length) {
          const message = 'the user granted none of the requested scopes; log in again and allow them';
          const details = { operation: 'oauth.complete', effect: 'unknown', scope: scopes.join(' ') } as const;
          throw new ServiceError('insufficient_scope', message, details);
        }
        return { tokens, missingScopes };
      });
    },

    async refresh({ clientId }, before, beforeSend) {
      const operation = startOperation('oauth.refresh');
      const configuration = await run(operation, ({ configure }) => configure(clientId));
      await beforeSend?.();
      return run(operation, async ({ library }) => {
        const requestedAt = now();
        const answer = await library.refreshTokenGrant(configuration, before.refreshToken);
        const tokens = tokensOf('oauth.refresh', answer, before, requestedAt);
        log.debug({ expiresAt: tokens.expiresAt }, 'The access token was renewed');
        return tokens;
      });
    },

    close: connections.close,
  };
}

interface Context {
  readonly library: typeof import('openid-client');
  readonly options: DiscoveryRequestOptions;
  /** Reads the discovery document. */
  readonly configure: (clientId: string) => Promise<Configuration>;
}

/** The tokens of one user, valid until revoked (section 5.3). Every string but the scopes is a secret. */
export interface Tokens {
  accessToken: string;
  /** Valid for one refresh, which returns the next one. */
  refreshToken: string;
  /** Milliseconds since the epoch; counted from before the request, so never too late. */
  expiresAt: number;
  /** As granted, which may be less than requested. */
  scopes: readonly string[];
}

/** What a refresh needs of the previous tokens. */
export type Refreshable = Pick<Tokens, 'refreshToken' | 'scopes'>;

/** For an answer without `expires_in`: "about 3600 seconds" (section 5.3). */
const defaultSeconds = 3600;

/** The tokens of an answer; omitted fields are unchanged (RFC 6749, 5.1 and 6). */
function tokensOf(
  operation: string,
  { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds, scope }: TokenEndpointResponse,
  before: Partial<Refreshable>,
  requestedAt: number,
): Tokens {
  const kept = refreshToken ?? before.refreshToken;
  if (kept === undefined) {
    const message = 'the answer of the token endpoint cannot be used: refresh_token is missing';
    throw new ServiceError('unreadable', message, { operation, effect: 'unknown' });
  }
  return {
    accessToken,
    refreshToken: kept,
    expiresAt: requestedAt + (seconds ?? defaultSeconds) * 1000,
    scopes: scope === undefined ? (before.scopes ?? []) : scope.split(/\s+/).filter(Boolean),
  };
}
