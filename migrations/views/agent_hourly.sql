-- One row per hour of a local day, user and direction with calls; internal calls have their own direction. Sum it by day, month or hour of
-- the week, and join the names of users to the sums. A call that two people took counts for both, so the sum over users differs from
-- call_hourly. The service does not report log-in, pauses and after-call work.
create view reporting.agent_hourly as
select
  a.local_date, -- Local day.
  a.local_hour, -- Local hour in which the call began. In autumn, the repeated hour includes both; in spring, one hour is missing.
  a.user_id as user_key, -- Who had the extension when the calls started; see dim_user.
  a.direction, -- internal: both ends belong to the account. External calls: inbound, outbound, or unknown if not reported.
  a.handled_count, -- Calls that the user answered or placed.
  a.answered_count, -- Of these, answered by the user.
  a.placed_count, -- Of these, placed by the user, whether somebody answered or not.
  a.connected_count, -- Of the handled, those with a conversation: answered by the user, or placed by the user and answered by somebody.
  a.placed_connected_count, -- Of the placed, those that somebody answered.
  -- Of the placed calls, those answered by nobody or by a mailbox. Connected share: placed_connected_count / (placed_connected_count +
  -- unconnected_count). handled_count also includes calls without a reported outcome.
  a.unconnected_count,
  -- Calls that rang at the user's telephone and that the user neither answered nor placed. Only known for calls read with their legs, and
  -- for calls to the user's own extension. Picked up: answered_count / (answered_count + rang_count).
  a.rang_count,
  -- The user's connected time on the connected calls that report it, including hold time. Answered calls include those transferred to the
  -- user, in the direction of the whole call; fct_call_agent tells the roles apart.
  a.talk_seconds,
  a.talk_count -- Connected calls whose connected time is reported: the n of talk_seconds.
from rollups.call_agent_rollup a;
