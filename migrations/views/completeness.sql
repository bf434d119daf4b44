-- One row per UTC day: what calls the service reports, compared with what is mirrored. A day without a row was never compared.
create view reporting.completeness as
select
  utc_date, -- The day, in UTC: hours are compared in UTC.
  hour_count, -- Hours of the day that are over: 24 for a whole day.
  proven_hour_count, -- Of these, hours in which everything listed by the service is mirrored.
  reported_count, -- What the service listed; NULL when it was never asked.
  held_count, -- Number of mirrored calls.
  unannounced_count, -- Of the reported calls, those that no webhook had announced; NULL for days before the webhooks.
  proven_hour_count = hour_count as is_complete, -- Whether every hour that is over is proven.
  coalesce(
    error,
    case
      when compared_hour_count < hour_count then 'not every hour was compared'
      when compared_hour_count > proven_hour_count then 'an hour is to be compared again'
    end
  ) as difference -- Why not every hour is proven; NULL where all are.
from (
  select
    (from_at at time zone 'UTC')::date as utc_date,
    least(24, floor(extract(epoch from now() - date_trunc('day', min(from_at), 'UTC')) / 3600))::integer as hour_count,
    count(*)::integer as compared_hour_count,
    count(*) filter (where state = 'proven')::integer as proven_hour_count,
    sum(reported_count)::integer as reported_count,
    sum(held_count)::integer as held_count,
    sum(unannounced_count) filter (where reported_count is not null)::integer as unannounced_count,
    min(last_error) filter (where state <> 'proven') as error
  from ops.coverage
  where stream = 'calls' and to_at <= now()
  group by (from_at at time zone 'UTC')::date
) days;
