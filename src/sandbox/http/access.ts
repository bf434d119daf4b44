import type { FastifyRequest } from 'fastify';
import type { Line } from '../account.ts';
import type { Store } from '../store/store.ts';
import { type Credential, credentialOf } from './credentials.ts';
import { invalidRequest, permissionDenied } from './errors.ts';

/** Portal permissions that an endpoint asks of an OAuth user as a whole (5.2). */
export type Permission = 'users' | 'phoneNumbers' | 'callReports' | 'recordings';

/** 403 when the user behind a token lacks the permission; no role applies to an API key (section 5). */
export function requirePermission(credential: Credential, permission: Permission): void {
  if (credential.kind === 'key') return;
  const { users, phoneNumbers, callReports, allowRecordings } = credential.role;
  const granted = { users: users !== null, phoneNumbers, callReports, recordings: callReports && allowRecordings };
  if (!granted[permission]) throw permissionDenied(`the user's portal role lacks ${words[permission]}`);
}

const words: Record<Permission, string> = {
  users: 'Users',
  phoneNumbers: 'Phone numbers',
  callReports: 'Call reports',
  recordings: 'Call reports, allow recordings',
};

/** A user's token may use the lines assigned to that user and those assigned to nobody (2.1). */
function mayUse(credential: Credential, line: Line): boolean {
  if (credential.kind === 'key') return true;
  return credential.role.phoneNumbers && (line.userIds.length === 0 || line.userIds.includes(credential.user.id));
}

/** The lines that the credential may use; 403 when its user's role lacks Phone numbers. */
export function usableLines(store: Pick<Store, 'lines'>, request: FastifyRequest): Line[] {
  const credential = credentialOf(request);
  requirePermission(credential, 'phoneNumbers');
  return store.lines.values().filter((line) => mayUse(credential, line));
}

/** The line of a normalized number; 403 when it is not one that the credential may use (4.1, 4.2 rule 3). */
export function requireLine(store: Pick<Store, 'lines'>, request: FastifyRequest, number: string): Line {
  const line = store.lines.get(number);
  if (line === undefined || !mayUse(credentialOf(request), line)) {
    throw permissionDenied(`${number} is not an SMS line that this credential may use`);
  }
  return line;
}

/** The user behind the token; 400 to an API key, which is nobody in particular (5.3). */
export function requireUser(request: FastifyRequest): Extract<Credential, { kind: 'user' }> {
  const credential = credentialOf(request);
  if (credential.kind === 'user') return credential;
  throw invalidRequest('this operation needs a user credential, and an API key is the account itself');
}
