comment on table ops.migrations is 'Which migrations this database has. Kysely keeps it.';
comment on column ops.migrations.name is 'The name of its file in the folder migrations, without .sql.';
comment on column ops.migrations."timestamp" is 'When it was applied, ISO 8601.';
comment on table ops.migrations_lock is 'Kysely makes it for all databases; on Postgres whoever migrates holds an advisory lock instead.';
comment on column ops.migrations_lock.id is 'The name of the lock.';
comment on column ops.migrations_lock.is_locked is '0: it is not used on Postgres.';
