create index sms_messages_words on warehouse.sms_messages using gin (to_tsvector('simple', left(coalesce(body, ''), 10000)));

create function reporting.opt_word(body text) returns text language sql immutable parallel safe as $$
  select case
    when length(body) > 20 then null
    when upper(btrim(body, E' \t\r\n')) in ('STOP', 'STOPALL', 'STOP ALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'REVOKE', 'OPTOUT', 'OPT OUT') then 'opt_out'
    when upper(btrim(body, E' \t\r\n')) in ('START', 'UNSTOP') then 'opt_in'
  end
$$;
comment on function reporting.opt_word is 'opt_out or opt_in for a text that is such a word as a whole, as carriers understand them; else NULL.';
create index sms_messages_opt_words on warehouse.sms_messages (line, number, sent_at desc)
  where direction = 'in' and reporting.opt_word(body) is not null;

-- It reads with its owner's rights, as the views do, and shows no more than they do.
create function reporting.search(words text, most integer default 100) returns table (
  kind text, happened_at timestamptz, number text, line text, call_id text, transcript_id bigint, conversation_id bigint,
  message_id bigint, rank real, excerpt text
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with wanted as (select websearch_to_tsquery('simple', words) as query, is_text_shown from reporting.params),
  found as (
    (select 'call' as kind, c.started_at as happened_at, c.external_number, c.account_number, c.call_id, b.transcript_id,
       null::bigint as conversation_id, null::bigint as message_id, ts_rank(b.words, w.query) as rank, b.full_text, w.query, w.is_text_shown
     from wanted w
       join warehouse.transcript_bodies b on b.words @@ w.query
       join warehouse.transcripts t on t.transcript_id = b.transcript_id and t.deleted_at is null
       join warehouse.calls c on c.call_id = t.call_id and c.deleted_at is null
     order by c.started_at desc nulls last limit most)
    union all
    (select 'text', m.sent_at, m.number, m.line, null, null, m.conversation_id, m.message_id,
       ts_rank(to_tsvector('simple', left(coalesce(m.body, ''), 10000)), w.query), m.body, w.query, w.is_text_shown
     from wanted w
       join warehouse.sms_messages m on to_tsvector('simple', left(coalesce(m.body, ''), 10000)) @@ w.query and m.deleted_at is null
     order by m.sent_at desc nulls last limit most)
  )
  select f.kind, f.happened_at, f.external_number, f.account_number, f.call_id, f.transcript_id, f.conversation_id, f.message_id, f.rank,
    case when f.is_text_shown then ts_headline('simple', f.full_text, f.query, 'MaxWords=30, MinWords=10, StartSel=**, StopSel=**') end
  from found f order by f.happened_at desc nulls last limit most
$$;
comment on function reporting.search is 'Calls and texts in which words were said or written, newest first: select * from reporting.search(''refund -card "next week"''). The words around them only while reporting.params.is_text_shown.';
