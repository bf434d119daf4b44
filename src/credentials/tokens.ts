import type { Tokens } from '../api-client/oauth/oauth.ts';
import { type Database, query, sql } from '../db/database.ts';
import type { Sealer } from './sealer.ts';

/*
 * The one row of secrets.oauth_tokens.
 *
 *               ┌──── refresh token still valid: retry ◀──────┐
 *               ▼                                             │
 *   login ───▶ valid ──(committed before sending)──▶ refreshing ──(new tokens stored)──▶ valid, next version
 *               ▲                                             │
 *               └──── login ◀──── lost ◀─── refused, answer lost, or the process died
 *
 * A process that receives new tokens after its version was marked `lost` still stores them.
 */

export type TokenState = 'valid' | 'refreshing' | 'lost';

/** The login without its secrets, for the status page. */
export interface LoginStatus {
  readonly service: string;
  readonly state: TokenState;
  readonly scopes: readonly string[];
  readonly loggedInAt: Date;
  readonly expiresAt: Date;
  readonly lastError: string | null;
}

/** The row with its secrets opened. Times are durations by the database's clock: clocks of processes do not matter. */
export interface StoredTokens {
  readonly service: string;
  readonly clientId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly scopes: readonly string[];
  readonly version: string;
  readonly state: TokenState;
  /** Milliseconds until the access token expires; 0 or less when it has. */
  readonly leftMs: number;
  /** Lifetime of the access token in milliseconds. */
  readonly lifetimeMs: number;
  /** Milliseconds until the next refresh may start. */
  readonly restMs: number;
  /** Consecutive refreshes, within a minute of each other, caused by refused access tokens. */
  readonly refusals: number;
  readonly lastError: string | null;
}

interface Row extends Omit<StoredTokens, 'accessToken' | 'refreshToken'> {
  readonly access: Buffer;
  readonly refresh: Buffer;
}

export async function readLoginStatus(db: Database): Promise<LoginStatus | undefined> {
  const [row] = await query(
    db,
    sql<LoginStatus>`select service, state, scopes, logged_in_at as "loggedInAt", expires_at as "expiresAt", last_error as "lastError" from secrets.oauth_tokens`,
  );
  return row;
}

/** Undefined when nobody is logged in. Throws `WrongEncryptionKey`. */
export async function readTokens(db: Database, sealer: Sealer): Promise<StoredTokens | undefined> {
  const [row] = await query(
    db,
    sql<Row>`select service, client_id as "clientId", access_token as access, refresh_token as refresh, scopes,
       version, state,
       extract(epoch from expires_at - clock_timestamp())::float8 * 1000 as "leftMs",
       extract(epoch from expires_at - issued_at)::float8 * 1000 as "lifetimeMs",
       extract(epoch from greatest(retry_at, clock_timestamp()) - clock_timestamp())::float8 * 1000 as "restMs",
       case when issued_at > now() - interval '1 minute' then refusals else 0 end as refusals, last_error as "lastError"
     from secrets.oauth_tokens`,
  );
  if (row === undefined) return undefined;
  const { access, refresh, ...rest } = row;
  return {
    ...rest,
    accessToken: sealer.open(access, 'oauth_tokens.access_token'),
    refreshToken: sealer.open(refresh, 'oauth_tokens.refresh_token'),
  };
}

/** Replaces the stored tokens with those of a new login; a refresh in progress then stores nothing. */
export async function storeLogin(
  db: Database,
  sealer: Sealer,
  { service, clientId, tokens }: { service: string; clientId: string; tokens: Tokens },
): Promise<void> {
  const { access, refresh } = sealTokens(sealer, tokens);
  await query(
    db,
    sql`insert into secrets.oauth_tokens (service, client_id, access_token, refresh_token, scopes, expires_at)
     values (${service}, ${clientId}, ${access}, ${refresh}, ${tokens.scopes},
       now() + ${leftMs(tokens)} * interval '1 millisecond')
     on conflict (is_only) do update set
       service = excluded.service, client_id = excluded.client_id, access_token = excluded.access_token,
       refresh_token = excluded.refresh_token, scopes = excluded.scopes, expires_at = excluded.expires_at,
       version = nextval('secrets.oauth_version'), state = 'valid', logged_in_at = now(),
       issued_at = now(), retry_at = '-infinity', failures = 0, refusals = 0, last_error = null`,
  );
}

/** Deletes the tokens; false when there were none. */
export async function forgetTokens(db: Database): Promise<boolean> {
  const rows = await query(db, sql`delete from secrets.oauth_tokens returning version`);
  return rows.length > 0;
}

/** Marks a version as refreshing; false when another version is stored, or it is not valid. */
export async function markRefreshing(db: Database, version: string): Promise<boolean> {
  const rows = await query(
    db,
    sql`update secrets.oauth_tokens set state = 'refreshing'
     where version = ${version} and state = 'valid' returning version`,
  );
  return rows.length > 0;
}

/** Replaces a version with its new tokens, unless another version is stored. */
export async function storeRefreshed(
  db: Database,
  sealer: Sealer,
  { version, tokens, refusals }: { version: string; tokens: Tokens; refusals: number },
): Promise<boolean> {
  const { access, refresh } = sealTokens(sealer, tokens);
  const rows = await query(
    db,
    sql`update secrets.oauth_tokens set access_token = ${access}, refresh_token = ${refresh}, scopes = ${tokens.scopes},
       expires_at = now() + ${leftMs(tokens)} * interval '1 millisecond', issued_at = now(), refusals = ${refusals},
       version = nextval('secrets.oauth_version'), state = 'valid', retry_at = '-infinity', failures = 0, last_error = null
     where version = ${version} returning version`,
  );
  return rows.length > 0;
}

/**
 * Keeps the tokens and schedules another refresh, with back-off. A caller that had not marked them as refreshing
 * (`isMarked`) leaves another process's mark alone.
 */
export async function postponeRefresh(
  db: Database,
  { version, reason, atLeastMs, isMarked }: { version: string; reason: string; atLeastMs: number; isMarked: boolean },
): Promise<void> {
  await query(
    db,
    sql`update secrets.oauth_tokens set state = 'valid', failures = failures + 1, last_error = ${reason},
       retry_at = now() + greatest(${atLeastMs}, least(300000, 5000 * power(2, least(failures, 10)))) * interval '1 millisecond'
     where version = ${version} and (state = 'valid' or ${isMarked}::boolean)`,
  );
}

export async function markLost(db: Database, version: string, reason: string): Promise<void> {
  await query(
    db,
    sql`update secrets.oauth_tokens set state = 'lost', last_error = ${reason} where version = ${version}`,
  );
}

function sealTokens(sealer: Sealer, { accessToken, refreshToken }: Tokens): { access: Buffer; refresh: Buffer } {
  return {
    access: sealer.seal(accessToken, 'oauth_tokens.access_token'),
    refresh: sealer.seal(refreshToken, 'oauth_tokens.refresh_token'),
  };
}

/** A duration, because `expiresAt` counts with this process's clock. */
function leftMs({ expiresAt }: Tokens): number {
  return expiresAt - Date.now();
}
