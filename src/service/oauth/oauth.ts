import type { Configuration, DiscoveryRequestOptions } from 'openid-client';
import type { Log } from '../../log.ts';
import { ServiceError } from '../errors.ts';
import { parseBase } from '../transport/address.ts';
import type { Limits } from '../transport/exchange.ts';
import { readCallback } from './callback.ts';
import { createConnections, defaultOAuthLimits } from './connections.ts';
import { createErrand, type Errand } from './errand.ts';
import { type Refreshable, type TokenAnswer, type Tokens, tokensOf } from './tokens.ts';

export type { Refreshable, Tokens } from './tokens.ts';

/** A program as the service knows it: public, so that it has no secret. */
export interface Client {
  clientId: string;
  /** One of those it registered, to the letter. */
  redirectUri: string;
}

/** A login that waits for the user. Plain data, to be kept until the callback; `verifier` and `state` are secrets. */
export interface Login {
  client: Client;
  scopes: readonly string[];
  verifier: string;
  state: string;
}

/** What a user allowed. */
export interface Granted {
  tokens: Tokens;
  /** Asked for and not granted; empty when all was. */
  missingScopes: readonly string[];
}

/** What the discovery document says, read anew each time: the addresses may move (section 9). */
export interface Discovered {
  authorizationEndpoint: string;
  tokenEndpoint: string;
  /** Undefined when clients are registered by hand. */
  registrationEndpoint: string | undefined;
  /** The live list of scopes; undefined when the document has none. */
  scopes: readonly string[] | undefined;
}

/**
 * OAuth 2.1 with PKCE as a public client (5.3). Every method rejects with `ServiceError`, which never carries a code, a
 * verifier, a state or a token. None is tried twice: whoever calls knows whether it may be.
 */
