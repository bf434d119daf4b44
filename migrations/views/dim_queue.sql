-- One row per queue or huntgroup that a call has entered. The service cannot list them, so those without calls are missing.
create view reporting.dim_queue as
select
  -- The key: kind and endpoint, by which the service tells them apart, so it stays the same after a rebuild.
  e.kind || ':' || e.endpoint as queue_key,
  e.kind, -- queue or huntgroup.
  e.endpoint, -- Its number; its name where it has none.
  coalesce(e.endpoint_name, e.endpoint) as queue_name -- Its name as the newest call shows it, else its number.
from rollups.endpoints e
where e.kind in ('queue', 'huntgroup');
