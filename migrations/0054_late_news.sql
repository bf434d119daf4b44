-- A read of history can be the first to meet what happened a moment ago, before its webhook or instead of it, and what is
-- mirrored once is never news again. So that recent things are told of whatever read finds them; how long a rule waits for
-- its trigger is its own to say.
create function ops.news_since() returns timestamptz language sql stable as $$
  select now() - case when ops.is_history() then interval '10 minutes' else interval '1 day' end
$$;
comment on function ops.news_since is 'What this transaction mirrors and happened after this moment is told to the rules.';
comment on function ops.is_history is 'Whether this transaction fills in history, of which only the last minutes are news.';

create or replace function ops.note_texts() returns trigger language plpgsql as $$
declare
  since timestamptz := ops.news_since();
begin
  insert into ops.rule_events (kind, key, happened_at)
  select 'message_received', conversation_id || '/' || message_id, sent_at
  from new_rows
  where direction = 'in' and is_scheduled is not true and sent_at > since
  order by sent_at, message_id;
  return null;
end $$;

create or replace function ops.note_calls() returns trigger language plpgsql set enable_nestloop = off as $$
declare
  since timestamptz := ops.news_since();
begin
  if tg_op = 'INSERT' then
    insert into ops.rule_events (kind, key, happened_at)
    select e.kind, n.call_id, n.ended_at
    from new_rows n, lateral (values ('call_ended', true), ('call_missed', n.status = 'missed'), ('voicemail_left', n.status = 'voicemail')) e (kind, is_so)
    where e.is_so and n.ended_at > since and not n.is_erased
    order by n.ended_at, n.call_id, e.kind;
  else
    insert into ops.rule_events (kind, key, happened_at)
    select e.kind, n.call_id, n.ended_at
    from new_rows n join old_rows o using (call_id),
      lateral (values ('call_ended', o.ended_at is null), ('call_missed', n.status = 'missed'), ('voicemail_left', n.status = 'voicemail')) e (kind, is_so)
    where e.is_so and n.ended_at > since and not n.is_erased
      and (o.ended_at is null or o.status is distinct from n.status)
    order by n.ended_at, n.call_id, e.kind;
  end if;
  return null;
end $$;

create or replace function ops.note_transcripts() returns trigger language plpgsql as $$
declare
  since timestamptz := ops.news_since();
  -- Of one whose call is not mirrored yet, nobody can say when that was.
  is_news boolean := not ops.is_history();
begin
  if tg_op = 'INSERT' then
    insert into ops.rule_events (kind, key, happened_at)
    select e.kind, n.transcript_id, now()
    from new_rows n left join warehouse.calls c using (call_id),
      lateral (values ('transcript_ready', true), ('action_required', n.is_action_required or n.is_urgent_action_required)) e (kind, is_so)
    where e.is_so and coalesce(c.ended_at > since, is_news)
    order by n.transcript_id, e.kind;
  else
    insert into ops.rule_events (kind, key, happened_at)
    select 'action_required', n.transcript_id, now()
    from new_rows n join old_rows o using (transcript_id) left join warehouse.calls c on c.call_id = n.call_id
    where (n.is_action_required or n.is_urgent_action_required) and (o.is_action_required or o.is_urgent_action_required) is not true
      and coalesce(c.ended_at > since, is_news)
    order by n.transcript_id;
  end if;
  return null;
end $$;

-- A text can be shown before all of it is: without its moment or its direction it is no news yet.
create function ops.note_late_text() returns trigger language plpgsql as $$
begin
  if new.is_scheduled is not true and new.sent_at > ops.news_since() then
    insert into ops.rule_events (kind, key, happened_at)
    values ('message_received', new.conversation_id || '/' || new.message_id, new.sent_at);
  end if;
  return null;
end $$;
comment on function ops.note_late_text is 'Tells the rules of a text of which it is known only now that it came in, or when.';
create trigger note_late_text after update on warehouse.sms_messages for each row
  when (new.direction = 'in' and new.sent_at is not null and (old.direction is null or old.sent_at is null))
  execute function ops.note_late_text();
