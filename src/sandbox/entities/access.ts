/** Who may ask, and for what (section 5). */

export const scopes = [
  'webhooks:read',
  'webhooks:write',
  'reports:read',
  'users:read',
  'sms:read',
  'sms:write',
  'sms:send',
  'recordings:read',
  'messages:read',
  'messages:write',
] as const;
export type Scope = (typeof scopes)[number];

export interface ApiKey {
  key: string;
  name: string;
  scopes: Scope[];
}

/** What the portal lets a user do (5.2); it narrows the user's OAuth tokens, never an API key. */
export interface Role {
  userId: number;
  /** Users that this one can see; null takes the permission away. */
  users: 'all' | number[] | null;
  /** Phone numbers: the lines assigned to the user, and those assigned to nobody (2.1). */
  phoneNumbers: boolean;
  callReports: boolean;
  /** Counts only together with `callReports`. */
  allowRecordings: boolean;
}

/** A program that registered itself (5.3). */
export interface OAuthClient {
  clientId: string;
  name: string;
  redirectUris: string[];
  createdAt: number;
}

/** What one user granted to one client; every token that follows from it carries its id, so that all can be revoked. */
export interface Grant {
  grantId: string;
  clientId: string;
  userId: number;
  scopes: Scope[];
}

/** Used once, soon after the approval; times in milliseconds. */
export interface AuthorizationCode extends Grant {
  code: string;
  redirectUri: string;
  challenge: string;
  expiresAt: number;
  /** It was presented by its client, with whatever outcome. It is kept, so that a second use is noticed. */
  isUsed: boolean;
}

export interface AccessToken extends Grant {
  token: string;
  expiresAt: number;
}

/** Replaced with each use (5.3): the old one fails from then on. */
export interface RefreshToken extends Grant {
  token: string;
}
