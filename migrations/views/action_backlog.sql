create view reporting.action_backlog as
select
  a.transcript_id,
  a.call_id,
  a.call_started_at,
  a.local_date,
  a.is_urgent,
  case when (select is_text_shown from reporting.params) then coalesce(nullif(t.urgent_action_required_note, ''), t.action_required_note) end as note,
  case when (select is_text_shown from reporting.params) then t.short_summary end as short_summary,
  t.agent_name,
  c.external_number,
  c.account_number,
  case when f.contacted_by not in ('automatic_text', 'text_by_unknown') then f.contacted_at end as followed_up_at,
  f.contacted_by as followed_up_by
from rollups.action_items a
  join warehouse.transcripts t on t.transcript_id = a.transcript_id
  join warehouse.calls c on c.call_id = a.call_id
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
      from warehouse.sms_messages m
      where m.number = c.external_number and m.direction = 'out' and m.deleted_at is null
        and m.is_scheduled is not true and m.is_blocked is not true and m.sent_at > coalesce(c.ended_at, c.started_at)
      union all
      select m.sent_at, case
          when m.send_id is not null or exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id) then 'automatic_text'
          when m.sent_by is null then 'text_by_unknown'
          else 'text'
        end
      from warehouse.sms_conversations g join warehouse.sms_messages m on m.conversation_id = g.conversation_id
      where g.participants_key <> '' and g.participants @> array[c.external_number] and m.direction = 'out' and m.deleted_at is null
        and m.is_scheduled is not true and m.is_blocked is not true and m.sent_at > coalesce(c.ended_at, c.started_at)
    ) contacts (contacted_at, contacted_by)
    order by contacted_by in ('automatic_text', 'text_by_unknown'), contacted_at limit 1
  ) f on true;

comment on view reporting.action_backlog is 'Calls after which somebody should act, by the analysis, and the first call or text of a person to the customer since. Whether that did what was asked is not known. Filter on call_started_at, and on followed_up_at is null for what is open.';
comment on column reporting.action_backlog.transcript_id is 'The transcript.';
comment on column reporting.action_backlog.call_id is 'Its call.';
comment on column reporting.action_backlog.call_started_at is 'Start of the call.';
comment on column reporting.action_backlog.local_date is 'Its local day.';
comment on column reporting.action_backlog.is_urgent is 'Whether it says: at once.';
comment on column reporting.action_backlog.note is 'What to do, the urgent note first; only while params.is_text_shown.';
comment on column reporting.action_backlog.short_summary is 'What the call was about, only while params.is_text_shown; NULL, too, when summarisation did not run.';
comment on column reporting.action_backlog.agent_name is 'The agent''s name as the analysis heard it.';
comment on column reporting.action_backlog.external_number is 'The customer; NULL on internal calls, which nothing can follow up here.';
comment on column reporting.action_backlog.account_number is 'The account''s number.';
comment on column reporting.action_backlog.followed_up_at is 'First call, or text that a user sent, to the number after the call ended; NULL = none yet.';
comment on column reporting.action_backlog.followed_up_by is 'outbound_call, answered or not, or text of a user, to the number alone or to a group with it. Where neither came, for information, by the first text: automatic_text of a rule, or text_by_unknown, whose sender is unknown; followed_up_at stays NULL.';
