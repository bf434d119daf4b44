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
  case when (select is_text_shown from reporting.params) then t.short_summary end as short_summary,
  w.agent_user_id as user_key, -- User who had the extension of its leg; NULL = not known. See dim_user.
  u.user_name as agent_name, -- That user's name; NULL where the user is not known.
  c.external_number, -- The customer; NULL for internal calls, which cannot be followed up here.
  -- First call, or text that a user sent, to the number after the call ended; NULL = none yet.
  case when f.contacted_by not in ('automatic_text', 'text_by_unknown') then f.contacted_at end as followed_up_at,
  -- outbound_call (answered or not) or text (by a user, to the number or to a group with it). Otherwise, for information, the first other
  -- text: automatic_text (by a rule) or text_by_unknown (unknown sender); followed_up_at is NULL then. NULL = none of these.
  f.contacted_by as followed_up_by,
  -- No user has called or texted the customer since.
  f.contacted_by is null or f.contacted_by in ('automatic_text', 'text_by_unknown') as is_open
from rollups.action_items a
  join warehouse.transcripts t on t.transcript_id = a.transcript_ids[1]
  join warehouse.calls c on c.call_id = a.call_id
  left join rollups.transcript_agents w on w.transcript_id = a.transcript_ids[1]
  left join reporting.dim_user u on u.user_key = w.agent_user_id
  left join lateral (
    select contacted_at, contacted_by from (
      (select o.started_at, 'outbound_call' from warehouse.calls o
       where o.external_number = c.external_number and o.direction = 'outbound' and o.deleted_at is null
         and o.started_at > coalesce(c.ended_at, c.started_at)
       order by o.started_at limit 1)
      union all
      select m.sent_at, case
          when m.send_id is not null or exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id) then 'automatic_text'
          when m.sent_by is null then 'text_by_unknown'
          else 'text'
        end
      from (
        select * from warehouse.sms_messages where number = c.external_number
        union all
        select x.* from warehouse.sms_conversations g join warehouse.sms_messages x on x.conversation_id = g.conversation_id
        where g.participants_key <> '' and g.participants @> array[c.external_number]
      ) m
        left join reporting.delivery_status_map d on d.word = lower(trim(m.delivery_status))
      where m.direction = 'out' and m.deleted_at is null and m.is_scheduled is not true and m.sent_at > coalesce(c.ended_at, c.started_at)
        and reporting.delivery_class(m.direction, m.is_blocked, m.delivery_status, m.delivery_error, d.delivery_class) not in ('blocked', 'failed')
    ) contacts (contacted_at, contacted_by)
    order by contacted_by in ('automatic_text', 'text_by_unknown'), contacted_at limit 1
  ) f on true;
