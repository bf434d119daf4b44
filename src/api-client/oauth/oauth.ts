import type { Configuration, DiscoveryRequestOptions } from 'openid-client';
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
    return createOAuthOperation({
      operation: name,
      connections,
      base,
      now,
      ...(redirectUri !== undefined && { redirectUri }),
    });
  }

  async function requests({ fetch }: OAuthOperation) {
    const library = await loadLibrary();
    const options: DiscoveryRequestOptions = { [library.customFetch]: fetch, algorithm: 'oauth2' };
    // Without TLS only where the owner has configured the base address so; otherwise endpoints must be HTTPS.
    if (document.protocol === 'http:') options.execute = [library.allowInsecureRequests];
    return { library, options };
  }

  async function configure(operation: OAuthOperation, clientId: string): Promise<Configuration> {
    const { library, options } = await requests(operation);
    return library.discovery(document, clientId, undefined, library.None(), options);
  }

  return {
    async discover() {
      const operation = startOperation('oauth.discover');
      try {
        const found = (await configure(operation, 'unregistered')).serverMetadata();
        const { authorization_endpoint, token_endpoint, registration_endpoint, scopes_supported } = found;
        return {
          authorizationEndpoint: String(authorization_endpoint),
          tokenEndpoint: String(token_endpoint),
          registrationEndpoint: registration_endpoint,
          scopes: Array.isArray(scopes_supported) ? scopes_supported.map(String) : undefined,
        };
      } catch (error) {
        throw operation.toServiceError(error);
      }
    },

    async register({ name, redirectUri }) {
      const operation = startOperation('oauth.register');
      try {
        const { library, options } = await requests(operation);
        // Only the two fields of section 5.3: the service may refuse unknown ones (section 7).
        const metadata = { client_name: name, redirect_uris: [redirectUri] };
        const made = await library.dynamicClientRegistration(document, metadata, library.None(), options);
        const { client_id: clientId } = made.clientMetadata();
        log.info({ clientId }, 'Registered as an OAuth client');
        return { clientId, redirectUri };
      } catch (error) {
        throw operation.toServiceError(error);
      }
    },

    async begin({ client, scopes }) {
      const operation = startOperation('oauth.begin');
      try {
        const library = await loadLibrary();
        const configuration = await configure(operation, client.clientId);
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
      } catch (error) {
        throw operation.toServiceError(error);
      }
    },

    async complete({ client, scopes, verifier, state }, callbackUrl) {
      const url = readCallback(callbackUrl, { state, redirectUri: client.redirectUri });
      const operation = startOperation('oauth.complete', client.redirectUri);
      try {
        const library = await loadLibrary();
        const configuration = await configure(operation, client.clientId);
        const requestedAt = now();
        const checks = { expectedState: state, pkceCodeVerifier: verifier };
        const answer = await library.authorizationCodeGrant(configuration, url, checks);
        const tokens = requireTokens('oauth.complete', answer, { scopes }, requestedAt);
        const missingScopes = scopes.filter((scope) => !tokens.scopes.includes(scope));
        if (missingScopes.length > 0) log.warn({ missingScopes }, 'The user did not grant all requested scopes');
        if (scopes.length > 0 && missingScopes.length === scopes.length) throw grantedNothing(scopes);
        return { tokens, missingScopes };
      } catch (error) {
        throw operation.toServiceError(error);
      }
    },

    async refresh({ clientId }, before, beforeSend) {
      const operation = startOperation('oauth.refresh');
      const configuration = await configure(operation, clientId).catch((error: unknown) => {
        throw operation.toServiceError(error);
      });
      await beforeSend?.();
      try {
        const library = await loadLibrary();
        const requestedAt = now();
        const answer = await library.refreshTokenGrant(configuration, before.refreshToken);
        const tokens = requireTokens('oauth.refresh', answer, before, requestedAt);
        log.debug({ expiresAt: tokens.expiresAt }, 'The access token was renewed');
        return tokens;
      } catch (error) {
        throw operation.toServiceError(error);
      }
    },

    close: connections.close,
  };
}

/** Loaded only for a login or a refresh: with an API key it is never needed. */
function loadLibrary(): Promise<typeof import('openid-client')> {
  return import('openid-client');
}

function requireTokens(
  operation: string,
  answer: TokenAnswer,
  before: Partial<Refreshable>,
  requestedAt: number,
): Tokens {
  const tokens = tokensOf(answer, before, requestedAt);
  if (tokens !== undefined) return tokens;
  const message = 'the answer of the token endpoint cannot be used: refresh_token is missing';
  throw new ServiceError('unreadable', message, { operation, effect: 'unknown' });
}

function grantedNothing(scopes: readonly string[]): ServiceError {
  const message = 'the user granted none of the requested scopes; log in again and allow them';
  return new ServiceError('insufficient_scope', message, {
    operation: 'oauth.complete',
    effect: 'unknown',
    scope: scopes.join(' '),
  });
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

/** The fields of the token endpoint's answer that are used. */
export interface TokenAnswer {
  access_token: string;
  refresh_token?: string | undefined;
  expires_in?: number | undefined;
  scope?: string | undefined;
}

/** For an answer without `expires_in`: "about 3600 seconds" (section 5.3). */
const defaultSeconds = 3600;

/** The tokens of an answer; omitted fields are unchanged (RFC 6749, 5.1 and 6). Undefined without a refresh token. */
function tokensOf(answer: TokenAnswer, before: Partial<Refreshable>, requestedAt: number): Tokens | undefined {
  const refreshToken = answer.refresh_token ?? before.refreshToken;
  if (refreshToken === undefined) return undefined;
  return {
    accessToken: answer.access_token,
    refreshToken,
    expiresAt: requestedAt + (answer.expires_in ?? defaultSeconds) * 1000,
    scopes: answer.scope === undefined ? (before.scopes ?? []) : answer.scope.split(/\s+/).filter(Boolean),
  };
}
