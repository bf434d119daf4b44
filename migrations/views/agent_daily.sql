create view reporting.agent_daily as
select
  a.local_date,
  reporting.date_key(a.local_date) as date_key,
  a.user_id,
  a.user_id as user_key,
  u.user_name,
  a.direction,
  a.handled_count,
  a.answered_count,
  a.placed_count,
  a.connected_count,
  a.placed_connected_count,
  a.unconnected_count,
  round(100.0 * a.placed_connected_count / nullif(a.placed_connected_count + a.unconnected_count, 0), 2) as connect_rate_pct,
  a.rang_count,
  a.transferred_to_count,
  a.transferred_out_count,
  a.talk_seconds,
  a.talk_count,
  round(a.talk_seconds::numeric / nullif(a.talk_count, 0), 1) as talk_avg_seconds,
  case when a.direction in ('inbound', 'internal') then round(100.0 * a.answered_count / nullif(a.answered_count + a.rang_count, 0), 2) end as pickup_rate_pct
from rollups.call_agent_day_rollup a
  left join reporting.dim_user u on u.user_id = a.user_id;

comment on view reporting.agent_daily is 'One row is a local day, user and direction with calls; internal calls are a direction of their own. A call that two people took counts for both, so users do not add up to call_daily. Log-in, pauses and after-call work are not reported by the service. By hour: agent_hourly. For sums over months: agent_monthly and the function agent_totals.';
comment on column reporting.agent_daily.local_date is 'Local day.';
comment on column reporting.agent_daily.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.agent_daily.user_id is 'Who had the extension when the call started; see dim_user.';
comment on column reporting.agent_daily.user_key is 'As user_id; see dim_user.';
comment on column reporting.agent_daily.user_name is 'The user''s name. Two users can have one name: group by user_id too.';
comment on column reporting.agent_daily.direction is 'internal: both ends are the account''s own, whoever called; of external calls inbound, outbound, or unknown where none is reported.';
comment on column reporting.agent_daily.handled_count is 'Calls that the user answered or placed.';
comment on column reporting.agent_daily.answered_count is 'Of these, answered by the user.';
comment on column reporting.agent_daily.placed_count is 'Of these, placed by the user, whether somebody answered or not.';
comment on column reporting.agent_daily.connected_count is 'Of the handled, those with a conversation: answered by the user, or placed by the user and answered by somebody.';
comment on column reporting.agent_daily.placed_connected_count is 'Of the placed, those that somebody answered.';
comment on column reporting.agent_daily.unconnected_count is 'Of the placed, those that nobody or a mailbox answered. With connected_count it falls short of handled_count by the calls that the service gives no outcome.';
comment on column reporting.agent_daily.connect_rate_pct is 'Of the placed whose outcome is reported, those that somebody answered, in percent; NULL where none was placed. Over several days, divide placed_connected_count by its sum with unconnected_count.';
comment on column reporting.agent_daily.rang_count is 'Calls that rang at the user''s and that the user neither answered nor placed. Known of calls that were read whole, and of those to the user''s own extension.';
comment on column reporting.agent_daily.transferred_to_count is 'Calls that were transferred to the user.';
comment on column reporting.agent_daily.transferred_out_count is 'Calls that the user transferred to somebody else, a queue or an outside party. Known of calls that were read whole.';
comment on column reporting.agent_daily.talk_seconds is 'The user''s connected time on the connected calls that report it, hold included.';
comment on column reporting.agent_daily.talk_count is 'Of the connected calls, those whose connected time is reported: the n of talk_avg_seconds. The service does not promise it of legs.';
comment on column reporting.agent_daily.talk_avg_seconds is 'Connected time per connected call that reports it, so that unanswered dials do not shorten it; NULL where none does, which is not zero.';
comment on column reporting.agent_daily.pickup_rate_pct is 'Inbound and internal: answered by the user, of the calls that the user answered or that only rang, in percent.';
