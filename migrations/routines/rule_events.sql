-- Postgres up to 17 adds 1e10 to the cost of a nested loop that `enable_nestloop = off` cannot avoid, and with `jit = on`, its
-- default, it compiles a plan of that cost at each execution: 0.5 to 3 s for one changed row. Functions that keep the setting,
-- so that the two transition tables are joined by hash, therefore join nothing else: a value looked up in two forms is
-- unnested in the select list.

-- Rules do not act on history: its writers set this for their transaction.
create or replace function ops.is_history() returns boolean
language sql stable as $$
  select coalesce(current_setting('trunkline.is_history', true), '') = 'on'
$$;
comment on function ops.is_history is 'Whether this transaction mirrors history. Rules act only on its last ten minutes.';

-- A read of history can find a recent event before its webhook arrives, or instead of it, and an event is new only once. So
-- recent events are recorded whichever read finds them. Each rule limits the age of its triggers itself.
create or replace function ops.news_since() returns timestamptz
language sql stable as $$
  select now() - case when ops.is_history() then interval '10 minutes' else interval '1 day' end
$$;
comment on function ops.news_since is 'Rules are evaluated for what this transaction mirrors and happened after this moment.';

create or replace function ops.note_texts() returns trigger
language plpgsql as $$
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
comment on function ops.note_texts is 'Records inbound texts as rule events.';
create or replace trigger note_texts after insert on warehouse.sms_messages referencing new table as new_rows
  for each statement execute function ops.note_texts();

-- A text can be listed without its time or direction at first. It becomes a rule event when both are known.
create or replace function ops.note_late_text() returns trigger
language plpgsql as $$
begin
  if new.is_scheduled is not true and new.sent_at > ops.news_since() then
    insert into ops.rule_events (kind, key, happened_at)
    values ('message_received', new.conversation_id || '/' || new.message_id, new.sent_at);
  end if;
  return null;
end $$;
comment on function ops.note_late_text is 'Records an inbound text whose direction or time was missing before.';
create or replace trigger note_late_text after update on warehouse.sms_messages
  for each row when (new.direction = 'in' and new.sent_at is not null and (old.direction is null or old.sent_at is null)) execute function ops.note_late_text();

-- A call counts when its end is known, once under each name: what it is called can become known later.
create or replace function ops.note_calls() returns trigger
language plpgsql set enable_nestloop = off as $$
declare
  since timestamptz := ops.news_since();
begin
  if tg_op = 'INSERT' then
    insert into ops.rule_events (kind, key, happened_at)
    select kind, call_id, ended_at
    from (
      select call_id, ended_at,
        unnest(array['call_ended', case status when 'missed' then 'call_missed' when 'voicemail' then 'voicemail_left' end]) as kind
      from new_rows
      where ended_at > since and not is_erased
    ) news
    where kind is not null
    order by ended_at, call_id, kind;
  else
    insert into ops.rule_events (kind, key, happened_at)
    select kind, call_id, ended_at
    from (
      select n.call_id, n.ended_at,
        unnest(array[
          case when o.ended_at is null then 'call_ended' end,
          case n.status when 'missed' then 'call_missed' when 'voicemail' then 'voicemail_left' end]) as kind
      from new_rows n join old_rows o using (call_id)
      where n.ended_at > since and not n.is_erased and (o.ended_at is null or o.status is distinct from n.status)
    ) news
    where kind is not null
    order by ended_at, call_id, kind;
  end if;
  return null;
end $$;
comment on function ops.note_calls is 'Records ended calls as rule events.';
create or replace trigger note_ends after update on warehouse.calls referencing old table as old_rows new table as new_rows
  for each statement execute function ops.note_calls();
create or replace trigger note_new_ends after insert on warehouse.calls referencing new table as new_rows
  for each statement execute function ops.note_calls();

-- A transcript arrives after its analysis, so its event happens when it is mirrored, if that is within a day after the call. The
-- call may be mirrored later.
create or replace function ops.note_transcripts() returns trigger
language plpgsql as $$
declare
  since timestamptz := ops.news_since();
  -- The time of a call that is not mirrored yet is unknown.
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
comment on function ops.note_transcripts is 'Records transcripts as rule events.';
create or replace trigger note_new_transcripts after insert on warehouse.transcripts referencing new table as new_rows
  for each statement execute function ops.note_transcripts();
create or replace trigger note_transcripts after update on warehouse.transcripts referencing old table as old_rows new table as new_rows
  for each statement execute function ops.note_transcripts();
