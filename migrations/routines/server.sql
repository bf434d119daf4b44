-- The server and timeline that take our writes. A promoted standby has another timeline, a restored dump another database. NULL
-- if Postgres doesn't say.
create or replace function ops.server_identity() returns text
language plpgsql as $$
begin
  return (select s.system_identifier || '/' || d.oid || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
    from pg_control_system() s, pg_database d where d.datname = current_database());
exception when others then
  return null;
end $$;
