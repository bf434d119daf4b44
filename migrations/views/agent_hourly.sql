create view reporting.agent_hourly as
select
  a.local_date,
  reporting.date_key(a.local_date) as date_key,
  extract(isodow from a.local_date)::integer as local_isodow,
  a.local_hour,
  a.user_id as user_key,
  u.user_name,
  a.direction,
  a.handled_count,
  a.answered_count,
  a.placed_count,
  a.connected_count,
  a.placed_connected_count,
  a.unconnected_count,
  a.rang_count,
  a.transferred_to_count,
  a.transferred_out_count,
  a.talk_seconds,
  a.talk_count
from rollups.call_agent_rollup a
  left join reporting.dim_user u on u.user_id = a.user_id;

comment on view reporting.agent_hourly is 'One row is an hour of a local day, user and direction with calls; internal calls are a direction of their own. Sum it by day, month or hour of the week. A call that two people took counts for both, so that users do not add up to call_hourly. Log-in, pauses and after-call work are not reported by the service.';
comment on column reporting.agent_hourly.local_date is 'Local day.';
comment on column reporting.agent_hourly.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.agent_hourly.local_isodow is 'Day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.agent_hourly.local_hour is 'Local hour in which the call began. On the autumn day of the time change the repeated hour holds two, on the spring day one hour is missing.';
comment on column reporting.agent_hourly.user_key is 'Who had the extension when the calls started; see dim_user.';
comment on column reporting.agent_hourly.user_name is 'The user''s name. Two users can have one name: group by user_key too.';
comment on column reporting.agent_hourly.direction is 'internal: both ends are the account''s own, whoever called; of external calls inbound, outbound, or unknown where none is reported.';
comment on column reporting.agent_hourly.handled_count is 'Calls that the user answered or placed.';
comment on column reporting.agent_hourly.answered_count is 'Of these, answered by the user.';
comment on column reporting.agent_hourly.placed_count is 'Of these, placed by the user, whether somebody answered or not.';
comment on column reporting.agent_hourly.connected_count is 'Of the handled, those with a conversation: answered by the user, or placed by the user and answered by somebody.';
comment on column reporting.agent_hourly.placed_connected_count is 'Of the placed, those that somebody answered.';
comment on column reporting.agent_hourly.unconnected_count is 'Of the placed, those that nobody or a mailbox answered. With connected_count it falls short of handled_count by the calls that the service gives no outcome. Connected share: placed_connected_count, of its sum with this.';
comment on column reporting.agent_hourly.rang_count is 'Calls that rang at the user''s and that the user neither answered nor placed. Known of calls that were read whole, and of those to the user''s own extension. Picked up: answered_count, of its sum with this.';
comment on column reporting.agent_hourly.transferred_to_count is 'Calls that were transferred to the user.';
comment on column reporting.agent_hourly.transferred_out_count is 'Calls that the user transferred to somebody else, a queue or an outside party. Known of calls that were read whole.';
comment on column reporting.agent_hourly.talk_seconds is 'The user''s connected time on the connected calls that report it, hold included.';
comment on column reporting.agent_hourly.talk_count is 'Of the connected calls, those whose connected time is reported: the n of talk_seconds. The service does not promise it of legs.';