export interface OAuth {
  discover(): Promise<Discovered>;
  /** Registers under a name that users are shown. `redirectUri` must be HTTPS, on the operator's allow-list. */
  register(asked: { name: string; redirectUri: string }): Promise<Client>;
  /** Makes the address to open in a browser; what else it returns is needed at the callback. */
  begin(asked: { client: Client; scopes: readonly string[] }): Promise<Login & { url: string }>;
  /**
   * Checks the callback (the whole address, or its path with the query) against the login, and exchanges its code. Refuses with `permission_denied` when the user said no,
   * `insufficient_scope` when nothing of what was asked is granted, `unauthenticated` when the code is not taken.
   */
  complete(login: Login, callbackUrl: string): Promise<Granted>;
  /**
   * Trades the refresh token for new tokens; the old one is worthless afterwards. `unauthenticated` with `effect: 'none'`
   * is a refusal: log in again. `effect: 'unknown'` is a lost answer: the token may be used up, and only another try tells.
   * `beforeItLeaves` is awaited when the addresses are known and the token is shown to nobody yet; it rejects with whatever
   * that rejects with, and nothing is sent then.
   */
  refresh(client: Pick<Client, 'clientId'>, before: Refreshable, beforeItLeaves?: () => Promise<void>): Promise<Tokens>;
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

/** Opens the OAuth client of one service; nothing is sent or loaded before the first call. Throws for a bad `baseUrl`. */
export function createOAuth({ baseUrl, log, limits, now = Date.now }: OAuthOptions): OAuth {
  parseBase(baseUrl);
  const base = new URL(baseUrl).href.replace(/\/+$/, '');
  const document = new URL(`${base}/.well-known/oauth-authorization-server`);
  const connections = createConnections({ ...defaultOAuthLimits, ...limits });

  function errand(operation: string, redirectUri?: string): Errand {
    return createErrand({ operation, connections, base, now, ...(redirectUri !== undefined && { redirectUri }) });
  }

  async function requests({ fetch }: Errand) {
    const library = await loadLibrary();
    const options: DiscoveryRequestOptions = { [library.customFetch]: fetch, algorithm: 'oauth2' };
    // Where the base address has no TLS, the owner has chosen so; the errand holds the endpoints to it otherwise.
    if (document.protocol === 'http:') options.execute = [library.allowInsecureRequests];
    return { library, options };
  }

  async function configure(sent: Errand, clientId: string): Promise<Configuration> {
    const { library, options } = await requests(sent);
    return library.discovery(document, clientId, undefined, library.None(), options);
  }

  return {
    async discover() {
      const sent = errand('oauth.discover');
      try {
        const found = (await configure(sent, 'nobody yet')).serverMetadata();
        const { authorization_endpoint, token_endpoint, registration_endpoint, scopes_supported } = found;
        return {
          authorizationEndpoint: String(authorization_endpoint),
          tokenEndpoint: String(token_endpoint),
          registrationEndpoint: registration_endpoint,
          scopes: Array.isArray(scopes_supported) ? scopes_supported.map(String) : undefined,
        };
      } catch (error) {
        throw sent.explain(error);
      }
    },

    async register({ name, redirectUri }) {
      const sent = errand('oauth.register');
      try {
        const { library, options } = await requests(sent);
        // The two fields of 5.3 and no other: an unknown one may be refused (section 7).
        const metadata = { client_name: name, redirect_uris: [redirectUri] };
        const made = await library.dynamicClientRegistration(document, metadata, library.None(), options);
        const { client_id: clientId } = made.clientMetadata();
        log.info({ clientId }, 'registered as an OAuth client');
        return { clientId, redirectUri };
      } catch (error) {
        throw sent.explain(error);
      }
    },

    async begin({ client, scopes }) {
      const sent = errand('oauth.begin');
      try {
        const library = await loadLibrary();
        const configuration = await configure(sent, client.clientId);
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
        throw sent.explain(error);
      }
    },

    async complete({ client, scopes, verifier, state }, callbackUrl) {
      const url = readCallback(callbackUrl, { state, redirectUri: client.redirectUri });
      const sent = errand('oauth.complete', client.redirectUri);
      try {
        const library = await loadLibrary();
        const configuration = await configure(sent, client.clientId);
        const askedAt = now();
        const checks = { expectedState: state, pkceCodeVerifier: verifier };
        const answer = await library.authorizationCodeGrant(configuration, url, checks);
        const tokens = requireTokens('oauth.complete', answer, { scopes }, askedAt);
        const missingScopes = scopes.filter((scope) => !tokens.scopes.includes(scope));
        if (missingScopes.length > 0) log.warn({ missingScopes }, 'the user did not grant all that was asked');
        if (scopes.length > 0 && missingScopes.length === scopes.length) throw grantedNothing(scopes);
        return { tokens, missingScopes };
      } catch (error) {
        throw sent.explain(error);
      }
    },

    async refresh({ clientId }, before, beforeItLeaves) {
      const sent = errand('oauth.refresh');
      const configuration = await configure(sent, clientId).catch((error: unknown) => {
        throw sent.explain(error);
      });
      await beforeItLeaves?.();
      try {
        const library = await loadLibrary();
        const askedAt = now();
        const answer = await library.refreshTokenGrant(configuration, before.refreshToken);
        const tokens = requireTokens('oauth.refresh', answer, before, askedAt);
        log.debug({ expiresAt: tokens.expiresAt }, 'the access token was renewed');
        return tokens;
      } catch (error) {
        throw sent.explain(error);
      }
    },

    close: connections.close,
  };
}

/** Loaded when a login or a refresh needs it: whoever has an API key never pays for it. */
function loadLibrary(): Promise<typeof import('openid-client')> {
  return import('openid-client');
}

function requireTokens(operation: string, answer: TokenAnswer, before: Partial<Refreshable>, askedAt: number): Tokens {
  const tokens = tokensOf(answer, before, askedAt);
  if (tokens !== undefined) return tokens;
  const message = 'the answer of the token endpoint cannot be used: refresh_token is missing';
  throw new ServiceError('unreadable', message, { operation, effect: 'unknown' });
}

function grantedNothing(scopes: readonly string[]): ServiceError {
  const message = 'the user granted nothing of what was asked; log in again and allow it';
  return new ServiceError('insufficient_scope', message, {
    operation: 'oauth.complete',
    effect: 'unknown',
    scope: scopes.join(' '),
  });
}
