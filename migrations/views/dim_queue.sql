create view reporting.dim_queue as
select
  e.kind || ':' || e.endpoint as queue_key,
  e.kind,
  e.endpoint,
  coalesce(e.endpoint_name, e.endpoint) as queue_name,
  e.last_date as last_call_date
from rollups.endpoints e
where e.kind in ('queue', 'huntgroup');

comment on view reporting.dim_queue is 'One row per queue or huntgroup that a call has entered. The service cannot list them, so those without calls are missing.';
comment on column reporting.dim_queue.queue_key is 'The key: kind and endpoint, by which the service tells them apart, so it stays the same after a rebuild.';
comment on column reporting.dim_queue.kind is 'queue or huntgroup.';
comment on column reporting.dim_queue.endpoint is 'Its number; its name where it has none.';
comment on column reporting.dim_queue.queue_name is 'Its name as the newest call shows it, else its number.';
comment on column reporting.dim_queue.last_call_date is 'Local day of its newest call.';
