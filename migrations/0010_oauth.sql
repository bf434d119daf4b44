create table secrets.oauth_clients (
  service text not null,
  redirect_uri text not null,
  client_id text not null,
  registered_at timestamptz not null default now(),
  primary key (service, redirect_uri)
);
comment on table secrets.oauth_clients is 'As whom the daemon is registered with the service: once for each address that users are sent back to.';
comment on column secrets.oauth_clients.service is 'Base address of the service.';
comment on column secrets.oauth_clients.redirect_uri is 'Where users are sent back to, to the letter as registered.';
comment on column secrets.oauth_clients.client_id is 'The public name that the service gave.';
comment on column secrets.oauth_clients.registered_at is 'When it was registered.';

create table secrets.oauth_logins (
  login_id bigint generated always as identity primary key,
  state_hash bytea not null unique,
  verifier bytea not null,
  service text not null,
  client_id text not null,
  redirect_uri text not null,
  scopes text[] not null,
  began_at timestamptz not null default now(),
  expires_at timestamptz not null,
  answered_at timestamptz,
  outcome text check (outcome in ('granted', 'denied', 'failed')),
  reason text,
  missing_scopes text[] not null default '{}'
);
comment on table secrets.oauth_logins is 'Log ins that were begun with `trunkline auth login`; each takes one answer.';
comment on column secrets.oauth_logins.login_id is 'Order of beginning.';
comment on column secrets.oauth_logins.state_hash is 'SHA-256 of the state that the answer must bring.';
comment on column secrets.oauth_logins.verifier is 'The PKCE verifier, sealed with ENCRYPTION_KEY.';
comment on column secrets.oauth_logins.service is 'Base address of the service.';
comment on column secrets.oauth_logins.client_id is 'As whom it asked.';
comment on column secrets.oauth_logins.redirect_uri is 'Where the user is sent back to.';
comment on column secrets.oauth_logins.scopes is 'What it asked for.';
comment on column secrets.oauth_logins.began_at is 'When it was begun.';
comment on column secrets.oauth_logins.expires_at is 'An answer after this is not taken.';
comment on column secrets.oauth_logins.answered_at is 'When an answer came; no other is taken from then on.';
comment on column secrets.oauth_logins.outcome is 'granted, denied by the user, or failed; NULL while it is under way.';
comment on column secrets.oauth_logins.reason is 'Why it failed.';
comment on column secrets.oauth_logins.missing_scopes is 'Asked for and not granted.';

create sequence secrets.oauth_version as bigint;
comment on sequence secrets.oauth_version is 'Each stored pair of tokens has its own number, also across log ins.';

create table secrets.oauth_tokens (
  is_only boolean primary key default true check (is_only),
  service text not null,
  client_id text not null,
  access_token bytea not null,
  refresh_token bytea not null,
  scopes text[] not null,
  user_hint text,
  version bigint not null default nextval('secrets.oauth_version'),
  state text not null default 'valid' check (state in ('valid', 'refreshing', 'lost')),
  logged_in_at timestamptz not null default now(),
  issued_at timestamptz not null default now(),
  expires_at timestamptz not null,
  refresh_began_at timestamptz,
  retry_at timestamptz not null default '-infinity',
  failures integer not null default 0,
  refusals integer not null default 0,
  last_error text
);
comment on table secrets.oauth_tokens is 'The tokens of the user for whom the daemon acts where no API_KEY is set; both sealed with ENCRYPTION_KEY.';
comment on column secrets.oauth_tokens.is_only is 'There is one row.';
comment on column secrets.oauth_tokens.service is 'Base address of the service that gave them; no other is shown them.';
comment on column secrets.oauth_tokens.client_id is 'As whom the daemon is registered there.';
comment on column secrets.oauth_tokens.access_token is 'Sent with each request, sealed.';
comment on column secrets.oauth_tokens.refresh_token is 'Used once for the next pair, sealed.';
comment on column secrets.oauth_tokens.scopes is 'As granted.';
comment on column secrets.oauth_tokens.user_hint is 'Who logged in, where that could be told.';
comment on column secrets.oauth_tokens.version is 'Another number for each pair.';
comment on column secrets.oauth_tokens.state is 'valid; refreshing while a request for the next pair may be under way; lost when only another log in helps.';
comment on column secrets.oauth_tokens.logged_in_at is 'When the user logged in.';
comment on column secrets.oauth_tokens.issued_at is 'When this pair was stored.';
comment on column secrets.oauth_tokens.expires_at is 'When the access token ends, by the clock of the database.';
comment on column secrets.oauth_tokens.refresh_began_at is 'When the next pair was last asked for.';
comment on column secrets.oauth_tokens.retry_at is 'The next pair is not asked for before.';
comment on column secrets.oauth_tokens.failures is 'Refreshes in a row that failed without costing the refresh token.';
comment on column secrets.oauth_tokens.refusals is 'Refreshes in a row, each within a minute of the one before, because the service refused an access token.';
comment on column secrets.oauth_tokens.last_error is 'Why the last refresh failed.';
