create view reporting.agent_daily as
select
  a.local_date,
  a.user_id,
  u.user_name,
  a.direction,
  a.handled_count,
  a.rang_count,
  a.transferred_to_count,
  a.talk_seconds,
  a.talk_count,
  round(a.talk_seconds::numeric / nullif(a.talk_count, 0), 1) as talk_avg_seconds,
  case when a.direction = 'inbound' then round(100.0 * a.handled_count / nullif(a.handled_count + a.rang_count, 0), 2) end as pickup_rate_pct
from rollups.call_agent_rollup a
  left join reporting.dim_user u on u.user_id = a.user_id;

comment on view reporting.agent_daily is 'Calls by local day and user, internal ones included. A call that two people took counts for both, so users do not add up to call_daily. Log-in, pauses and after-call work are not reported by the service. For sums over months: agent_monthly and the function agent_totals.';
comment on column reporting.agent_daily.local_date is 'Local day.';
comment on column reporting.agent_daily.user_id is 'Who had the extension when the call started.';
comment on column reporting.agent_daily.user_name is 'The user''s name.';
comment on column reporting.agent_daily.direction is 'Direction of the call: inbound, outbound, or unknown where none is reported.';
comment on column reporting.agent_daily.handled_count is 'Calls that the user answered or placed.';
comment on column reporting.agent_daily.rang_count is 'Calls that rang at the user''s and that the user did not answer. Known of calls that were read whole, and of those to the user''s own extension.';
comment on column reporting.agent_daily.transferred_to_count is 'Calls that were transferred to the user.';
comment on column reporting.agent_daily.talk_seconds is 'Connected time on the calls handled that report it, hold included.';
comment on column reporting.agent_daily.talk_count is 'Of the calls handled, those whose connected time is reported: the n of talk_avg_seconds. The service does not promise it of legs.';
comment on column reporting.agent_daily.talk_avg_seconds is 'Connected time per call handled that reports it; NULL where none does, which is not zero.';
comment on column reporting.agent_daily.pickup_rate_pct is 'Inbound: handled, of the calls that were handled or rang, in percent.';
