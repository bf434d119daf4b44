-- Links are stored sealed: what stands here in clear is sealed by the next worker that starts.

comment on table secrets.message_media is 'Addresses of attached files; anyone holding one can fetch the file. `trunkline links` prints them.';
comment on column secrets.message_media.url is 'The address, sealed with ENCRYPTION_KEY, or without one with a key derived from API_KEY.';
comment on table secrets.recording_urls is 'Signed links to audio. They do not expire; anyone holding one can play the call. `trunkline links` prints them.';
comment on column secrets.recording_urls.url is 'The link, sealed with ENCRYPTION_KEY, or without one with a key derived from API_KEY.';
comment on column secrets.webhook_urls.url is 'Its address, sealed with ENCRYPTION_KEY, or without one with a key derived from API_KEY.';
