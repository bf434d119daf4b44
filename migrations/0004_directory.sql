create table warehouse.users (
  user_id bigint primary key,
  username text,
  first_name text,
  last_name text,
  title text,
  email text,
  mobile text,
  company text,
  time_zone text,
  extension text
);
call warehouse.add_provenance('warehouse.users');
create trigger note_changes after update on warehouse.users referencing old table as old_rows new table as new_rows
  for each statement execute function warehouse.note_field_changes('user', 'user_id', 'username', 'first_name', 'last_name', 'title', 'time_zone', 'extension');

comment on table warehouse.users is 'Users of the account. An OAuth credential sees only those that its user may see.';
comment on column warehouse.users.user_id is 'The user id used everywhere else.';
comment on column warehouse.users.username is 'Portal name; empty for a user without portal access.';
comment on column warehouse.users.first_name is 'First name.';
comment on column warehouse.users.last_name is 'Last name.';
comment on column warehouse.users.title is 'Job title, free text.';
comment on column warehouse.users.email is 'E-mail address. Personal data.';
comment on column warehouse.users.mobile is 'Personal number, not one of the account''s. Personal data.';
comment on column warehouse.users.company is 'The user''s company, else the account''s name.';
comment on column warehouse.users.time_zone is 'IANA time zone.';
comment on column warehouse.users.extension is 'Dial-by-name extension.';

create table warehouse.user_endpoints (
  user_id bigint not null,
  kind text not null check (kind in ('extension', 'dial_extension', 'sip_line', 'number', 'voicemail')),
  endpoint text not null,
  valid_from timestamptz not null default now(),
  valid_to timestamptz not null default 'infinity',
  primary key (user_id, kind, endpoint, valid_from)
);
create index user_endpoints_of on warehouse.user_endpoints (endpoint, kind, valid_from, valid_to);
comment on table warehouse.user_endpoints is 'Where a user can be reached, and since when. An extension that changes hands keeps its old credit.';
comment on column warehouse.user_endpoints.user_id is 'The user.';
comment on column warehouse.user_endpoints.kind is 'extension, dial_extension, sip_line, number or voicemail.';
comment on column warehouse.user_endpoints.endpoint is 'The extension, number or name; numbers are normalised.';
comment on column warehouse.user_endpoints.valid_from is 'When the daemon first saw it there; -infinity for what stood in the first read of the user.';
comment on column warehouse.user_endpoints.valid_to is 'When the daemon no longer saw it there.';

create table warehouse.sms_lines (
  line text primary key,
  name text,
  is_bulk_enabled boolean,
  is_unrestricted boolean
);
call warehouse.add_provenance('warehouse.sms_lines');
create trigger note_changes after update on warehouse.sms_lines referencing old table as old_rows new table as new_rows
  for each statement execute function warehouse.note_field_changes('line', 'line', 'name', 'is_bulk_enabled', 'is_unrestricted');
comment on table warehouse.sms_lines is 'Numbers of the account that can text.';
comment on column warehouse.sms_lines.line is 'The number, digits.';
comment on column warehouse.sms_lines.name is 'Caller-ID name; empty if none.';
comment on column warehouse.sms_lines.is_bulk_enabled is 'Registered for 10DLC bulk traffic; restricts nothing.';
comment on column warehouse.sms_lines.is_unrestricted is 'True when no users are assigned: everybody may use it.';

create table warehouse.sms_line_users (
  line text not null,
  user_id bigint not null,
  valid_from timestamptz not null default now(),
  valid_to timestamptz not null default 'infinity',
  primary key (line, user_id, valid_from)
);
comment on table warehouse.sms_line_users is 'Users that a line is assigned to, and since when.';
comment on column warehouse.sms_line_users.line is 'The line.';
comment on column warehouse.sms_line_users.user_id is 'The user.';
comment on column warehouse.sms_line_users.valid_from is 'When the daemon first saw the assignment; -infinity for what stood in the first read of the line.';
comment on column warehouse.sms_line_users.valid_to is 'When the daemon no longer saw it.';

create table warehouse.webhook_subscriptions (
  subscription_id bigint primary key,
  name text,
  description text,
  url_host text,
  event_type text,
  is_enabled boolean,
  is_ours boolean,
  created_at timestamptz,
  updated_at timestamptz
);
call warehouse.add_provenance('warehouse.webhook_subscriptions');
comment on table warehouse.webhook_subscriptions is 'Webhook subscriptions of the account, ours and other people''s.';
comment on column warehouse.webhook_subscriptions.subscription_id is 'The subscription''s id.';
comment on column warehouse.webhook_subscriptions.name is 'Its name.';
comment on column warehouse.webhook_subscriptions.description is 'Its description.';
comment on column warehouse.webhook_subscriptions.url_host is 'Host that it delivers to; the address itself is a secret.';
comment on column warehouse.webhook_subscriptions.event_type is 'The event type that it fires on.';
comment on column warehouse.webhook_subscriptions.is_enabled is 'Whether events are delivered.';
comment on column warehouse.webhook_subscriptions.is_ours is 'Whether it delivers to this daemon.';
comment on column warehouse.webhook_subscriptions.created_at is 'When it was created at the service.';
comment on column warehouse.webhook_subscriptions.updated_at is 'When it was last changed at the service.';

create table secrets.webhook_urls (
  subscription_id bigint primary key,
  url text not null
);
comment on table secrets.webhook_urls is 'Delivery addresses of subscriptions.';
comment on column secrets.webhook_urls.subscription_id is 'The subscription.';
comment on column secrets.webhook_urls.url is 'Its address.';
