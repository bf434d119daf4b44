create table secrets.recording_urls (
  call_id text not null,
  unique_id text not null,
  url text not null,
  first_seen_at timestamptz not null default now(),
  primary key (call_id, unique_id)
);
comment on table secrets.recording_urls is 'Signed links to audio. They do not expire, and whoever has one can play the recording. `npx trunkline links` prints them. RETENTION_DAYS deletes them.';
comment on column secrets.recording_urls.call_id is 'The call whose recordings were read.';
comment on column secrets.recording_urls.unique_id is 'The recorded leg.';
comment on column secrets.recording_urls.url is 'The link, sealed with ENCRYPTION_KEY, or else with a key derived from API_KEY.';
comment on column secrets.recording_urls.first_seen_at is 'When it was first mirrored.';

create table secrets.message_media (
  conversation_id bigint not null,
  message_id bigint not null,
  ordinal smallint not null,
  url text not null,
  first_seen_at timestamptz not null default now(),
  primary key (conversation_id, message_id, ordinal)
);
comment on table secrets.message_media is 'Addresses of attached files. Whoever has one can fetch the file. `npx trunkline links` prints them. RETENTION_DAYS deletes them.';
comment on column secrets.message_media.conversation_id is 'The conversation.';
comment on column secrets.message_media.message_id is 'The message.';
comment on column secrets.message_media.ordinal is 'Position in the message, from 1.';
comment on column secrets.message_media.url is 'The address, sealed with ENCRYPTION_KEY, or else with a key derived from API_KEY.';
comment on column secrets.message_media.first_seen_at is 'When it was first mirrored.';

create table secrets.webhook_urls (
  subscription_id bigint primary key,
  url text not null
);
comment on table secrets.webhook_urls is 'Delivery addresses of subscriptions.';
comment on column secrets.webhook_urls.subscription_id is 'The subscription.';
comment on column secrets.webhook_urls.url is 'Its address, sealed with ENCRYPTION_KEY, or else with a key derived from API_KEY.';

-- OAuth

create table secrets.oauth_clients (
  service text not null,
  redirect_uri text not null,
  client_id text not null,
  registered_at timestamptz not null default now(),
  primary key (service, redirect_uri)
);
comment on table secrets.oauth_clients is 'OAuth clients that the daemon registered with the service, one for each redirect address.';
comment on column secrets.oauth_clients.service is 'Base address of the service.';
comment on column secrets.oauth_clients.redirect_uri is 'Redirect address, exactly as registered.';
comment on column secrets.oauth_clients.client_id is 'Client id that the service issued.';
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
comment on table secrets.oauth_logins is 'Logins started with `npx trunkline auth login`; each accepts one callback.';
comment on column secrets.oauth_logins.login_id is 'Order of start.';
comment on column secrets.oauth_logins.state_hash is 'SHA-256 of the state that the callback must contain.';
comment on column secrets.oauth_logins.verifier is 'The PKCE verifier, sealed with ENCRYPTION_KEY.';
comment on column secrets.oauth_logins.service is 'Base address of the service.';
comment on column secrets.oauth_logins.client_id is 'Client id of the request.';
comment on column secrets.oauth_logins.redirect_uri is 'Where the user is sent back to.';
comment on column secrets.oauth_logins.scopes is 'Scopes that were requested.';
comment on column secrets.oauth_logins.began_at is 'When it was started.';
comment on column secrets.oauth_logins.expires_at is 'A later callback is refused.';
comment on column secrets.oauth_logins.answered_at is 'When the callback arrived; further ones are refused.';
comment on column secrets.oauth_logins.outcome is 'granted, denied by the user, or failed; NULL while it is pending.';
comment on column secrets.oauth_logins.reason is 'Why it failed.';
comment on column secrets.oauth_logins.missing_scopes is 'Requested and not granted.';

create sequence secrets.oauth_version as bigint;
comment on sequence secrets.oauth_version is 'Numbers each stored pair of tokens, across logins.';

create table secrets.oauth_tokens (
  is_only boolean default true primary key check (is_only),
  service text not null,
  client_id text not null,
  access_token bytea not null,
  refresh_token bytea not null,
  scopes text[] not null,
  version bigint not null default nextval('secrets.oauth_version'),
  state text not null default 'valid' check (state in ('valid', 'refreshing', 'lost')),
  logged_in_at timestamptz not null default now(),
  issued_at timestamptz not null default now(),
  expires_at timestamptz not null,
  retry_at timestamptz not null default '-infinity',
  failures integer not null default 0,
  refusals integer not null default 0,
  last_error text
);
comment on table secrets.oauth_tokens is 'The tokens of the user for whom the daemon acts if API_KEY is not set, sealed with ENCRYPTION_KEY.';
comment on column secrets.oauth_tokens.is_only is 'There is one row.';
comment on column secrets.oauth_tokens.service is 'Base address of the service that issued them; they are sent to no other.';
comment on column secrets.oauth_tokens.client_id is 'Client id of the daemon there.';
comment on column secrets.oauth_tokens.access_token is 'Sent with each request, sealed.';
comment on column secrets.oauth_tokens.refresh_token is 'Used once for the next pair, sealed.';
comment on column secrets.oauth_tokens.scopes is 'As granted.';
comment on column secrets.oauth_tokens.version is 'Number of the pair.';
comment on column secrets.oauth_tokens.state is 'valid; refreshing: a request for the next pair may be in flight; lost: a new login is needed.';
comment on column secrets.oauth_tokens.logged_in_at is 'When the user logged in.';
comment on column secrets.oauth_tokens.issued_at is 'When this pair was stored.';
comment on column secrets.oauth_tokens.expires_at is 'When the access token expires, by the clock of the database.';
comment on column secrets.oauth_tokens.retry_at is 'The earliest time of the next refresh.';
comment on column secrets.oauth_tokens.failures is 'Failed refreshes in a row that did not use up the refresh token.';
comment on column secrets.oauth_tokens.refusals is 'Consecutive refreshes, at most a minute apart, caused by a refused access token.';
comment on column secrets.oauth_tokens.last_error is 'Why the last refresh failed.';

-- Erasure

create table secrets.erasure_salt (
  is_only boolean default true primary key check (is_only),
  salt text not null default replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
);
comment on table secrets.erasure_salt is 'The salt of the hashes in ops.erasures. Whoever has it can test which numbers were erased.';
comment on column secrets.erasure_salt.is_only is 'There is one row.';
comment on column secrets.erasure_salt.salt is 'Random, generated with the table.';
insert into secrets.erasure_salt default values;
