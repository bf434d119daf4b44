import { createHash } from 'node:crypto';
import type { Login } from '../service/oauth/oauth.ts';
import { type Database, query } from '../warehouse/database.ts';
import type { Sealer } from './sealer.ts';

/** How a log in ended. */
export type LoginOutcome =
  | { readonly outcome: 'granted'; readonly missingScopes: readonly string[] }
  | { readonly outcome: 'denied' }
  | { readonly outcome: 'failed'; readonly reason: string };

/** A log in that was begun, as its answer needs it. */
export interface OpenLogin {
  readonly id: string;
  readonly service: string;
  readonly login: Login;
}

/** Keeps a log in for its answer, which may come to another process. Older ones that nobody answered go. */
export async function keepLogin(
  db: Database,
  sealer: Sealer,
  { login, service, forMs }: { login: Login; service: string; forMs: number },
): Promise<string> {
  await query(db, `delete from secrets.oauth_logins where expires_at < now() - interval '1 day'`, []);
  const { client, scopes, verifier, state } = login;
  const [row] = await query<{ id: string }>(
    db,
    `insert into secrets.oauth_logins (state_hash, verifier, service, client_id, redirect_uri, scopes, expires_at)
     values ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 millisecond') returning login_id as id`,
    [
      hashOf(state),
      sealer.seal(verifier, 'oauth_logins.verifier'),
      service,
      client.clientId,
      client.redirectUri,
      scopes,
      forMs,
    ],
  );
  return row?.id as string;
}

interface Row {
  readonly id: string;
  readonly service: string;
  readonly verifier: Buffer;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: string[];
}

/**
 * Takes the log in that a state belongs to; each is taken once. A state of none costs one read, since anybody can send
 * one. The opening of its verifier may throw.
 */
export async function takeLogin(
  db: Database,
  state: string,
): Promise<{ readonly id: string; open(sealer: Sealer): OpenLogin } | undefined> {
  const [open] = await query(
    db,
    'select from secrets.oauth_logins where state_hash = $1 and answered_at is null and expires_at > now()',
    [hashOf(state)],
  );
  if (open === undefined) return undefined;
  const [row] = await query<Row>(
    db,
    `update secrets.oauth_logins set answered_at = now()
     where state_hash = $1 and answered_at is null and expires_at > now()
     returning login_id as id, service, verifier, client_id as "clientId", redirect_uri as "redirectUri", scopes`,
    [hashOf(state)],
  );
  if (row === undefined) return undefined;
  const { id, service, clientId, redirectUri, scopes } = row;
  return {
    id,
    open(sealer) {
      const verifier = sealer.open(row.verifier, 'oauth_logins.verifier');
      return { id, service, login: { client: { clientId, redirectUri }, scopes, verifier, state } };
    },
  };
}

/** Keeps how a log in ended, for whoever waits for it. */
export async function endLogin(db: Database, id: string, ended: LoginOutcome): Promise<void> {
  await query(
    db,
    `update secrets.oauth_logins set outcome = $2, reason = $3, missing_scopes = $4, verifier = '' where login_id = $1`,
    [
      id,
      ended.outcome,
      ended.outcome === 'failed' ? ended.reason : null,
      ended.outcome === 'granted' ? ended.missingScopes : [],
    ],
  );
}

/** No answer is taken any more. */
export async function abandonLogin(db: Database, id: string): Promise<void> {
  await query(db, 'update secrets.oauth_logins set expires_at = now() where login_id = $1 and answered_at is null', [
    id,
  ]);
}

/** How a log in ended; undefined while it is under way. */
export async function readOutcome(db: Database, id: string): Promise<LoginOutcome | undefined> {
  const [row] = await query<{ outcome: LoginOutcome['outcome'] | null; reason: string; missingScopes: string[] }>(
    db,
    'select outcome, reason, missing_scopes as "missingScopes" from secrets.oauth_logins where login_id = $1',
    [id],
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
