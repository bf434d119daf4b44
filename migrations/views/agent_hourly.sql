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

comment on view reporting.agent_hourly is 'One row per hour of a local day, user and direction with calls; internal calls have their own direction. Sum it by day, month or hour of the week. A call that two people took counts for both, so the sum over users differs from call_hourly. The service does not report log-in, pauses and after-call work.';
comment on column reporting.agent_hourly.local_date is 'Local day.';
comment on column reporting.agent_hourly.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.agent_hourly.local_isodow is 'Day of the week, 1 = Monday to 7 = Sunday.';
comment on column reporting.agent_hourly.local_hour is 'Local hour in which the call began. In autumn, the repeated hour includes both; in spring, one hour is missing.';
comment on column reporting.agent_hourly.user_key is 'Who had the extension when the calls started; see dim_user.';
comment on column reporting.agent_hourly.user_name is 'The user''s name. Two users can have one name: group by user_key too.';
comment on column reporting.agent_hourly.direction is 'internal: both ends belong to the account. External calls: inbound, outbound, or unknown if not reported.';
comment on column reporting.agent_hourly.handled_count is 'Calls that the user answered or placed.';
comment on column reporting.agent_hourly.answered_count is 'Of these, answered by the user.';
comment on column reporting.agent_hourly.placed_count is 'Of these, placed by the user, whether somebody answered or not.';
comment on column reporting.agent_hourly.connected_count is 'Of the handled, those with a conversation: answered by the user, or placed by the user and answered by somebody.';
comment on column reporting.agent_hourly.placed_connected_count is 'Of the placed, those that somebody answered.';
comment on column reporting.agent_hourly.unconnected_count is 'Of the placed calls, those answered by nobody or by a mailbox. Connected share: placed_connected_count / (placed_connected_count + unconnected_count). handled_count also includes calls without a reported outcome.';
comment on column reporting.agent_hourly.rang_count is 'Calls that rang at the user''s telephone and that the user neither answered nor placed. Only known for calls read with their legs, and for calls to the user''s own extension. Picked up: answered_count / (answered_count + rang_count).';
comment on column reporting.agent_hourly.transferred_to_count is 'Calls that were transferred to the user.';
comment on column reporting.agent_hourly.transferred_out_count is 'Calls that the user transferred to somebody else, a queue or an outside party. Only known for calls read with their legs.';
comment on column reporting.agent_hourly.talk_seconds is 'The user''s connected time on the connected calls that report it, including hold time. Answered calls include those transferred to the user, in the direction of the whole call; fct_call_agent tells the roles apart.';
comment on column reporting.agent_hourly.talk_count is 'Connected calls whose connected time is reported: the n of talk_seconds.';
