/** What a login gave: it acts for one user until it is revoked (5.3). Every string but the scopes is a secret. */
export interface Tokens {
  accessToken: string;
  /** Used once: a refresh brings the next one. */
  refreshToken: string;
  /** Milliseconds since the epoch; counted from before the request, so that it is never too late. */
  expiresAt: number;
  /** As granted, which may be less than was asked. */
  scopes: readonly string[];
}

/** What a refresh needs of the tokens before. */
export type Refreshable = Pick<Tokens, 'refreshToken' | 'scopes'>;

/** What the token endpoint answers, as far as it is used. */
export interface TokenAnswer {
  access_token: string;
  refresh_token?: string | undefined;
  expires_in?: number | undefined;
  scope?: string | undefined;
}

/** Section 5.3: "about 3600 seconds", for an answer that does not say. */
const usualSeconds = 3600;

/** The tokens of an answer; what it leaves out is as it was (RFC 6749, 5.1 and 6). Undefined when no refresh is possible. */
export function tokensOf(answer: TokenAnswer, before: Partial<Refreshable>, askedAt: number): Tokens | undefined {
  const refreshToken = answer.refresh_token ?? before.refreshToken;
  if (refreshToken === undefined) return undefined;
  return {
    accessToken: answer.access_token,
    refreshToken,
    expiresAt: askedAt + (answer.expires_in ?? usualSeconds) * 1000,
    scopes: answer.scope === undefined ? (before.scopes ?? []) : answer.scope.split(/\s+/).filter(Boolean),
  };
}
