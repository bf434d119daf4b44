import type { Tokens } from '../service/oauth/oauth.ts';
import { type Database, query } from '../warehouse/database.ts';
import type { Sealer } from './sealer.ts';

/*
 * The one row of secrets.oauth_tokens.
 *
 *               ┌───── nothing was used up: again later ◀─────┐
 *               ▼                                             │
 *   log in ──▶ valid ──(committed before anything leaves)──▶ refreshing ──(next pair stored)──▶ valid, next version
 *               ▲                                             │
 *               └──── log in ◀──── lost ◀─── refused, answer lost, or whoever asked is gone
 *
 * Who knows the truth about a version may still correct `lost`: a pair that was received is stored all the same.
 */

export type TokenState = 'valid' | 'refreshing' | 'lost';

/** The log in as anybody may see it who sees the status page. */
export interface LoginStanding {
  readonly service: string;
  readonly state: TokenState;
  readonly scopes: readonly string[];
  /** Who logged in, where that could be told. */
  readonly user: string | null;
  readonly loggedInAt: Date;
  readonly expiresAt: Date;
  readonly lastError: string | null;
}

/** The row with its secrets opened. Times are lengths by the clock of the database, so that no other clock matters. */
export interface StoredTokens {
  readonly service: string;
  readonly clientId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly scopes: readonly string[];
  readonly version: string;
  readonly state: TokenState;
  /** Milliseconds until the access token ends; not positive when it has. */
  readonly leftMs: number;
  /** Milliseconds for which it was given out. */
  readonly lifetimeMs: number;
  /** Milliseconds in which the next pair must not be asked for. */
  readonly restMs: number;
  /** Refreshes in a row, within a minute of each other, that refused access tokens have caused. */
  readonly refusals: number;
  readonly lastError: string | null;
}

interface Row extends Omit<StoredTokens, 'accessToken' | 'refreshToken'> {
  readonly access: Buffer;
  readonly refresh: Buffer;
}

export async function readStanding(db: Database): Promise<LoginStanding | undefined> {
  const [row] = await query<LoginStanding>(
    db,
    `select service, state, scopes, user_hint as "user", logged_in_at as "loggedInAt", expires_at as "expiresAt",
       last_error as "lastError" from secrets.oauth_tokens`,
    [],
  );
  return row;
}

/** Throws `WrongEncryptionKey`; undefined when nobody is logged in. */
export async function readTokens(db: Database, sealer: Sealer): Promise<StoredTokens | undefined> {
  const [row] = await query<Row>(
    db,
    `select service, client_id as "clientId", access_token as access, refresh_token as refresh, scopes, version, state,
       extract(epoch from expires_at - clock_timestamp())::float8 * 1000 as "leftMs",
       extract(epoch from expires_at - issued_at)::float8 * 1000 as "lifetimeMs",
       extract(epoch from greatest(retry_at, clock_timestamp()) - clock_timestamp())::float8 * 1000 as "restMs",
       case when issued_at > now() - interval '1 minute' then refusals else 0 end as refusals, last_error as "lastError"
     from secrets.oauth_tokens`,
    [],
  );
  if (row === undefined) return undefined;
  const { access, refresh, ...rest } = row;
  return {
    ...rest,
    accessToken: sealer.open(access, 'oauth_tokens.access_token'),
    refreshToken: sealer.open(refresh, 'oauth_tokens.refresh_token'),
  };
}

/** Puts the tokens of a log in in the place of all before; a refresh of those that is under way will store nothing. */
export async function storeLogin(
  db: Database,
  sealer: Sealer,
  { service, clientId, tokens }: { service: string; clientId: string; tokens: Tokens },
): Promise<void> {
  const { access, refresh } = sealed(sealer, tokens);
  await query(
    db,
    `insert into secrets.oauth_tokens (service, client_id, access_token, refresh_token, scopes, expires_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond')
     on conflict (is_only) do update set
       service = excluded.service, client_id = excluded.client_id, access_token = excluded.access_token,
       refresh_token = excluded.refresh_token, scopes = excluded.scopes, expires_at = excluded.expires_at,
       user_hint = null, version = nextval('secrets.oauth_version'), state = 'valid', logged_in_at = now(),
       issued_at = now(), refresh_began_at = null, retry_at = '-infinity', failures = 0, refusals = 0, last_error = null`,
    [service, clientId, access, refresh, tokens.scopes, leftMs(tokens)],
  );
}

/** Who logged in, when that is found out. */
export async function nameUser(db: Database, name: string): Promise<void> {
  await query(db, 'update secrets.oauth_tokens set user_hint = $1', [name]);
}

/** True when there was something to forget. */
export async function forgetTokens(db: Database): Promise<boolean> {
  const rows = await query(db, 'delete from secrets.oauth_tokens returning version', []);
  return rows.length > 0;
}

/** Takes a version for refreshing; false when it is not the stored one any more, or not valid. */
export async function markRefreshing(db: Database, version: string): Promise<boolean> {
  const rows = await query(
    db,
    `update secrets.oauth_tokens set state = 'refreshing', refresh_began_at = now()
     where version = $1 and state = 'valid' returning version`,
    [version],
  );
  return rows.length > 0;
}

/** Replaces a version by the next pair; false when it is not the stored one any more. */
export async function storeNext(
  db: Database,
  sealer: Sealer,
  { version, tokens, refusals }: { version: string; tokens: Tokens; refusals: number },
): Promise<boolean> {
  const { access, refresh } = sealed(sealer, tokens);
  const rows = await query(
    db,
    `update secrets.oauth_tokens set access_token = $2, refresh_token = $3, scopes = $4,
       expires_at = now() + $5 * interval '1 millisecond', issued_at = now(), refusals = $6,
       version = nextval('secrets.oauth_version'), state = 'valid', retry_at = '-infinity', failures = 0, last_error = null
     where version = $1 returning version`,
    [version, access, refresh, tokens.scopes, leftMs(tokens), refusals],
  );
  return rows.length > 0;
}

/**
 * Nothing was used up: the same pair stays, and is tried again later, each time after a longer rest. Who had not `isMarked`
 * it for refreshing leaves the mark of another alone.
 */
export async function postponeRefresh(
  db: Database,
  { version, reason, atLeastMs, isMarked }: { version: string; reason: string; atLeastMs: number; isMarked: boolean },
): Promise<void> {
  await query(
    db,
    `update secrets.oauth_tokens set state = 'valid', failures = failures + 1, last_error = $2,
       retry_at = now() + greatest($3, least(300000, 5000 * power(2, least(failures, 10)))) * interval '1 millisecond'
     where version = $1 and (state = 'valid' or $4::boolean)`,
    [version, reason, atLeastMs, isMarked],
  );
}

export async function markLost(db: Database, version: string, reason: string): Promise<void> {
  await query(db, `update secrets.oauth_tokens set state = 'lost', last_error = $2 where version = $1`, [
    version,
    reason,
  ]);
}

function sealed(sealer: Sealer, { accessToken, refreshToken }: Tokens): { access: Buffer; refresh: Buffer } {
  return {
    access: sealer.seal(accessToken, 'oauth_tokens.access_token'),
    refresh: sealer.seal(refreshToken, 'oauth_tokens.refresh_token'),
  };
}

/** As a length, since the clock that `expiresAt` was counted with is this process's. */
function leftMs({ expiresAt }: Tokens): number {
  return expiresAt - Date.now();
}
