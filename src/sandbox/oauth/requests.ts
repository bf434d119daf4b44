import { z } from 'zod';
import { type OAuthClient, type Scope, scopes } from '../entities/access.ts';
import type { AccountSettings } from '../entities/settings.ts';
import { isChallenge } from './pkce.ts';
import { faultOfRedirect } from './redirects.ts';
import type { OAuthErrorCode } from './refusals.ts';

/** The query of the authorization endpoint (5.3). Everything is optional here: what is wrong is told to the right party. */
export const authorizationQuery = z.object({
  response_type: z.string().optional().describe('`code`'),
  client_id: z.string().optional().describe('From the registration.'),
  redirect_uri: z.string().optional().describe('Exactly as registered.'),
  scope: z.string().optional().describe('Divided by spaces.'),
  state: z.string().max(2000).optional().describe('Comes back unchanged.'),
  code_challenge: z.string().optional().describe('base64url of the SHA-256 of the verifier.'),
  code_challenge_method: z.string().optional().describe('`S256`'),
});

/** What a program asks a user for. */
export interface AuthorizationRequest {
  client: OAuthClient;
  redirectUri: string;
  scopes: Scope[];
  state: string | undefined;
  challenge: string;
}

/** A request to show, one whose sender cannot be trusted with a redirect, or one that is sent back with an error. */
export type ReadRequest =
  | { outcome: 'asked'; request: AuthorizationRequest }
  | { outcome: 'untrusted'; message: string }
  | {
      outcome: 'refused';
      redirectUri: string;
      state: string | undefined;
      error: OAuthErrorCode;
      description: string;
    };

/** Reads an authorization request: client and redirect first, since all other errors travel through them. */
export function readRequest(
  query: z.output<typeof authorizationQuery>,
  findClient: (clientId: string) => OAuthClient | undefined,
  settings: AccountSettings,
): ReadRequest {
  const { client_id = '', redirect_uri: redirectUri = '', state } = query;
  const client = findClient(client_id);
  if (client === undefined) return untrusted('No program is registered under this client_id.');
  if (!client.redirectUris.includes(redirectUri)) {
    return untrusted('The redirect_uri is not one that this program registered, to the letter.');
  }
  const fault = faultOfRedirect(redirectUri, settings);
  if (fault !== undefined) return untrusted(`The redirect_uri ${fault}.`);

  const refuse = (error: OAuthErrorCode, description: string): ReadRequest => {
    return { outcome: 'refused', redirectUri, state, error, description };
  };
  if (query.response_type === undefined) return refuse('invalid_request', 'response_type is missing');
  if (query.response_type !== 'code') return refuse('unsupported_response_type', 'response_type must be code');
  if (query.code_challenge_method !== 'S256') {
    return refuse('invalid_request', 'PKCE is required: code_challenge_method must be S256');
  }
  const { code_challenge: challenge = '' } = query;
  if (!isChallenge(challenge)) {
    return refuse('invalid_request', 'PKCE is required: code_challenge must be base64url of a SHA-256');
  }
  const words = [...new Set((query.scope ?? '').split(' ').filter(Boolean))];
  const wanted = scopes.filter((scope) => words.includes(scope));
  if (words.length === 0) return refuse('invalid_scope', 'scope is missing');
  if (wanted.length < words.length) return refuse('invalid_scope', 'scope has a word that is not in scopes_supported');
  return { outcome: 'asked', request: { client, redirectUri, scopes: wanted, state, challenge } };
}

function untrusted(message: string): ReadRequest {
  return { outcome: 'untrusted', message };
}
