-- One row per call that needs action according to its analysis, however many transcripts say so, with the first call or text by a user to
-- the customer since. Whether that did what was asked is unknown. Filter on call_started_at; is_open finds what is still to do.
create view reporting.fct_action as
select
  a.call_id, -- The call; the key.
  a.call_started_at, -- Start of the call.
  a.local_date, -- Its local day.
  a.is_urgent, -- Whether one of its transcripts says that action is urgent.
  case when (select is_text_shown from reporting.params) then (
    select string_agg(coalesce(nullif(x.urgent_action_required_note, ''), x.action_required_note), e'\n' order by n.ordinal)
    from unnest(a.transcript_ids) with ordinality n (transcript_id, ordinal)
      join warehouse.transcripts x on x.transcript_id = n.transcript_id
  ) end as note, -- What to do, one line per transcript, urgent first; only while params.is_text_shown.
  -- Summary of the first of these transcripts, only while params.is_text_shown; also NULL when summarisation did not run.
  case when (select is_text_shown from reporting.params) then (
    select t.short_summary from warehouse.transcripts t where t.transcript_id = a.transcript_ids[1]
  ) end as short_summary,
  w.agent_user_id as user_key, -- User who had the extension of its leg; NULL = not known. See dim_user.
  u.user_name as agent_name, -- That user's name; NULL where the user is not known.
  c.external_number, -- The customer; NULL for internal calls, which cannot be followed up here.
  -- First call, or text that a user sent, to the number after the call ended; NULL = none yet.
  case when m.texted_by = 'text' then least(o.called_at, m.texted_at) else o.called_at end as followed_up_at,
  -- outbound_call (answered or not) or text (by a user, to the number or to a group with it). Otherwise, for information, the first other
  -- text: automatic_text (by a rule) or text_by_unknown (unknown sender); followed_up_at is NULL then. NULL = none of these.
  case when o.called_at is null or (m.texted_by = 'text' and m.texted_at < o.called_at) then m.texted_by else 'outbound_call' end as followed_up_by,
  -- No user has called or texted the customer since.
  o.called_at is null and m.texted_by is distinct from 'text' as is_open
from rollups.action_items a
  join warehouse.calls c on c.call_id = a.call_id
  left join lateral (
    select o.started_at as called_at from warehouse.calls o
    where o.external_number = c.external_number and o.direction = 'outbound' and o.deleted_at is null
      and o.started_at > coalesce(c.ended_at, c.started_at)
    order by o.started_at limit 1
  ) o on true
  left join lateral (
    select x.sent_at as texted_at, k.texted_by
    from (
      select * from warehouse.sms_messages where number = c.external_number
      union all
      select y.* from warehouse.sms_conversations g join warehouse.sms_messages y on y.conversation_id = g.conversation_id
      where g.participants_key <> '' and g.participants @> array[c.external_number]
    ) x
      left join reporting.delivery_status_map d on d.word = lower(trim(x.delivery_status))
      cross join lateral (
        select case
          when x.send_id is not null or exists (select from ops.sends s where s.line = x.line and s.message_id = x.message_id) then 'automatic_text'
          when x.sent_by is null then 'text_by_unknown'
          else 'text'
        end as texted_by
      ) k
    where x.direction = 'out' and x.deleted_at is null and x.is_scheduled is not true and x.sent_at > coalesce(c.ended_at, c.started_at)
      and reporting.delivery_class(x.direction, x.is_blocked, x.delivery_status, x.delivery_error, d.delivery_class) not in ('blocked', 'failed')
    order by k.texted_by <> 'text', x.sent_at limit 1
  ) m on true
  -- One by one: the planner would rather read those of all transcripts.
  left join lateral (
    select x.agent_user_id from rollups.transcript_agents x where x.transcript_id = a.transcript_ids[1] limit 1
  ) w on true
  left join reporting.dim_user u on u.user_key = w.agent_user_id;
