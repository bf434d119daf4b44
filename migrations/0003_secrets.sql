-- Signed links to audio. They do not expire, and whoever has one can play the recording. `npx trunkline links` prints them. RETENTION_DAYS
-- deletes them.
create table secrets.recording_urls (
  call_id text not null, -- Whose recordings were read.
  unique_id text not null,
  url text not null, -- The link, sealed with ENCRYPTION_KEY, or else with a key derived from API_KEY.
  first_seen_at timestamptz not null default now(),
  primary key (call_id, unique_id)
);

-- Addresses of attached files. Whoever has one can fetch the file. `npx trunkline links` prints them. RETENTION_DAYS deletes them.
create table secrets.message_media (
  conversation_id bigint not null,
  message_id bigint not null,
  ordinal smallint not null, -- Position in the message, from 1.
  url text not null, -- The address, sealed with ENCRYPTION_KEY, or else with a key derived from API_KEY.
  first_seen_at timestamptz not null default now(),
  primary key (conversation_id, message_id, ordinal)
);

-- Delivery addresses of subscriptions.
create table secrets.webhook_urls (
  subscription_id bigint primary key,
  url text not null
);

-- OAuth

-- OAuth clients that the daemon registered with the service, one for each redirect address.
create table secrets.oauth_clients (
  service text not null,
  redirect_uri text not null,
  client_id text not null,
  registered_at timestamptz not null default now(),
  primary key (service, redirect_uri)
);

-- Logins started with `npx trunkline auth login`; each accepts one callback.
create table secrets.oauth_logins (
  login_id bigint generated always as identity primary key,
  state_hash bytea not null unique, -- SHA-256 of the state that the callback must contain.
  verifier bytea not null, -- The PKCE verifier, sealed with ENCRYPTION_KEY.
  service text not null,
  client_id text not null,
  redirect_uri text not null,
  scopes text[] not null,
  began_at timestamptz not null default now(),
  expires_at timestamptz not null, -- A later callback is refused.
  answered_at timestamptz, -- When the callback arrived; further ones are refused.
  outcome text check (outcome in ('granted', 'denied', 'failed')),
  reason text,
  missing_scopes text[] not null default '{}'
);

-- Numbers each stored pair of tokens, across logins.
create sequence secrets.oauth_version as bigint;

-- The tokens of the user for whom the daemon acts if API_KEY is not set, sealed with ENCRYPTION_KEY.
create table secrets.oauth_tokens (
  is_only boolean default true primary key check (is_only),
  service text not null, -- Base address of the service that issued them; they are sent to no other.
  client_id text not null, -- Client id of the daemon there.
  access_token bytea not null, -- Sent with each request, sealed.
  refresh_token bytea not null, -- Used once for the next pair, sealed.
  scopes text[] not null,
  version bigint not null default nextval('secrets.oauth_version'),
  -- refreshing: a request for the next pair may be in flight; lost: a new login is needed.
  state text not null default 'valid' check (state in ('valid', 'refreshing', 'lost')),
  logged_in_at timestamptz not null default now(),
  issued_at timestamptz not null default now(),
  expires_at timestamptz not null, -- When the access token expires, by the clock of the database.
  retry_at timestamptz not null default '-infinity',
  failures integer not null default 0, -- Failed refreshes in a row that did not use up the refresh token.
  refusals integer not null default 0, -- Consecutive refreshes, at most a minute apart, caused by a refused access token.
  last_error text
);

-- Erasure

-- The salt of the hashes in ops.erasures. Whoever has it can test which numbers were erased.
create table secrets.erasure_salt (
  is_only boolean default true primary key check (is_only),
  salt text not null default replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
);
insert into secrets.erasure_salt default values;
